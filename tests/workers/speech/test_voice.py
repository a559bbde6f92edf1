from __future__ import annotations

import math

import pytest

from interlock.errors import LimitReached
from interlock.workers.speech.speaking import FRAME_BYTES, MAX_CHARACTERS, Speaking, sliced
from interlock.workers.speech.voice import Voice
from interlock.workers.stage import StageOutput, StageRequest
from tests.workers.speech.recordings import of_kind, play, play_all, settle

pytestmark = pytest.mark.speech

TEXT = b"You said: go forward ten meters."


def begin(voice: Voice, request_id: str, text: bytes = TEXT, **params: float) -> None:
    voice.open(StageRequest(request_id, 0, params))
    voice.append(request_id, text, 0.0)
    voice.finish(request_id, 0.0)


def seconds(frames: list[StageOutput]) -> float:
    return sum(len(frame.payload) for frame in frames) / 48_000


@pytest.mark.parametrize("ahead_s", [0.04, 0.5, 1.0])
def test_it_is_never_further_ahead_than_allowed_and_never_late(voice: Voice, ahead_s: float) -> None:
    begin(voice, "a", ahead_s=ahead_s)
    played = play(voice, now=100.0)
    assert played[-1][1].kind == "finished"
    sent = 0.0
    for now, frame in played[:-1]:
        sent += seconds([frame])
        assert sent - (now - 100.0) <= ahead_s + 2e-6
        assert sent - (now - 100.0) > 0.0
    assert sent > 2.5
    assert played[-1][0] == played[-2][0] == pytest.approx(100.0 + sent - ahead_s)


def test_frames_are_of_40_ms_and_none_is_missing(voice: Voice) -> None:
    begin(voice, "a")
    *frames, finished = [output for _, output in play(voice)]
    total = sum(len(frame.payload) for frame in frames)
    assert finished.kind == "finished"
    assert len(frames) == math.ceil(total / FRAME_BYTES)
    assert [len(frame.payload) for frame in frames[:-1]] == [FRAME_BYTES] * (len(frames) - 1)
    assert [frame.at_ms for frame in frames] == list(range(0, 40 * len(frames), 40))


def test_it_says_where_each_piece_of_its_text_ends_before_the_audio_of_it(voice: Voice) -> None:
    begin(voice, "a", b"Go forward ten meters. Then stop, please.")
    outputs = [output for _, output in play_all(voice)]
    pieces = of_kind(outputs, "spoken")
    assert [piece.payload for piece in pieces] == [b"Go forward ten meters.", b"Then stop, please."]
    total_ms = sum(len(frame.payload) for frame in of_kind(outputs, "audio")) / 48
    assert 0 < pieces[0].at_ms < pieces[1].at_ms == int(total_ms)
    for piece in pieces:
        first = next(output for output in outputs if output.kind == "audio" and output.at_ms + 40 >= piece.at_ms)
        assert outputs.index(piece) < outputs.index(first)


def test_the_same_text_is_the_same_audio_alone_or_in_company(voice: Voice) -> None:
    begin(voice, "a")
    alone = [output.payload for _, output in play(voice)]
    begin(voice, "a")
    begin(voice, "b", b"Two nine three four zero.")
    assert [output.payload for _, output in play(voice) if output.request_id == "a"] == alone


def test_a_late_step_does_not_burst(voice: Voice) -> None:
    """After a stall of the loop the listener has had a gap, so that the pace starts anew from there."""
    begin(voice, "a")
    assert seconds(of_kind(settle(voice, 0.0), "audio")) == pytest.approx(0.48)
    assert seconds(of_kind(settle(voice, 2.0), "audio")) == pytest.approx(0.48)


def test_a_sentence_is_spoken_before_the_text_has_ended(voice: Voice) -> None:
    voice.open(StageRequest("a", 0, {"ahead_s": 60.0}))
    voice.append("a", b"You said", 0.0)
    assert voice.due(0.0) is None
    voice.append("a", b" two. And", 0.0)
    first = settle(voice)
    assert seconds(first) > 0.5
    voice.append("a", b" four.", 0.0)
    voice.finish("a", 0.0)
    assert settle(voice)[-1].kind == "finished"


def test_no_text_is_finished_at_once(voice: Voice) -> None:
    begin(voice, "a", b" ")
    assert [output.kind for output in settle(voice)] == ["finished"]


def test_close_in_mid_speech_frees_at_once(voice: Voice) -> None:
    begin(voice, "a")
    begin(voice, "b")
    assert of_kind(settle(voice), "audio")
    voice.close("a")
    assert voice.held()["slots"] == 1
    assert {output.request_id for _, output in play(voice)} == {"b"}
    assert voice.held() == {"slots": 0, "bytes": 0}
    assert voice.due(0.0) is None


@pytest.mark.parametrize("ahead_s", [0.0, 0.03, 61.0, float("nan")])
def test_a_pace_that_cannot_work_is_refused(voice: Voice, ahead_s: float) -> None:
    with pytest.raises(ValueError, match="ahead_s"):
        voice.open(StageRequest("a", 0, {"ahead_s": ahead_s}))


def test_text_has_a_limit(voice: Voice) -> None:
    voice.open(StageRequest("a", 0))
    with pytest.raises(LimitReached, match=r"voice\.input_characters"):
        voice.append("a", b"a" * (MAX_CHARACTERS + 1), 0.0)


def test_a_long_sentence_is_synthesised_in_slices() -> None:
    sentence = " ".join(["somewhere"] * 50) + " " + "x" * 200
    assert " ".join(sliced(sentence)).replace(" ", "") == sentence.replace(" ", "")
    assert max(map(len, sliced(sentence))) <= 90
    speaking = Speaking("a", 0.5)
    speaking.append("One. Two! Three")
    assert list(speaking.slices) == ["One.", "Two!"]
