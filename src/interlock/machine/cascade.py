"""Run to completion: one event, all that follows from it inside, and what is left for the runtime.

Address first, table second. An event for an instance that does not exist, or whose stamp is old, is *stale*: it is
dropped here and counted, and no machine file needs a guard against it. Nothing is changed in place: the caller
commits the returned cells with one assignment, or drops them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from interlock.errors import Defect, LimitReached
from interlock.machine.bind import Cell, Machine, Step
from interlock.machine.message import Address, ArmTimer, Cancelled, DisarmTimer, Key, Message, StartWork, StopWork
from interlock.machine.table import Row

Cells: TypeAlias = Mapping[Address, Cell]
Facts: TypeAlias = Callable[[Cells, Message], Message]
"""Fills in the declared facts of a message from the other machines, directly before it is addressed."""


class Taken(NamedTuple):
    """One delivery of a run: who took which message, by which row. ``row`` is ``None`` when it was stale."""

    address: Address
    message: Message
    state: str
    to: str
    row: Row | None


class Cascade(NamedTuple):
    """A whole run to completion, not yet committed."""

    cells: dict[Address, Cell]
    effects: tuple[Message, ...]
    taken: tuple[Taken, ...]


class Composition:
    """Machines that send one another messages, and the limits on their instances."""

    __slots__ = ("machines", "steps")

    def __init__(self, *machines: Machine[Any], steps: int = 10_000) -> None:
        """Join ``machines``; one run takes at most ``steps`` deliveries, or its own limit ``max_steps``."""
        self.machines: dict[str, Machine[Any]] = {machine.table.name: machine for machine in machines}
        self.steps = steps

    def run(self, cells: Cells, event: Message, facts: Facts, limits: Mapping[str, int]) -> Cascade:
        """Deliver ``event`` and everything that it leads to, depth first: what a row emits comes before what waits.

        Raises :class:`ClientError` when a state refuses, :class:`LimitReached` when an instance finds no room, and
        :class:`Defect` when a state does not list an event. Whatever it raises, ``cells`` are as they were.
        """
        now = dict(cells)
        queue: deque[Message] = deque((event,))
        effects: list[Message] = []
        taken: list[Taken] = []
        steps = limits.get("max_steps", self.steps)
        while queue:
            message = queue.popleft()
            if not message.machine and not isinstance(message, Cancelled):
                effects.append(message)
                continue
            if len(taken) >= steps:
                raise Defect(f"{type(event).__name__}: over {steps} deliveries in one run")
            queue.extendleft(reversed(self._deliver(now, message, facts, limits, taken)))
        return Cascade(now, tuple(effects), tuple(taken))

    def start(self, cells: Cells) -> tuple[Message, ...]:
        """Return what it means to the runtime that ``cells`` exist: the work and the timers of their states."""
        found: list[Message] = []
        for (name, key), cell in cells.items():
            entered = Step(cell.state, cell.data, (), Row("", Message, to=cell.state))
            found.extend(_lifecycle(self.machines[name], key, "", entered, Message()))
        return tuple(found)

    def _deliver(
        self,
        cells: dict[Address, Cell],
        message: Message,
        facts: Facts,
        limits: Mapping[str, int],
        taken: list[Taken],
    ) -> tuple[Message, ...]:
        if message.facts:
            message = facts(cells, message)
        name, key = address = address_of(message)
        machine = self.machines[name]
        cell = cells.get(address)
        if cell is None and machine.table.created_by is type(message):
            self._admit(machine, cells, limits)
            step, before = machine.born(message), ""
        elif cell is None or is_stale(machine, cell, message):
            taken.append(Taken(address, message, cell.state if cell else "", cell.state if cell else "", None))
            return ()
        else:
            step, before = machine.step(cell.state, cell.data, message), cell.state
        taken.append(Taken(address, message, before, step.state, step.row))
        if machine.table.per and machine.is_final(step.state):
            cells.pop(address, None)
        else:
            cells[address] = Cell(step.state, step.data)
        return (*_lifecycle(machine, key, before, step, message), *step.messages)

    def _admit(self, machine: Machine[Any], cells: Cells, limits: Mapping[str, int]) -> None:
        limit = machine.table.limit
        if limit is not None and sum(name == machine.table.name for name, _ in cells) >= limits[limit]:
            raise LimitReached(limit, limits[limit])


def address_of(message: Message) -> Address:
    """Return the one place where ``message`` is delivered."""
    if isinstance(message, Cancelled):
        return message.target, message.instance
    return message.machine, getattr(message, message.key) if message.key else None


def is_stale(machine: Machine[Any], cell: Cell, message: Message) -> bool:
    """Say whether ``message`` refers to something that the instance has left behind."""
    if isinstance(message, Cancelled):
        stamps = machine.table.stamps
        return bool(stamps) and getattr(cell.data, stamps[0]) != message.stamp
    return any(getattr(message, stamp) != getattr(cell.data, stamp) for stamp in message.stamps)


def _lifecycle(machine: Machine[Any], key: Key, before: str, step: Step, event: Message) -> Iterator[Message]:
    """Yield what entering and leaving states means to the runtime: work to start and stop, timers to move."""
    name, row = machine.table.name, step.row
    if row.to is None and before:
        for timer, after in row.rearm:
            yield DisarmTimer(name, key, timer)
            yield from _arm(machine, key, timer, after, step, event)
        return
    old, new = machine.states.get(before), machine.states[step.state]
    if old is not None:
        for timeout in old.timeouts:
            yield DisarmTimer(name, key, timeout.event)
        if old.work is not None and (old.work != new.work or _starts(machine, new.work, step.state)):
            yield StopWork(name, key, old.work)
    if new.work is not None and _starts(machine, new.work, step.state):
        yield StartWork(name, key, new.work)
    for timeout in new.timeouts:
        yield from _arm(machine, key, timeout.event, timeout.after, step, event)


def _arm(
    machine: Machine[Any], key: Key, timer: type[Message], after: str, step: Step, event: Message
) -> Iterator[Message]:
    delay = machine.delay(after, step.data, event)
    if delay != math.inf:
        yield ArmTimer(machine.table.name, key, timer, delay)


def _starts(machine: Machine[Any], work: str, state: str) -> bool:
    return any(span.name == work and span.start == state for span in machine.table.work)
