"""The examples of docs/clients.md, run as a reader would: each says a recording to the echo agent.

The line tears in the middle of the answer for those that can resume: they print all of it all the same, and once.
"""

from __future__ import annotations

import os
import wave
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio

from tests.clients.clients import Stage, stage
from tests.clients.microphone import FIRST, RATE, sentences
from tests.clients.puppet import ROOT, node, python
from tests.clients.tear import Line

EXAMPLES = ROOT / "examples" / "clients"
ANSWER = f"You said: {FIRST}."
MID_ANSWER, SWALLOWED = 40_000, 3
"""After so many bytes a client has heard about half a second; so many reads of what follows it never sees."""


@dataclass(frozen=True)
class Example:
    """One file, how it is started, and whether it survives a tear."""

    file: str
    start: Callable[[], Sequence[str]]
    resumes: bool = True
    scheme: str = "wss"

    def __str__(self) -> str:
        return self.file


def in_python(environment: str) -> Callable[[], Sequence[str]]:
    """Return how an example in Python is started."""
    return lambda: python(environment)[:1]


SDKS = (
    Example("openai_python.py", in_python("openai")),
    Example("openai_node.mjs", node),
    Example("openai_agents.py", in_python("openai")),
    Example("agents_node.mjs", node),
)
FRAMEWORKS = (
    Example("livekit_agents.py", in_python("frameworks"), resumes=False, scheme="https"),
    Example("pipecat_ai.py", in_python("frameworks"), resumes=False),
)


@pytest.mark.real_clock
@pytest.mark.speech
@pytest.mark.timeout_s(120)
@pytest.mark.parametrize("examples", [SDKS, FRAMEWORKS], ids=["sdks", "frameworks"])
async def test_the_examples_print_the_answer(
    examples: Sequence[Example], nursery: trio.Nursery, tmp_path: Path
) -> None:
    """All over TLS, because one of them speaks nothing else; and all at once, to keep it short."""
    commands = [[*example.start(), str(EXAMPLES / example.file)] for example in examples]
    recording = tmp_path / "recording.wav"
    save(recording, sentences()[FIRST])
    setting = await stage(nursery, tmp_path, tls=True)
    async with setting.serve(), trio.open_nursery() as together:
        for example, command in zip(examples, commands, strict=True):
            together.start_soon(judge, example, command, recording, setting)


async def judge(example: Example, command: Sequence[str], recording: Path, setting: Stage) -> None:
    """Run an example on a line of its own."""
    async with trio.open_nursery() as nursery:
        line = await setting.lay_line(nursery)
        if example.resumes:
            nursery.start_soon(tear_in_mid_answer, line)
        origin = f"{example.scheme}://{line.address}"
        environment = {**os.environ, **setting.environment}
        done = await trio.run_process([*command, origin, str(recording)], env=environment, capture_stdout=True)
        nursery.cancel_scope.cancel()
    lines = [text.strip() for text in done.stdout.decode().splitlines() if text != "(lost the line)"]
    assert lines == [ANSWER], f"{example} printed {done.stdout.decode()!r}"
    assert line.carried == (2 if example.resumes else 1), f"{example} connected {line.carried} times"


async def tear_in_mid_answer(line: Line) -> None:
    """Tear a line once, when its client has heard the beginning of the answer."""
    await line.when_passed(MID_ANSWER)
    await line.tear(SWALLOWED)


def save(path: Path, pcm: bytes) -> None:
    """Write a recording as the examples want it."""
    with wave.open(str(path), "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(RATE)
        wav.writeframes(pcm)
