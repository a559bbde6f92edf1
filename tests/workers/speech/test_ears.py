from __future__ import annotations

import pytest

from interlock.errors import Defect, LimitReached
from interlock.workers.speech.ears import Ears
from interlock.workers.speech.resample import resampled
from interlock.workers.stage import StageOutput, StageRequest
from tests.workers.speech.recordings import SILENCE, TRANSCRIPTS, of_kind, recording, say, settle

pytestmark = pytest.mark.speech


def kinds(outputs: list[StageOutput]) -> list[str]:
    return [output.kind for output in outputs]


def words(outputs: list[StageOutput]) -> list[str]:
    return [output.payload.decode() for output in of_kind(outputs, "transcript")]


TURN = ["speech_started", "speech_stopped", "transcript"]


@pytest.mark.parametrize("rate", [16_000, 24_000])
@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_it_hears_each_recording(ears: Ears, name: str, rate: int) -> None:
    ears.open(StageRequest("a", 0, {"rate": rate}))
    outputs = say(ears, "a", resampled(recording(name) + SILENCE, 16_000, rate), step_bytes=rate // 25)
    assert kinds(outputs) == TURN
    assert words(outputs) == [TRANSCRIPTS[name]]
    started, stopped, _ = outputs
    assert 0 <= started.at_ms < 500
    assert 2_000 < stopped.at_ms < len(recording(name) + SILENCE) / 32


def test_a_turn_does_not_change_the_next_one(ears: Ears) -> None:
    ears.open(StageRequest("a", 0))
    outputs = [output for name in (*TRANSCRIPTS, *TRANSCRIPTS) for output in say(ears, "a", recording(name) + SILENCE)]
    assert kinds(outputs) == TURN * 6
    assert words(outputs) == [*TRANSCRIPTS.values()] * 2
    positions = [output.at_ms for output in outputs]
    assert positions == sorted(positions)


def test_two_requests_at_once(ears: Ears) -> None:
    ears.open(StageRequest("a", 0))
    ears.open(StageRequest("b", 0, {"rate": 24_000}))
    first, second = recording("go-forward") + SILENCE, resampled(recording("digits") + SILENCE, 16_000, 24_000)
    outputs: list[StageOutput] = []
    for step in range(max(len(first) // 640, len(second) // 960) + 1):
        ears.append("a", first[step * 640 : step * 640 + 640], 0.0)
        ears.append("b", second[step * 960 : step * 960 + 960], 0.0)
        outputs += settle(ears)
    for request_id, name in (("a", "go-forward"), ("b", "digits")):
        own = [output for output in outputs if output.request_id == request_id]
        assert kinds(own) == TURN
        assert words(own) == [TRANSCRIPTS[name]]


def test_a_recording_that_arrives_at_once_is_heard_all_the_same(ears: Ears) -> None:
    ears.open(StageRequest("a", 0))
    ears.append("a", recording("go-somewhere") + SILENCE + recording("digits") + SILENCE, 0.0)
    outputs = settle(ears)
    assert kinds(outputs) == TURN * 2
    assert words(outputs) == [TRANSCRIPTS["go-somewhere"], TRANSCRIPTS["digits"]]


def test_a_commit_ends_the_turn_and_the_request_stays(ears: Ears) -> None:
    ears.open(StageRequest("a", 0))
    begun = say(ears, "a", recording("go-forward")[: 2 * 16 * 2_350])  # to the end of "meters", and no silence
    ears.finish("a", 0.0)
    assert kinds(begun) == ["speech_started"]
    ended = settle(ears)
    assert kinds(ended) == ["speech_stopped", "transcript"]
    assert words(ended) == [TRANSCRIPTS["go-forward"]]
    assert ended[0].at_ms == 2_350
    assert words(say(ears, "a", recording("digits") + SILENCE)) == [TRANSCRIPTS["digits"]]


def test_a_commit_on_silence_is_answered_by_an_empty_transcript(ears: Ears) -> None:
    ears.open(StageRequest("a", 0))
    ears.finish("a", 0.0)
    outputs = settle(ears) + say(ears, "a", SILENCE)
    ears.finish("a", 0.0)
    assert [(output.kind, output.payload) for output in outputs + settle(ears)] == [("transcript", b"")] * 2


def test_close_in_mid_utterance_frees_and_leaves_a_clean_decoder(ears: Ears) -> None:
    ears.open(StageRequest("a", 0))
    begun = say(ears, "a", recording("go-somewhere")[: 2 * 16 * 1_500])
    assert kinds(begun) == ["speech_started"]
    assert ears.held()["decoders"] == 1
    ears.close("a")
    assert ears.held() == {"slots": 0, "bytes": 0, "decoders": 0}
    assert ears.due(0.0) is None
    ears.open(StageRequest("b", 0))
    assert words(say(ears, "b", recording("go-forward") + SILENCE)) == [TRANSCRIPTS["go-forward"]]


def test_what_comes_after_the_end_is_dropped(ears: Ears) -> None:
    ears.close("nobody")
    ears.append("nobody", SILENCE, 0.0)
    ears.finish("nobody", 0.0)
    assert ears.held() == {"slots": 0, "bytes": 0, "decoders": 0}


def test_input_has_a_limit(ears: Ears) -> None:
    ears.open(StageRequest("a", 0))
    ears.append("a", bytes(2 * 16_000 * 30), 0.0)
    with pytest.raises(LimitReached, match=r"ears\.input_s = 30"):
        ears.append("a", b"\0\0", 0.0)


def test_commits_have_a_limit(ears: Ears) -> None:
    ears.open(StageRequest("a", 0))
    for _ in range(16):
        ears.finish("a", 0.0)
    with pytest.raises(LimitReached, match=r"ears\.commits = 16"):
        ears.finish("a", 0.0)


@pytest.mark.parametrize("wrong", [{"rate": 8_000}, {"threshold": 0.01}])
def test_parameters_that_cannot_work_take_no_slot(ears: Ears, wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ears.open(StageRequest("a", 0, wrong))
    assert ears.held()["slots"] == 0


def test_an_id_is_opened_once(ears: Ears) -> None:
    ears.open(StageRequest("a", 0))
    with pytest.raises(Defect, match="open already"):
        ears.open(StageRequest("a", 0))


def test_the_limit_of_requests_is_said() -> None:
    ears = Ears(capacity=0, warm=0)
    with pytest.raises(LimitReached, match=r"ears\.capacity = 0"):
        ears.open(StageRequest("a", 0))


def test_turns_by_hand_are_cut_by_commits_alone_and_heard_whole(ears: Ears) -> None:
    """No start and no stop: what lies between two commits is the turn, however long its pauses are."""
    first, second, *_ = TRANSCRIPTS
    ears.open(StageRequest("a", 0, {"manual": True}))
    outputs = say(ears, "a", recording(first) + SILENCE)
    assert outputs == []
    ears.finish("a", 0.0)
    outputs = settle(ears)
    assert (kinds(outputs), words(outputs), outputs[0].reason) == (["transcript"], [TRANSCRIPTS[first]], "commit")
    say(ears, "a", recording(second))
    ears.finish("a", 0.0)
    assert words(settle(ears)) == [TRANSCRIPTS[second]]
    ears.finish("a", 0.0)
    assert words(settle(ears)) == [""]


def test_a_turn_by_hand_that_never_ends_fails_its_own_request(ears: Ears) -> None:
    ears.open(StageRequest("a", 0, {"manual": True}))
    twenty_s = bytes(2 * 16_000 * 20)
    for _ in range(6):
        ears.append("a", twenty_s, 0.0)
        settle(ears)
    with pytest.raises(LimitReached, match=r"ears\.manual_s = 120"):
        ears.append("a", b"\0\0", 0.0)
