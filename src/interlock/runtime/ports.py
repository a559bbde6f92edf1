"""What the runtime needs from the world, as Protocols: transports, stages, and the pipeline that joins them.

Every method without ``async`` returns at once and never raises for what the world does: it is an order, and its
outcome comes back as a reply or an event. Order is part of each port: what is handed over first happens first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import msgspec

from interlock.errors import WorldError
from interlock.machine import Message
from interlock.session.decide import Decision
from interlock.session.value import Value


class TransportClosed(WorldError):
    """The peer is gone, or the transport was aborted. Its session lives on."""


class Transport(Protocol):
    """One client connection, as its writer sees it. Only one task calls ``send`` and ``close``."""

    async def send(self, frames: Sequence[bytes]) -> None:
        """Write whole text messages, in order, as one write where the transport can.

        Raises :class:`TransportClosed`. A cancel may cut it anywhere; the transport is then only good for ``abort``.
        """

    async def close(self, code: int, reason: str) -> None:
        """Say goodbye with a close code and a reason of at most 123 bytes. Raises :class:`TransportClosed`."""

    def abort(self, reason: str) -> None:
        """Free the socket now, whatever the peer does. Idempotent; a blocked ``send`` fails."""


@runtime_checkable
class EagerTransport(Transport, Protocol):
    """A transport that can also write without waiting, as a socket does whose buffer has room.

    A turn of the event loop costs more than a frame: where this is there, a writer waits only for a peer that is slow.
    """

    def write_now(self, frames: Sequence[bytes]) -> bool:
        """Write whole text messages, in order, as far as they go without waiting; say whether all of it went.

        After ``False``, :meth:`drain` is called before anything else. Raises :class:`TransportClosed`.
        """

    async def drain(self) -> None:
        """Write what is left, or fail as ``send`` would. Raises :class:`TransportClosed`."""


class Accepted(msgspec.Struct, frozen=True, tag=True):
    """The stage holds the request."""

    request_id: str


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The stage did not take the request and holds nothing of it."""

    request_id: str
    reason: str


class Output(msgspec.Struct, frozen=True, tag=True):
    """Something that a stage made: see :class:`interlock.workers.stage.StageOutput` for kinds and payloads."""

    request_id: str
    epoch: int
    kind: str
    payload: bytes = b""
    at_ms: int = 0
    reason: str = ""


class FunctionCall(msgspec.Struct, frozen=True):
    """The payload of an output of kind ``function_call``, as JSON. Without a ``call_id`` one is given."""

    name: str
    arguments: str
    call_id: str | None = None


class Usage(msgspec.Struct, frozen=True):
    """The payload of an output of kind ``usage``, as JSON: tokens, added to those that the response has used."""

    input_tokens: int = 0
    output_tokens: int = 0


class Consumed(msgspec.Struct, frozen=True, tag=True):
    """The stage has taken ``size`` bytes of input out of its queue."""

    request_id: str
    size: int


class Finished(msgspec.Struct, frozen=True, tag=True):
    """The stage has finished the request and holds nothing of it any more."""

    request_id: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The stage has failed the request; what it still holds of it is not known."""

    request_id: str
    reason: str


class Aborted(msgspec.Struct, frozen=True, tag=True):
    """The stage holds nothing of the request: it was aborted, finished, or never known."""

    request_id: str


class AbortRefused(msgspec.Struct, frozen=True, tag=True):
    """The stage could not clean the request up."""

    request_id: str
    reason: str


Reply: TypeAlias = Accepted | Refused | Output | Consumed | Finished | Failed | Aborted | AbortRefused


class StageLink(Protocol):
    """One incarnation of one stage's worker: an outbox, written in order, that no cancel interrupts."""

    @property
    def stage(self) -> str:
        """The stage's name in the pipeline."""

    @property
    def incarnation(self) -> int:
        """Counts the stage's workers; only grows."""

    def submit(self, request_id: str, epoch: int, params: Mapping[str, Any]) -> None:
        """Ask the stage to take a request. Answered by ``Accepted`` or ``Refused``."""

    def append(self, request_id: str, payload: bytes) -> None:
        """Hand over input. Audio is answered by ``Consumed`` when it leaves the stage's queue."""

    def finish(self, request_id: str) -> None:
        """No more input follows; for a listening stage, the turn ends here."""

    def abort(self, request_ids: Sequence[str]) -> None:
        """Clean requests up. Each is answered by ``Aborted`` or ``AbortRefused``, known to the stage or not."""


class FleetSink(Protocol):
    """What a fleet tells its host, always on the host's thread."""

    def worker_ready(self, stage: str, incarnation: int) -> None:
        """``fleet.link(stage)`` takes requests from here on."""

    def worker_lost(self, stage: str, incarnation: int) -> None:
        """The worker no longer answers; what it holds is still held."""

    def worker_gone(self, stage: str, incarnation: int) -> None:
        """The worker is known to be gone, and with it all that it held."""

    def reply(self, stage: str, incarnation: int, *replies: Reply) -> None:
        """A stage has answered: once, or, about one request, more than once in one breath, in this order."""


class Fleet(Protocol):
    """All stage workers of a host."""

    async def run(self, sink: FleetSink) -> None:
        """Keep one worker for each stage until :meth:`stop`; return when all are gone.

        Cancelling it kills what can be killed and waits for it, shielded, within the worker machine's deadlines.
        """

    def link(self, stage: str) -> StageLink | None:
        """Return the link of the stage's worker while it is READY."""

    def stop(self) -> None:
        """Ask every worker to end."""

    def owed(self) -> Sequence[Mapping[str, Any]]:
        """List the workers that are not gone: stage, state, incarnation."""


class Pipeline(Protocol):
    """Which stages a session talks to, and what is submitted to each."""

    @property
    def listen(self) -> str:
        """The stage that hears: it takes audio and makes ``speech_started``, ``speech_stopped``, ``transcript``."""

    @property
    def answer(self) -> Sequence[str]:
        """The stages that answer, the model first: each one's ``text`` goes to the next, ``audio`` to the client."""

    def check(self, config: Mapping[str, Any]) -> None:
        """Refuse a configuration that no session could have. Raises :class:`interlock.errors.ClientError`."""

    async def prepare(self, config: Mapping[str, Any]) -> None:
        """Get ready for a session with this configuration; may await anything, and may refuse like ``check``."""

    def params(self, stage: str, config: Mapping[str, Any], text: str) -> Mapping[str, Any]:
        """Return what is submitted to ``stage``; ``text`` is the turn that is answered, for the model stage.

        For a stage that answers, ``config`` is the session's, with what this one response is to have otherwise, and
        under ``input`` the items of the conversation that it answers (``docs/wire.md``), the newest last.
        """


@runtime_checkable
class WritingPipeline(Pipeline, Protocol):
    """A pipeline that can also answer in text alone."""

    @property
    def write(self) -> Sequence[str]:
        """The stages that answer in text, the model first."""


class Recorder(Protocol):
    """Whoever keeps the trace. Synchronous, bounded, and never shown a secret or audio by what it writes."""

    def decided(self, at: float, before: Value, event: Message, decision: Decision) -> None:
        """A session took ``event`` and committed ``decision``."""

    def refused(self, at: float, before: Value, event: Message, code: str) -> None:
        """A client asked for what it may not have, or, ``internal_error``, a defect was met; nothing changed."""

    def voided(self, at: float, session_id: str, through: int, unsent: Sequence[int], sent: Sequence[int]) -> None:
        """An interrupt freed these frames: ``unsent`` were never handed to a transport, ``sent`` had been."""
