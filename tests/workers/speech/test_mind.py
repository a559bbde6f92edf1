from __future__ import annotations

import pytest

from interlock.errors import LimitReached
from interlock.workers.speech.mind import MAX_BYTES, Mind, pieces, reply
from interlock.workers.stage import StageRequest
from tests.workers.speech.recordings import settle


def test_a_reply_comes_in_pieces_and_then_finishes() -> None:
    mind = Mind()
    mind.open(StageRequest("a", 0, {"text": "go forward ten meters"}))
    outputs = settle(mind)
    assert [output.kind for output in outputs] == ["text", "text", "text", "finished"]
    assert b"".join(output.payload for output in outputs) == b"You said: go forward ten meters."
    assert mind.held() == {"slots": 0, "bytes": 0}
    assert mind.due(0.0) is None


def test_an_appended_transcript_is_answered_when_it_is_complete() -> None:
    mind = Mind()
    mind.open(StageRequest("a", 0))
    mind.append("a", b"two ", 0.0)
    mind.append("a", b"nine", 0.0)
    assert mind.due(0.0) is None
    mind.finish("a", 0.0)
    assert b"".join(output.payload for output in settle(mind)) == b"You said: two nine."


@pytest.mark.parametrize("heard", ["", "  "])
def test_nothing_heard_has_an_answer(heard: str) -> None:
    assert reply(heard) == "I did not hear you."


@pytest.mark.parametrize("text", ["One", "One two", "One two three.", "You said: a b c d e."])
def test_pieces_joined_are_the_reply(text: str) -> None:
    assert "".join(pieces(text)) == text


def test_close_in_mid_reply_frees() -> None:
    mind = Mind()
    mind.open(StageRequest("a", 0, {"text": "go"}))
    mind.step(0.0)
    mind.close("a")
    assert mind.held() == {"slots": 0, "bytes": 0}
    assert mind.step(0.0) == []


def test_a_transcript_has_a_limit() -> None:
    mind = Mind(capacity=1)
    with pytest.raises(LimitReached, match=r"mind\.input_bytes"):
        mind.open(StageRequest("a", 0, {"text": "a" * (MAX_BYTES + 1)}))
    mind.open(StageRequest("a", 0))
    with pytest.raises(LimitReached, match=r"mind\.capacity = 1"):
        mind.open(StageRequest("b", 0))
