"""The promise of the demo: what a human said comes back in a voice, and a recogniser hears the same words in it."""

from __future__ import annotations

import pytest

from interlock.workers.speech.ears import Ears
from interlock.workers.speech.mind import Mind
from interlock.workers.speech.recognise import recognise
from interlock.workers.speech.resample import resampled
from interlock.workers.speech.voice import Voice
from interlock.workers.stage import StageRequest
from tests.workers.speech.recordings import SILENCE, TRANSCRIPTS, of_kind, play, recording, say, settle

pytestmark = pytest.mark.speech


def answered(voice: Voice, heard: str) -> bytes:
    """Return the reply to `heard`, spoken, at 24 kHz."""
    mind = Mind()
    mind.open(StageRequest("a", 0, {"text": heard}))
    voice.open(StageRequest("a", 0))
    for piece in of_kind(settle(mind), "text"):
        voice.append("a", piece.payload, 0.0)
    voice.finish("a", 0.0)
    return b"".join(output.payload for _, output in play(voice))


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_the_reply_gives_back_the_users_words(ears: Ears, voice: Voice, name: str) -> None:
    ears.open(StageRequest("a", 0, {"rate": 24_000}))
    outputs = say(ears, "a", resampled(recording(name) + SILENCE, 16_000, 24_000), step_bytes=960)
    (transcript,) = of_kind(outputs, "transcript")
    spoken = answered(voice, transcript.payload.decode())
    assert len(spoken) / 48_000 > 2.5
    understood = recognise(resampled(spoken, 24_000, 16_000))
    assert understood.split()[2:] == TRANSCRIPTS[name].split()


def test_nothing_is_recognised_in_nothing() -> None:
    assert recognise(b"") == ""
