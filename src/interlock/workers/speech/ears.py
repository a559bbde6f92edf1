"""The listening stage of the echo agent: turns by Silero VAD, words by pocketsphinx."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from interlock.workers.speech.decoder import DecoderPool
from interlock.workers.speech.listening import Listening
from interlock.workers.speech.resample import HEARD_HZ, SPOKEN_HZ, Resampler
from interlock.workers.speech.slots import admit
from interlock.workers.speech.turns import TurnConfig
from interlock.workers.speech.vad import SileroVad
from interlock.workers.stage import StageOutput, StageRequest


class Ears:
    """Hears turns: ``speech_started``, ``speech_stopped``, then the ``transcript`` of the turn, again and again.

    Input is PCM16 mono at ``params["rate"]``: 16000 (the default) or 24000 Hz. Other parameters are those of
    :class:`TurnConfig`. ``speech_started`` is at the first audio of the turn, pre-roll included, and
    ``speech_stopped`` at the last, the silence that ended it included; both in ms of the request's audio. Recognition
    goes on while the user speaks, so that the transcript follows within a step or two.

    ``finish`` is a commit: the turn ends now. It is always answered by a transcript, which is empty when nothing was
    heard since the last one. ``append`` raises ``LimitReached`` when 30 s of audio wait to be heard; ``open`` raises
    ``ValueError`` for parameters that cannot work. Each open request has a decoder, which
    is 0.3 s to make and 90 MB to keep: ``warm`` of them are made beforehand.
    """

    def __init__(self, *, capacity: int = 8, warm: int = 1, turn: Mapping[str, Any] | None = None) -> None:
        self._capacity = capacity
        self._config = TurnConfig(**(turn or {}))
        self._vad = SileroVad(capacity)
        self._pool = DecoderPool(warm)
        self._open: dict[str, Listening] = {}
        self._next: deque[Listening] = deque()

    @property
    def capacity(self) -> int:
        """How many requests may be open at once."""
        return self._capacity

    def open(self, request: StageRequest) -> None:
        """Take a slot and a decoder."""
        admit(self._open, request.request_id, self._capacity, "ears")
        rate = request.params.get("rate", HEARD_HZ)
        if rate not in (HEARD_HZ, SPOKEN_HZ):
            raise ValueError(f"rate = {rate}: must be {HEARD_HZ} or {SPOKEN_HZ}")
        resampler = None if rate == HEARD_HZ else Resampler(rate, HEARD_HZ)
        config = self._config.changed(request.params)
        slot = self._vad.lend(request.request_id)
        listening = Listening(request.request_id, config, slot, self._pool.lend(), resampler)
        self._open[request.request_id] = listening
        self._next.append(listening)

    def append(self, request_id: str, payload: bytes, now: float) -> None:
        """Take audio; it is dropped where the request has ended."""
        if listening := self._open.get(request_id):
            listening.append(payload)

    def finish(self, request_id: str, now: float) -> None:
        """End the turn here; the request stays open for the next one."""
        if listening := self._open.get(request_id):
            listening.commit()

    def step(self, now: float) -> Sequence[StageOutput]:
        """Judge one chunk of every request as one batch; then decode one chunk, of each request in turn."""
        return [*self._heard(), *self._committed(), *self._decoded()]

    def _heard(self) -> list[StageOutput]:
        ready = [each for each in self._open.values() if each.has_chunk]
        if not ready:
            return []
        probabilities = self._vad.probabilities([each.vad for each in ready], [each.chunk() for each in ready])
        return [out for each, p in zip(ready, probabilities, strict=True) for out in each.judge(p)]

    def _committed(self) -> list[StageOutput]:
        return [output for each in self._open.values() if each.must_commit for output in each.end_turn()]

    def _decoded(self) -> list[StageOutput]:
        """Let one decoder work, for at most 32 ms of audio: it holds the interpreter's lock for 3 to 15 ms."""
        listening = self._next_with_backlog()
        transcript = listening.decode() if listening else None
        return [transcript] if transcript else []

    def _next_with_backlog(self) -> Listening | None:
        for _ in range(len(self._next)):
            self._next.rotate(-1)
            if self._next[-1].backlog:
                return self._next[-1]
        return None

    def due(self, now: float) -> float | None:
        """At once while a chunk, a commit or a decoder waits."""
        busy = any(each.backlog or each.has_chunk or each.must_commit for each in self._open.values())
        return 0.0 if busy else None

    def close(self, request_id: str) -> None:
        """Free the request and take its decoder back, in mid-word too; ``step`` has waited for the device already."""
        self._vad.take_back(request_id)  # also where ``open`` got no further than this
        if listening := self._open.pop(request_id, None):
            self._next.remove(listening)
            self._pool.take_back(listening.decoder)

    def held(self) -> Mapping[str, int]:
        """Slots, bytes of audio and detector state, and decoders lent."""
        size = sum(each.held_bytes for each in self._open.values())
        return {"slots": len(self._open), "bytes": size, "decoders": self._pool.lent}
