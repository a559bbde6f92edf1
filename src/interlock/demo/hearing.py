"""What only the models can say: which words a reply's audio has, and how long a whole reply is."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from interlock.demo.evidence import Received
from interlock.workers.stage import StageRequest

AUDIO: Final = "response.output_audio.delta"
TEXT: Final = "response.output_audio_transcript.delta"
NEEDED: Final = ("hibari", "numpy", "pocketsphinx", "silero_vad", "soxr", "torch", "websockets")


def missing() -> list[str]:
    """Return the modules of the extras ``speech`` and ``serve`` that are not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


def audio_of(heard: Sequence[Received], response_id: str) -> bytes:
    """Put together the audio of a response: PCM16 mono at 24 kHz."""
    deltas = [r.event["delta"] for r in heard if r.kind == AUDIO and r.response_id == response_id]
    return b"".join(map(base64.b64decode, deltas))


def text_of(heard: Sequence[Received], response_id: str) -> str:
    """Put together what a response says."""
    return "".join(str(r.event["delta"]) for r in heard if r.kind == TEXT and r.response_id == response_id)


def recognised(pcm: bytes) -> str:
    """Return the words in 24 kHz audio, as the server's own ears would hear them."""
    from interlock.workers.speech.recognise import recognise
    from interlock.workers.speech.resample import HEARD_HZ, SPOKEN_HZ, resampled

    return recognise(resampled(pcm, SPOKEN_HZ, HEARD_HZ))


def spoken_ms(text: str) -> float:
    """Return how long a text is when it is spoken to the end: the voice says the same text always the same way."""
    from interlock.workers.speech.resample import SPOKEN_HZ
    from interlock.workers.speech.voice import Voice

    voice = Voice()
    voice.open(StageRequest("whole", 1, {"ahead_s": 60.0}))
    voice.append("whole", text.encode(), 0.0)
    voice.finish("whole", 0.0)
    size = 0
    while voice.held()["slots"]:
        size += sum(len(output.payload) for output in voice.step(0.0))
    return size / 2 / SPOKEN_HZ * 1000
