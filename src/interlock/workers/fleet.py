"""All stage workers of a host: one worker machine for each stage, stepped here, and what its effects mean.

``StageFleet`` decides nothing: it turns what carriers and clocks do into events, commits what the machine says, and
performs its effects in order, all on the trio thread and between two checkpoints.

A cancel of ``run`` reaches each machine as an event: the worker is killed, and not started again. The tasks that wait
for workers are shielded from it until all are gone, or until ``stop_s`` has passed: what is left then is what cannot be
killed, and ``owed()`` goes on naming it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, assert_never

import trio

from interlock.errors import MachineError
from interlock.machine import Address, ArmTimer, Cell, Cells, Composition, DisarmTimer, Message, StartWork, StopWork
from interlock.runtime.deadlines import Deadlines
from interlock.runtime.ports import FleetSink, Reply
from interlock.tables import messages as m
from interlock.workers.core import (
    CarriedStage,
    Carrier,
    StageSpec,
    Worker,
    WorkerSettings,
    cancellation,
    worker_machine,
)
from interlock.workers.link import CarrierLink
from interlock.workers.process import ProcessCarrier
from interlock.workers.thread import ThreadCarrier

Effect: TypeAlias = (
    m.AnnounceReady
    | m.AnnounceLost
    | m.AnnounceGone
    | m.KillWorker
    | m.StopWorker
    | ArmTimer
    | DisarmTimer
    | StartWork
    | StopWork
)

Timer: TypeAlias = tuple[str, Callable[[str], Message]]
"""(stage, event): every timer event of a worker is made from its stage alone."""

log = logging.getLogger(__name__)


class StageFleet:
    """Implements :class:`interlock.runtime.ports.Fleet`. Runs once."""

    def __init__(self, specs: Iterable[StageSpec | CarriedStage], settings: WorkerSettings | None = None) -> None:
        """Take one spec for each stage. Raises :class:`MachineError` when two name the same."""
        self._settings = settings or WorkerSettings()
        self._specs = _by_stage(specs)
        self._machine = worker_machine(self._settings)
        self._composition = Composition(self._machine)
        self._cells: Mapping[Address, Cell] = {}
        self._events: deque[Message] = deque()
        self._busy = False
        self._links: dict[str, CarrierLink] = {}
        self._ears: dict[str, FleetEars] = {}
        self._deadlines: Deadlines[Timer] = Deadlines()
        self._stopping = False
        self._moved = trio.Event()
        self._ended = trio.Event()
        self._nursery: trio.Nursery | None = None
        self._sink: FleetSink | None = None

    async def run(self, sink: FleetSink) -> None:
        """Keep one worker for each stage until :meth:`stop`; return when all are gone, or have failed too often."""
        await trio.lowlevel.checkpoint_if_cancelled()
        self._sink = sink
        shield = trio.CancelScope(shield=True)
        cancelled: trio.Cancelled | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._attend, shield)
            try:
                await self._ended.wait()
            except trio.Cancelled as error:
                cancelled = error  # raised again below: the nursery would make a group of it
                shield.deadline = trio.current_time() + self._settings.stop_s
                self._cancel()
        if cancelled is not None:
            raise cancelled

    def link(self, stage: str) -> CarrierLink | None:
        """Return the link of the stage's worker while it is READY."""
        return self._links[stage] if self.state(stage) == "READY" else None

    def stop(self) -> None:
        """Ask every worker to end when it has given everything back."""
        self._stopping = True
        for worker in self._workers():
            self._dispatch(m.StopRequested(worker.stage))

    def owed(self) -> Sequence[Mapping[str, Any]]:
        """List the workers that are not gone: stage, state, incarnation."""
        return [
            {"stage": worker.stage, "state": self.state(worker.stage), "incarnation": worker.incarnation}
            for worker in self._workers()
            if not worker.exited
        ]

    def held(self, stage: str) -> Mapping[str, int]:
        """Return what the stage's worker said at its last sign of life: slots and bytes that its model holds."""
        return self._ears[stage].held if self.state(stage) in ("READY", "DRAINING") else {}

    def workers(self) -> Sequence[Mapping[str, Any]]:
        """List every worker as an operator sees it: stage, state, incarnation, process id, and what it holds."""
        return [
            {
                "stage": worker.stage,
                "state": self.state(worker.stage),
                "incarnation": worker.incarnation,
                "pid": self._links[worker.stage].carrier.pid,
                "held": dict(self.held(worker.stage)),
            }
            for worker in self._workers()
        ]

    def state(self, stage: str) -> str:
        """Return the state of the stage's worker; STOPPED before its first and after its last one."""
        cell = self._cells.get(("worker", stage))
        return cell.state if cell else "STOPPED"

    async def _attend(self, shield: trio.CancelScope) -> None:
        try:
            with shield:
                async with trio.open_nursery() as self._nursery:
                    self._nursery.start_soon(self._deadlines.run, self._overdue)
                    for stage in () if self._stopping else self._specs:
                        self._dispatch(m.WorkerWanted(stage, self._settings.max_restarts))
                    await self._all_stopped()
                    self._nursery.cancel_scope.cancel()
        finally:
            self._ended.set()

    async def _all_stopped(self) -> None:
        while self._cells:
            self._moved = trio.Event()
            await self._moved.wait()

    async def _carry(self, carrier: Carrier, ears: FleetEars) -> None:
        await carrier.run(ears)
        self._dispatch(m.WorkerExited(ears.stage, ears.incarnation))

    def _cancel(self) -> None:
        """Tell each machine that nobody waits any more; one that must wait shielded learns that it is not wanted."""
        self._stopping = True
        for worker in self._workers():
            if self._machine.states[self.state(worker.stage)].shielded is None:
                self._dispatch(cancellation(worker))
            self._dispatch(m.StopRequested(worker.stage))

    def _overdue(self, timer: Timer) -> None:
        stage, event = timer
        self._dispatch(event(stage))

    def _dispatch(self, event: Message) -> None:
        """Decide, commit, perform. A dispatch during a dispatch waits its turn."""
        self._events.append(event)
        if self._busy:
            return
        self._busy = True
        try:
            while self._events:
                done = self._composition.run(self._cells, self._events.popleft(), _no_facts, {})
                self._cells = done.cells
                for effect in done.effects:
                    self._perform(effect)
        finally:
            self._busy = False
        self._moved.set()

    def _perform(self, effect: Message) -> None:
        assert isinstance(effect, Effect)
        assert self._sink is not None
        match effect:
            case StartWork(_, stage):
                self._start(str(stage))
            case ArmTimer(_, stage, event, after):
                seconds = getattr(self._settings, after) if isinstance(after, str) else after
                self._deadlines.arm((str(stage), event), seconds)
            case DisarmTimer(_, stage, event):
                self._deadlines.disarm((str(stage), event))
            case m.KillWorker(stage):
                self._links[stage].carrier.kill()
            case m.StopWorker(stage):
                self._links[stage].stop()
            case m.AnnounceReady(stage, incarnation):
                self._sink.worker_ready(stage, incarnation)
            case m.AnnounceLost(stage, incarnation):
                self._links[stage].close()
                self._sink.worker_lost(stage, incarnation)
            case m.AnnounceGone(stage, incarnation):
                self._sink.worker_gone(stage, incarnation)
            case StopWork():
                pass  # the process or the thread is gone by now: the machine does not leave LOST before
            case _:
                assert_never(effect)

    def _start(self, stage: str) -> None:
        assert self._nursery is not None
        assert self._sink is not None
        spec, incarnation = self._specs[stage], self._cells["worker", stage].data.incarnation
        carrier = carrier_of(spec, self._settings)
        self._links[stage] = CarrierLink(stage, incarnation, carrier)
        self._ears[stage] = FleetEars(stage, incarnation, self._dispatch, self._sink)
        self._nursery.start_soon(self._carry, carrier, self._ears[stage])

    def _workers(self) -> list[Worker]:
        return [cell.data for cell in self._cells.values()]


class FleetEars:
    """What one incarnation's carrier tells, as events of its machine; replies go straight to the host."""

    def __init__(self, stage: str, incarnation: int, dispatch: Callable[[Message], None], sink: FleetSink) -> None:
        self.stage = stage
        self.incarnation = incarnation
        self.held: Mapping[str, int] = {}
        self._dispatch = dispatch
        self._sink = sink

    def ready(self) -> None:
        """The worker has loaded its model."""
        self._dispatch(m.WorkerReady(self.stage, self.incarnation))

    def heard(self, held: Mapping[str, int]) -> None:
        """A sign of life, with what the model counts as held."""
        self.held = held
        self._dispatch(m.WorkerHeard(self.stage, self.incarnation))

    def lost(self, reason: str) -> None:
        """The link has ended, or carried what is not the protocol."""
        log.info("worker %s %d: %s", self.stage, self.incarnation, reason)
        self._dispatch(m.LinkLost(self.stage, self.incarnation, reason))

    def reply(self, *replies: Reply) -> None:
        """The worker's loop has answered, about one request."""
        self._sink.reply(self.stage, self.incarnation, *replies)


def carrier_of(spec: StageSpec | CarriedStage, settings: WorkerSettings) -> Carrier:
    """Make one incarnation of a stage's worker: a process, a thread, or what the stage itself brings."""
    if not isinstance(spec, StageSpec):
        return spec.carry(settings)
    return ProcessCarrier(spec, settings) if spec.carrier == "process" else ThreadCarrier(spec, settings)


def _by_stage(specs: Iterable[StageSpec | CarriedStage]) -> dict[str, StageSpec | CarriedStage]:
    found: dict[str, StageSpec | CarriedStage] = {}
    for spec in specs:
        if spec.stage in found:
            raise MachineError(f"two workers for the stage {spec.stage}; one worker serves many requests")
        found[spec.stage] = spec
    return found


def _no_facts(_: Cells, message: Message) -> Message:
    return message
