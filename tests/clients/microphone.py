"""A microphone: it sends silence where nothing is said into it, all the time, and at its own pace."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import pytest
import trio

from interlock.demo import recordings
from tests.clients.puppet import ROOT, Puppet

RATE: Final = 24_000
FIRST, SECOND = "go forward ten meters", "two nine three four zero"
"""Two sentences of the recordings: what is said, and what is said into the answer."""
CHUNK_S: Final = 0.1
CHUNK: Final = int(2 * RATE * CHUNK_S)


class Microphone:
    """Feeds one client, in real time: what was said, or silence."""

    def __init__(self, talking: Puppet) -> None:
        self._talking = talking
        self._waiting = bytearray()

    def say(self, pcm: bytes) -> None:
        """Say something; it begins when what was said before is over."""
        self._waiting += pcm

    async def run(self) -> None:
        """Send 100 ms each 100 ms, until cancelled or until the client is gone."""
        due = trio.current_time()
        with suppress(trio.BrokenResourceError):
            while True:
                chunk = bytes(self._waiting[:CHUNK]).ljust(CHUNK, b"\0")
                del self._waiting[:CHUNK]
                await self._talking.append(chunk)
                due += CHUNK_S
                await trio.sleep_until(due)


def sentences() -> Mapping[str, bytes]:
    """Return the recordings, by their words, at 24 kHz."""
    resample = pytest.importorskip("interlock.workers.speech.resample", reason="the extra `speech` is not installed")
    found = recordings.load(recordings.find_folder(ROOT / "examples" / "audio"))
    return {said.words: resample.resampled(said.pcm, recordings.RATE, RATE) for said in found}
