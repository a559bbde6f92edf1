"""The speaking stage of the echo agent: hibari-tts, paced as a listener hears it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from interlock.workers.speech.slots import admit, missing
from interlock.workers.speech.speaking import FRAME_S, Speaking
from interlock.workers.stage import StageOutput, StageRequest

try:
    import numpy as np
    from hibari import Hibari
except ImportError as error:
    raise missing(error) from error

SPEED = 0.85
"""Of the voice's own pace. A little slower is heard better by a recogniser, too."""

_SEED = 0
"""Of the noise in the voice: the same text is always the same audio."""


class Voice:
    """Speaks the text that is appended: ``audio`` (PCM16 mono, 24 kHz) in frames of 40 ms, then ``finished``.

    Before the audio of a piece of text, ``spoken`` says where it will end, so that what was heard can be told exactly.

    The last frame may be shorter. Synthesis is about 60 times faster than speech, so frames are **paced**: what was
    sent is never more than ``ahead_s`` ahead of what a listener can have heard who started at the first frame.
    ``params["ahead_s"]`` changes that for one request. A sentence is spoken when it is complete; ``finish`` completes
    the last one. ``append`` raises ``LimitReached`` when 8,192 characters wait.
    """

    def __init__(self, *, capacity: int = 16, ahead_s: float = 0.5, speed: float = SPEED) -> None:
        self._capacity = capacity
        self._ahead_s = _checked(ahead_s)
        self._speed = speed
        self._hibari = Hibari()
        self._open: dict[str, Speaking] = {}
        self._synthesised("Warm up.")  # loads the pronunciations

    @property
    def capacity(self) -> int:
        """How many requests may be open at once."""
        return self._capacity

    def open(self, request: StageRequest) -> None:
        """Take a slot."""
        admit(self._open, request.request_id, self._capacity, "voice")
        ahead_s = _checked(request.params.get("ahead_s", self._ahead_s))
        self._open[request.request_id] = Speaking(request.request_id, ahead_s)

    def append(self, request_id: str, payload: bytes, now: float) -> None:
        """Take text; it is dropped where the request has ended."""
        if speaking := self._open.get(request_id):
            speaking.append(payload.decode("utf-8", "replace"))

    def finish(self, request_id: str, now: float) -> None:
        """Complete the last sentence."""
        if speaking := self._open.get(request_id):
            speaking.finish()

    def step(self, now: float) -> Sequence[StageOutput]:
        """Synthesise one slice of one request, and send the frames of all that may go."""
        made = self._synthesise_one()
        return [*made, *(each for speaking in list(self._open.values()) for each in self._going(speaking, now))]

    def _synthesise_one(self) -> list[StageOutput]:
        """Take the request that has the least audio left."""
        wanting = [each for each in self._open.values() if each.needs_speech]
        if not wanting:
            return []
        speaking = min(wanting, key=lambda each: len(each.pcm))
        text = speaking.slices.popleft()
        return [speaking.take(text, self._synthesised(text))]

    def _synthesised(self, text: str) -> bytes:
        wave = np.asarray(self._hibari(text, speed=self._speed, seed=_SEED), dtype=np.float32)
        return (np.clip(wave, -1.0, 1.0) * 32767.0).astype("<i2").tobytes()

    def _going(self, speaking: Speaking, now: float) -> list[StageOutput]:
        going = speaking.frames(now)
        if speaking.is_over:
            self.close(speaking.request_id)
            going.append(StageOutput(speaking.request_id, "finished"))
        return going

    def due(self, now: float) -> float | None:
        """At once while there is something to synthesise; else when the next frame of any request may go."""
        if any(each.needs_speech or each.is_over for each in self._open.values()):
            return 0.0
        waits = [wait for each in self._open.values() if (wait := each.wait(now)) is not None]
        return min(waits, default=None)

    def close(self, request_id: str) -> None:
        """Free everything the request holds, in mid-word too."""
        self._open.pop(request_id, None)

    def held(self) -> Mapping[str, int]:
        """Slots, and bytes of text and audio that wait."""
        return {"slots": len(self._open), "bytes": sum(each.held_bytes for each in self._open.values())}


def _checked(ahead_s: float) -> float:
    """Return ``ahead_s``. Raises ``ValueError`` when no frame could ever go, or all could at once."""
    if not FRAME_S <= ahead_s <= 60.0:
        raise ValueError(f"ahead_s = {ahead_s}: must be from {FRAME_S} to 60 seconds")
    return ahead_s
