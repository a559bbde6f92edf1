"""A fleet without workers: in memory, under a test's control, and as hostile as a test wants it.

Each stage follows a :class:`Script` that may change at any time, and does whatever the test calls on top:

    fleet = ScriptedFleet("listen", "think", "speak")
    fleet["think"].script.submit = "hang"
    ...
    fleet["think"].accept(request_id)
    fleet["think"].output(request_id, "text", b"Hello.")
    fleet.lose("think")
    fleet.gone("think")
    fleet.come_back("think")

There is no chance in it: all that does not happen inside a call happens in one task, by time and then by turn. It
decides nothing by a machine, so that it can be wrong in every way that a real fleet must not be.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import trio

from interlock.runtime.ports import FleetSink, Reply
from interlock.workers.link import OrderLink
from interlock.workers.protocol import Order
from interlock.workers.script import FRAME_S, FRAME_SAMPLES, Script, ScriptedRequest, ScriptedStage

__all__ = ["FRAME_S", "FRAME_SAMPLES", "Handed", "Script", "ScriptedFleet", "ScriptedRequest", "ScriptedStage"]

Kind = TypeVar("Kind", bound=Order)


class Handed(NamedTuple):
    """One order that a stage was handed."""

    stage: str
    incarnation: int
    order: Order


class ScriptedFleet:
    """Implements :class:`interlock.runtime.ports.Fleet`. All stages are ready when :meth:`run` starts, but ``absent``.

    ``orders`` has every order that was handed over, in order; ``record=False`` keeps it empty, for long loads.
    """

    def __init__(self, *stages: str, absent: Sequence[str] = (), record: bool = True) -> None:
        self.orders: list[Handed] = []
        self._record = record
        self._absent = frozenset(absent)
        self._agenda = Agenda()
        self._sink: FleetSink | None = None
        self._stopping = False
        self._links: dict[str, OrderLink] = {}
        self.stages = {name: ScriptedStage(name, Script(), self._say, self._answer) for name in stages}

    def __getitem__(self, stage: str) -> ScriptedStage:
        return self.stages[stage]

    @property
    def held(self) -> int:
        """How many requests all stages hold."""
        return sum(len(stage.held) for stage in self.stages.values())

    def orders_of(self, kind: type[Kind], stage: str | None = None) -> list[Kind]:
        """Return the orders of one kind, of one stage or of all."""
        return [h.order for h in self.orders if isinstance(h.order, kind) and stage in (None, h.stage)]

    async def run(self, sink: FleetSink) -> None:
        """Make the stages ready and keep them so until :meth:`stop`; return when the last one is gone."""
        self._sink = sink
        try:
            for name in () if self._stopping else self.stages:
                if name not in self._absent:
                    self.come_back(name)
            await self._agenda.run(lambda: self._stopping and not self.owed())
        except trio.Cancelled:
            self.stop()
            raise

    def link(self, stage: str) -> OrderLink | None:
        """Return the link of the stage's worker while it is READY."""
        return self._links[stage] if self.stages[stage].condition == "ready" else None

    def stop(self) -> None:
        """End every worker that is READY; one that is LOST is like a thread that hangs, until :meth:`gone`."""
        self._stopping = True
        for name, stage in self.stages.items():
            if stage.condition == "ready":
                self.lose(name)
                self.gone(name)
        self._agenda.wake()

    def owed(self) -> Sequence[Mapping[str, Any]]:
        """List the workers that are not gone: stage, state, incarnation."""
        return [
            {"stage": name, "state": stage.condition.upper(), "incarnation": stage.incarnation}
            for name, stage in self.stages.items()
            if stage.condition in ("ready", "lost")
        ]

    def lose(self, stage: str) -> None:
        """Let the worker stop answering: what it holds is still held."""
        assert self._sink is not None
        self._links[stage].close()
        self.stages[stage].condition = "lost"
        self._sink.worker_lost(stage, self.stages[stage].incarnation)

    def gone(self, stage: str) -> None:
        """Let the worker be gone, and with it all that it held; a worker that is READY is lost first."""
        assert self._sink is not None
        if self.stages[stage].condition == "ready":
            self.lose(stage)
        self.stages[stage].condition = "gone"
        self.stages[stage].held.clear()
        self._sink.worker_gone(stage, self.stages[stage].incarnation)
        self._agenda.wake()

    def come_back(self, stage: str) -> None:
        """Start the next incarnation of a worker that is gone, or was absent."""
        assert self._sink is not None
        worker = self.stages[stage]
        assert worker.condition in ("absent", "gone"), f"{stage} is {worker.condition}"
        worker.incarnation += 1
        worker.condition = "ready"
        self._links[stage] = OrderLink(stage, worker.incarnation, partial(self._take, stage))
        self._sink.worker_ready(stage, worker.incarnation)

    def _take(self, stage: str, order: Order) -> None:
        worker = self.stages[stage]
        if self._record:
            self.orders.append(Handed(stage, worker.incarnation, order))
        worker.take(order)

    def _say(self, stage: str, incarnation: int, *replies: Reply) -> None:
        assert self._sink is not None
        self._sink.reply(stage, incarnation, *replies)

    def _answer(self, delay_s: float | None, do: Callable[[], None]) -> None:
        if delay_s is None:
            do()
        else:
            self._agenda.add(delay_s, do)


class Agenda:
    """What is to be done, by time, then in the order in which it was added; and the one task that does it."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._turn = itertools.count()
        self._woken = trio.Event()

    def add(self, delay_s: float, do: Callable[[], None]) -> None:
        """Do something after so many seconds."""
        heapq.heappush(self._entries, (trio.current_time() + delay_s, next(self._turn), do))
        self.wake()

    def wake(self) -> None:
        """Have the task look again."""
        self._woken.set()

    async def run(self, is_over: Callable[[], bool]) -> None:
        """Do what is due, until ``is_over`` says so."""
        while not is_over():
            until = self._entries[0][0] if self._entries else float("inf")
            if until > trio.current_time():
                self._woken = trio.Event()
                with trio.CancelScope(deadline=until):
                    await self._woken.wait()
            await self._do_due()

    async def _do_due(self) -> None:
        """Do what is due now; what that adds is for the next turn."""
        now, last = trio.current_time(), next(self._turn)
        while self._entries and self._entries[0][0] <= now and self._entries[0][1] < last:
            heapq.heappop(self._entries)[2]()
        await trio.lowlevel.checkpoint()
