"""The three recordings, and how tests drive a stage: by hand, with a `now` of their own."""

from __future__ import annotations

import wave
from pathlib import Path

from interlock.workers.stage import StageModel, StageOutput

AUDIO = Path(__file__).parents[3] / "examples" / "audio"

TRANSCRIPTS = {
    "go-forward": "go forward ten meters",
    "go-somewhere": "go somewhere and do something",
    "digits": "two nine three four zero",
}

SILENCE = bytes(2 * 16 * 600)
"""Enough to end a turn: 600 ms."""


def recording(name: str) -> bytes:
    """Return one recording: PCM16 mono, 16 kHz."""
    with wave.open(str(AUDIO / f"{name}.wav")) as source:
        assert (source.getnchannels(), source.getsampwidth(), source.getframerate()) == (1, 2, 16_000)
        return bytes(source.readframes(source.getnframes()))


def settle(model: StageModel, now: float = 0.0) -> list[StageOutput]:
    """Step the model until it waits for input or for time."""
    outputs: list[StageOutput] = []
    while model.due(now) == 0.0:
        outputs += model.step(now)
    return outputs


def say(model: StageModel, request_id: str, pcm: bytes, step_bytes: int = 640) -> list[StageOutput]:
    """Append audio in pieces (20 ms at 16 kHz) and step after each, as a live microphone would."""
    outputs: list[StageOutput] = []
    for at in range(0, len(pcm), step_bytes):
        model.append(request_id, pcm[at : at + step_bytes], 0.0)
        outputs += settle(model)
    return outputs


def play(model: StageModel, now: float = 0.0) -> list[tuple[float, StageOutput]]:
    """Let time pass as `due` asks for it, until the model has nothing to do; return what came, and when.

    What a voice says of its audio (`spoken`) is left out.
    """
    return [(at, output) for at, output in play_all(model, now) if output.kind != "spoken"]


def play_all(model: StageModel, now: float = 0.0) -> list[tuple[float, StageOutput]]:
    """Return everything that came, and when."""
    outputs: list[tuple[float, StageOutput]] = []
    while (wait := model.due(now)) is not None:
        now += wait
        outputs += [(now, output) for output in model.step(now)]
    return outputs


def of_kind(outputs: list[StageOutput], kind: str) -> list[StageOutput]:
    """Return the outputs of one kind."""
    return [output for output in outputs if output.kind == kind]
