"""Speech to words in one call, for checks of what a client heard."""

from __future__ import annotations

from functools import cache

from interlock.workers.speech.decoder import Decoder

_CHUNK_BYTES = 1024


def recognise(pcm16k: bytes) -> str:
    """Return the words of a recording (PCM16 mono, 16 kHz), with the settings that the ears use.

    The decoder is kept for the next call. Not for a stage, and not for two threads at once: it takes about a tenth of
    the recording's length, and holds the interpreter's lock.
    """
    decoder = _decoder()
    for start in range(0, len(pcm16k), _CHUNK_BYTES):
        decoder.feed(pcm16k[start : start + _CHUNK_BYTES])
    return decoder.end()


@cache
def _decoder() -> Decoder:
    return Decoder()
