"""Change of sample rate, streaming and at once. PCM16 mono on both sides; soxr (VHQ polyphase) does the work."""

from __future__ import annotations

from typing import Any

from interlock.workers.speech.slots import missing

try:
    import numpy as np
    import soxr
except ImportError as error:
    raise missing(error) from error

HEARD_HZ = 16_000
"""What the ears and the recogniser work at."""

SPOKEN_HZ = 24_000
"""What the voice makes, and the rate of the realtime wire."""


class Resampler:
    """One stream of PCM16, from one rate to another. Chunks may be of any length; an odd byte waits for its pair."""

    def __init__(self, from_hz: int, to_hz: int) -> None:
        self._from_hz, self._to_hz = from_hz, to_hz
        self._odd = b""
        self._stream = self._fresh()

    def _fresh(self) -> Any:
        return soxr.ResampleStream(self._from_hz, self._to_hz, 1, dtype="int16")

    def feed(self, pcm: bytes) -> bytes:
        """Take input; return the output that is complete, which lags by the length of the filter (some ms)."""
        pcm = self._odd + pcm
        whole = len(pcm) // 2 * 2
        self._odd = pcm[whole:]
        return bytes(self._stream.resample_chunk(np.frombuffer(pcm[:whole], "<i2")).tobytes())

    def flush(self) -> bytes:
        """End the stream, return its tail, and begin a new one."""
        tail = self._stream.resample_chunk(np.zeros(0, "<i2"), last=True)
        self._odd, self._stream = b"", self._fresh()
        return bytes(tail.tobytes())


def resampled(pcm: bytes, from_hz: int, to_hz: int) -> bytes:
    """Return a whole recording in another rate."""
    return bytes(soxr.resample(np.frombuffer(pcm, "<i2"), from_hz, to_hz).astype("<i2").tobytes())
