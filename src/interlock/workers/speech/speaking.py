"""One request of the voice: the text that is not spoken yet, the audio that is not sent yet, and the pace."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

from interlock.errors import LimitReached
from interlock.workers.speech.resample import SPOKEN_HZ
from interlock.workers.stage import StageOutput

FRAME_MS = 40
FRAME_S = FRAME_MS / 1000
FRAME_BYTES = 2 * SPOKEN_HZ * FRAME_MS // 1000

SLICE_CHARACTERS = 90
"""Text that is synthesised at once: about 6 s of speech, 30 ms of work."""

LOW_WATER_BYTES = 2 * SPOKEN_HZ
"""The next slice is synthesised when less audio than this (1 s) waits."""

MAX_CHARACTERS = 8_192
"""Text that may wait to be spoken."""

_EPSILON_S = 1e-6
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_BYTES_PER_S = 2 * SPOKEN_HZ


@dataclass(slots=True)
class Speaking:
    """Text goes ``append`` -> ``text`` -> ``slices`` -> (synthesis) -> ``pcm`` -> frames of 40 ms.

    ``zero`` is the time at which the audio would have had to begin, if it had been played without a gap until now:
    the time of the first frame, moved on whenever the voice ran dry.
    """

    request_id: str
    ahead_s: float
    text: str = ""
    slices: deque[str] = field(default_factory=deque)
    pcm: bytearray = field(default_factory=bytearray)
    ended: bool = False
    made_bytes: int = 0
    sent_bytes: int = 0
    zero: float | None = None

    def append(self, text: str) -> None:
        """Take text. Each sentence that is complete may be spoken."""
        if len(self.text) + sum(map(len, self.slices)) + len(text) > MAX_CHARACTERS:
            raise LimitReached("voice.input_characters", MAX_CHARACTERS)
        if not self.ended:
            *complete, self.text = _SENTENCE_END.split(self.text + text)
            self.slices.extend(each for sentence in complete for each in sliced(sentence))

    def take(self, text: str, pcm: bytes) -> StageOutput:
        """Take the audio of a slice; return where in the request's audio its text ends."""
        self.pcm += pcm
        self.made_bytes += len(pcm)
        at_ms = self.made_bytes * 1000 // _BYTES_PER_S
        return StageOutput(self.request_id, "spoken", text.encode(), at_ms=at_ms)

    def finish(self) -> None:
        """Take what is left as the last sentence."""
        self.slices.extend(sliced(self.text))
        self.text, self.ended = "", True

    @property
    def needs_speech(self) -> bool:
        """Whether a slice should be synthesised now."""
        return bool(self.slices) and len(self.pcm) < LOW_WATER_BYTES

    @property
    def is_over(self) -> bool:
        """Whether all was said."""
        return self.ended and not self.slices and not self.pcm

    def wait(self, now: float) -> float | None:
        """Seconds until the next frame may go; ``None`` while there is no whole frame, nor a last one."""
        if len(self.pcm) < FRAME_BYTES and not (self.pcm and self.ended and not self.slices):
            return None
        if self.zero is None:
            return 0.0
        length_s = min(len(self.pcm), FRAME_BYTES) / _BYTES_PER_S
        wait_s = self.sent_bytes / _BYTES_PER_S + length_s - self.ahead_s - (now - self.zero)
        return wait_s if wait_s > _EPSILON_S else 0.0

    def frames(self, now: float) -> list[StageOutput]:
        """Return the frames that may go now."""
        sent_s = self.sent_bytes / _BYTES_PER_S
        self.zero = None if self.zero is None else max(self.zero, now - sent_s)
        going = []
        while self.wait(now) == 0.0:
            self.zero = now if self.zero is None else self.zero
            going.append(self._frame())
        return going

    def _frame(self) -> StageOutput:
        frame = bytes(self.pcm[:FRAME_BYTES])
        del self.pcm[:FRAME_BYTES]
        at_ms = self.sent_bytes * 1000 // _BYTES_PER_S
        self.sent_bytes += len(frame)
        return StageOutput(self.request_id, "audio", frame, at_ms=at_ms)

    @property
    def held_bytes(self) -> int:
        """What this request holds."""
        return len(self.pcm) + len(self.text) + sum(map(len, self.slices))


def sliced(sentence: str) -> list[str]:
    """Cut a sentence between words into slices that are synthesised at once; most sentences are one."""
    slices: list[str] = []
    for word in sentence.split():
        if slices and len(slices[-1]) + len(word) < SLICE_CHARACTERS:
            slices[-1] += f" {word}"
        else:
            slices += [word[at : at + SLICE_CHARACTERS] for at in range(0, len(word), SLICE_CHARACTERS)]
    return slices
