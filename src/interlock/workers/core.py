"""The worker machine's data and bindings, its settings, and what a stage's worker is made from.

One instance of ``machines/worker.toml`` for each stage says what becomes of its worker; everything that awaits is in
:mod:`interlock.workers.fleet` and in the carriers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from interlock.errors import MachineError
from interlock.machine import Cancelled, Machine, Message
from interlock.runtime.ports import Reply
from interlock.tables import messages as m
from interlock.tables import worker as table
from interlock.workers.protocol import Order
from interlock.workers.stage import StageModel

MIB = 1024 * 1024


class WorkerSettings(BaseModel):
    """Immutable settings of all workers of a host. Durations are seconds (``_s``), sizes are bytes (``_bytes``)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    start_s: float = Field(default=60.0, gt=0, description="a worker loads its model")
    stop_s: float = Field(default=3.0, gt=0, description="a worker ends when asked; past it, it is killed")
    heartbeat_s: float = Field(default=5.0, gt=0, description="a worker without a sign of life is lost")
    steady_s: float = Field(default=60.0, gt=0, description="ready for so long, a worker is forgiven its restarts")
    restart_s: float = Field(default=0.25, gt=0, description="the first pause before a restart; each one doubles it")
    restart_max_s: float = Field(default=30.0, gt=0, description="the longest pause before a restart")
    max_restarts: int = Field(default=5, ge=0, description="restarts in a row before a stage is given up")
    outbox_bytes: int = Field(default=64 * MIB, ge=64 * 1024, description="orders not yet taken by a worker")

    @property
    def beat_s(self) -> float:
        """How often a worker gives a sign of life: four may get lost before it counts as lost itself."""
        return self.heartbeat_s / 5

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.restart_s > self.restart_max_s:
            raise ValueError(f"restart_s = {self.restart_s} is over restart_max_s = {self.restart_max_s}")
        return self


ModelFactory: TypeAlias = Callable[..., StageModel]


@dataclass(frozen=True, slots=True)
class StageSpec:
    """How one stage's worker is made: ``model`` is called with ``args``, in the worker, as keyword arguments.

    ``model`` is ``"package.module:factory"``; a thread also takes the callable itself. In a process the stage is
    isolated, and can be killed; in a thread it costs nothing to reach, and a model that hangs stays. Raises
    :class:`MachineError` when a process is given what only a thread can take.
    """

    stage: str
    model: str | ModelFactory
    args: Mapping[str, Any] = field(default_factory=dict)
    carrier: Literal["process", "thread"] = "process"

    def __post_init__(self) -> None:
        if self.carrier == "process":
            if not isinstance(self.model, str):
                raise MachineError(f"stage {self.stage}: a process needs its model as 'package.module:factory'")
            try:
                json.dumps(dict(self.args))
            except TypeError as wrong:
                raise MachineError(f"stage {self.stage}: JSON cannot carry its arguments: {wrong}") from wrong


class Ears(Protocol):
    """What a carrier tells about its worker, always on the trio thread."""

    def ready(self) -> None:
        """The worker has loaded its model. At most once."""

    def heard(self, held: Mapping[str, int]) -> None:
        """A sign of life, and what the model counts as held: slots and bytes, at least."""

    def reply(self, *replies: Reply) -> None:
        """The worker's loop has answered, about one request."""

    def lost(self, reason: str) -> None:
        """The link has ended, or carried what is not the protocol."""


class Carrier(Protocol):
    """One incarnation of one worker: where its loop runs, and how orders and replies get there and back."""

    @property
    def pid(self) -> int | None:
        """The worker's process id, once it has a process of its own."""

    async def run(self, ears: Ears) -> None:
        """Start the worker; return when it is known to be gone. Nothing is told after that.

        Cancelling it kills what can be killed; what cannot is left behind, and told to end.
        """

    def send(self, order: Order) -> None:
        """Put an order into the outbox, first in first out."""

    def kill(self) -> None:
        """End the worker at once, if that can be done to it. Idempotent."""


class CarriedStage(Protocol):
    """A stage that knows how to carry its own worker, where neither a process nor a thread will do."""

    @property
    def stage(self) -> str:
        """The stage's name in the pipeline."""

    def carry(self, settings: WorkerSettings) -> Carrier:
        """Make the next incarnation of its worker; :meth:`Carrier.run` starts it."""


class Worker(NamedTuple):
    """One stage's worker, as its machine knows it."""

    stage: str
    limit: int
    incarnation: int = 1
    failures: int = 0
    """Restarts since the worker was last steady."""
    exited: bool = False
    unwanted: bool = False


def may_restart(data: Worker, _: m.RestartDue) -> bool:
    """Whether the worker is gone, wanted, and has not failed too often."""
    return data.exited and not data.unwanted and data.failures < data.limit


def is_spent(data: Worker, _: m.RestartDue) -> bool:
    """Whether the worker is gone and has failed too often."""
    return data.exited and not data.unwanted and data.failures >= data.limit


def restart(data: Worker, _: m.RestartDue) -> Worker:
    """Begin the next incarnation."""
    return data._replace(incarnation=data.incarnation + 1, failures=data.failures + 1, exited=False)


def worker_machine(settings: WorkerSettings) -> Machine[Worker]:
    """Bind the worker machine; only the back-off depends on ``settings``."""

    def restart_after(data: Worker, _: Message) -> float:
        longest: float = settings.restart_max_s
        return min(settings.restart_s * 2.0 ** min(data.failures, 30), longest)

    return Machine(
        table.TABLE,
        table.Bindings[Worker](
            is_unwanted=lambda data, _: data.unwanted,
            may_restart=may_restart,
            is_spent=is_spent,
            is_gone=lambda data, _: data.exited,
            note_exit=lambda data, _: data._replace(exited=True),
            note_stop=lambda data, _: data._replace(unwanted=True),
            forgive=lambda data, _: data._replace(failures=0),
            restart=restart,
            restart_after=restart_after,
            AnnounceReady=lambda data, _: (m.AnnounceReady(data.stage, data.incarnation),),
            AnnounceLost=lambda data, _: (m.AnnounceLost(data.stage, data.incarnation),),
            AnnounceGone=lambda data, _: (m.AnnounceGone(data.stage, data.incarnation),),
            KillWorker=lambda data, _: (m.KillWorker(data.stage, data.incarnation),),
            StopWorker=lambda data, _: (m.StopWorker(data.stage, data.incarnation),),
        ),
        create=_create,
    )


def cancellation(data: Worker) -> Cancelled:
    """Return the event that says that nobody waits for this incarnation any more."""
    return Cancelled("worker", data.stage, data.incarnation)


def _create(event: m.WorkerWanted) -> Worker:
    return Worker(event.stage, event.restarts)


MACHINE: Machine[Worker] = worker_machine(WorkerSettings())
"""The machine with the default back-off, for proofs."""
