"""What a model is to Interlock: a small Protocol, synchronous, driven by one loop that owns it.

A stage model serves many requests at once. The loop calls ``open``, ``append``, ``finish`` and ``close`` between
steps, and ``step`` whenever ``due`` says so; a model never starts threads that call back, never sleeps, and never
reads a clock: ``now`` is handed in. When ``close`` returns, whatever the request held is free; a model whose device
works on by itself says so (:class:`LateModel`), and its clean-ups are confirmed later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

OutputKind: TypeAlias = Literal[
    "speech_started",
    "speech_stopped",
    "transcript",
    "text",
    "audio",
    "spoken",
    "function_call",
    "usage",
    "finished",
    "failed",
]
"""``finished`` and ``failed`` end a request; each that was opened gets exactly one, unless it is closed first."""


@dataclass(frozen=True, slots=True)
class StageRequest:
    """One request: its id, the epoch it belongs to, and the parameters of its stage."""

    request_id: str
    epoch: int
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StageOutput:
    """Something a model made.

    ``payload`` is UTF-8 text, or PCM16 mono audio in native rate, or JSON: of a ``function_call`` ``name``,
    ``arguments`` (a string) and, if the model gives one, ``call_id``; of a ``usage`` ``input_tokens`` and
    ``output_tokens``, to be added to what the response has used. ``spoken`` is the text whose audio ends at ``at_ms``,
    told before that audio. ``at_ms`` is its position in the request's own audio
    (input audio for ``speech_*``, output audio for ``audio``).
    """

    request_id: str
    kind: OutputKind
    payload: bytes = b""
    at_ms: int = 0
    reason: str = ""


class StageModel(Protocol):
    """A model that one loop drives. Every method is called from that loop's thread only."""

    @property
    def capacity(self) -> int:
        """How many requests may be open at once; the loop refuses the next one."""

    def open(self, request: StageRequest) -> None:
        """Take a slot for ``request``. Whatever it raises refuses the request; then nothing may be held of it."""

    def append(self, request_id: str, payload: bytes, now: float) -> None:
        """Hand over input: PCM16 audio for a listening stage, UTF-8 text for a speaking one.

        Whatever this or ``finish`` raises fails the request, and no other.
        """

    def finish(self, request_id: str, now: float) -> None:
        """No more input follows for this request; what it still makes ends with ``finished``.

        For a listening stage this is a *commit*: the turn ends here, and the request stays open for the next one.
        """

    def step(self, now: float) -> Sequence[StageOutput]:
        """Advance every request that can be advanced, as one batch, for at most about 20 ms of work."""

    def due(self, now: float) -> float | None:
        """Seconds until ``step`` has something to do: 0 for at once, ``None`` when only new input can change that."""

    def close(self, request_id: str) -> None:
        """Free everything the request holds, wherever it is in its life. An unknown id is nothing to free."""

    def held(self) -> Mapping[str, int]:
        """Count what is held now: at least ``slots`` (requests open) and ``bytes`` (of per-request state)."""


@runtime_checkable
class LateModel(StageModel, Protocol):
    """A model whose ``close`` may return before the device is done with the request's memory."""

    def is_leaving(self, request_id: str) -> bool:
        """Whether something of a closed request is still in the device's hands. Asked after each step, never raises.

        The loop confirms a clean-up when this says no. While anything leaves, ``due`` is short, and ``step`` looks.
        """
