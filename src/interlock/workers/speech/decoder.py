"""Pocketsphinx with its own en-us model: one utterance at a time, fed in small chunks, and a pool of such decoders.

A decoder takes 0.2 to 0.4 s and about 90 MB to make, so decoders are reused. It adapts its cepstral mean to what it
hears; the mean is put back before each utterance, so that nobody is heard through the voice of the previous speaker,
and the same audio always gives the same words.

Pocketsphinx holds the interpreter's lock while it works. The settings keep each call short: no second pass at the end
of the utterance (``fwdflat``, 40 to 200 ms at once), and a limit on the states that are alive in a frame
(``maxhmmpf``), which bounds the cost of noisy audio. The final search weighs the language model as the first one does
(``bestpathlw`` = ``lw``): with the default, 9.5, "ten meters" became "ten years".
"""

from __future__ import annotations

from typing import Any

from interlock.workers.speech.slots import missing

try:
    import pocketsphinx
except ImportError as error:
    raise missing(error) from error

_SETTINGS: dict[str, Any] = {
    "loglevel": "FATAL",
    "samprate": 16_000,
    "fwdflat": False,
    "maxhmmpf": 5_000,
    "lw": 6.5,
    "bestpathlw": 6.5,
}


class Decoder:
    """Recognises one utterance after the other. An utterance begins with the first ``feed`` after an ``end``."""

    def __init__(self) -> None:
        self._engine: Any = pocketsphinx.Decoder(**_SETTINGS)
        self._mean = self._engine.get_cmn()
        self._listening = False

    def feed(self, pcm: bytes) -> None:
        """Take PCM16 mono at 16 kHz; 32 ms of it cost about 3 ms."""
        if not self._listening:
            self._engine.set_cmn(self._mean)
            self._engine.start_utt()
            self._listening = True
        self._engine.process_raw(pcm, no_search=False, full_utt=False)

    def end(self) -> str:
        """End the utterance and return its words in lower case; empty when nothing was fed or understood."""
        if not self._listening:
            return ""
        self.abandon()
        found = self._engine.hyp()
        return "" if found is None else str(found.hypstr)

    def abandon(self) -> None:
        """End the utterance and ask for no words, which spares the final search."""
        if self._listening:
            self._listening = False
            self._engine.end_utt()


class DecoderPool:
    """Decoders that wait to be used again. It grows on demand and never shrinks: its user's capacity is its limit."""

    def __init__(self, warm: int) -> None:
        self._free = [Decoder() for _ in range(warm)]
        self.lent = 0

    def lend(self) -> Decoder:
        """Hand out a decoder that is between utterances; make one where none is free."""
        decoder = self._free.pop() if self._free else Decoder()
        self.lent += 1
        return decoder

    def take_back(self, decoder: Decoder) -> None:
        """Abandon whatever utterance the decoder is in, and keep it for the next request."""
        decoder.abandon()
        self.lent -= 1
        self._free.append(decoder)
