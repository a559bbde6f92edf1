"""Machines bound to nothing but what a schedule says: how a machine file alone can run.

Guards answer bit by bit, assignments leave the data alone, every delay is a second, and what a row emits is sent.
Instances have numbers; a message to one of many goes to the oldest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

from interlock.errors import ClientError
from interlock.machine import Address, ArmTimer, Cell, Composition, DisarmTimer, Key, Machine, Message, Table
from interlock.machine.bind import bound_names, delay_names
from interlock.spec.build import built
from interlock.spec.plan import CANCELLED, Blueprint

LIMIT: Final = 3
"""Instances of a machine that are there at the same time."""


class Stand(NamedTuple):
    """Where all machines stand, and which timers are armed."""

    cells: tuple[tuple[Address, str], ...]
    timers: frozenset[tuple[str, Key, type[Message]]]


@dataclass(frozen=True)
class Act:
    """An event from outside."""

    event: type[Message]
    origin: str


class Answers:
    """What guards answer in one event: bit after bit, and no for ever after. Instances are numbered here as well."""

    def __init__(self) -> None:
        self._bits = 0
        self._cells: dict[Address, Cell] = {}
        self._fresh: set[Address] = set()

    def begin(self, cells: dict[Address, Cell], bits: int) -> None:
        """Answer so from here on, about what is there now."""
        self._cells, self._bits = cells, bits
        self._fresh.clear()

    def ask(self, _data: object, _event: Message) -> bool:
        """Answer one guard."""
        answer, self._bits = bool(self._bits & 1), self._bits >> 1
        return answer

    def key_for(self, machine: str, *, new: bool) -> Key:
        """Choose an instance: one that is not there yet, or the oldest."""
        held = [key for name, key in [*self._cells, *self._fresh] if name == machine and isinstance(key, int)]
        if not new:
            return min(held, default=0)
        chosen = min(number for number in range(1, len(held) + 2) if number not in held)
        self._fresh.add((machine, chosen))
        return chosen


class Bound:
    """Machines bound to nothing: data is none, guards answer from outside, and what a row emits is sent."""

    def __init__(self, blueprint: Blueprint) -> None:
        self.answers = Answers()
        types = SimpleNamespace(**{name: self._type(blueprint, name) for name in blueprint.messages})
        self.tables = built(blueprint, cast(Any, types))
        self.machines = {name: self._bound(table, vars(types)) for name, table in self.tables.items()}
        self.composition = Composition(*self.machines.values(), steps=1_000)
        self.limits = {table.limit: LIMIT for table in self.tables.values() if table.limit}
        self.acts = {
            f"{plan.name}.{event}": Act(getattr(types, event), origin)
            for plan in blueprint.plans
            for event, origin in plan.origins.items()
            if origin not in self.machines and event != CANCELLED and hasattr(types, event)
        }

    def start(self) -> Stand:
        """Return where everything stands at first: each machine that exists once, in its initial state."""
        once: dict[Address, Cell] = {
            (name, None): Cell(table.initial, None) for name, table in self.tables.items() if not table.per
        }
        return self._stand(once, frozenset(), self.composition.start(once))

    def send(self, stand: Stand, act: Act, bits: int) -> tuple[Stand, tuple[tuple[str, ...], ...]] | None:
        """Return what an event from outside leads to and the rows that fired; none where it cannot come.

        Raises :class:`Defect` for what no event may do.
        """
        cells = {address: Cell(state, None) for address, state in stand.cells}
        self.answers.begin(cells, bits)
        message = self._addressed(act.event)
        if message is None or not self._comes(stand, act, message):
            return None
        try:
            run = self.composition.run(cells, message, lambda _, asked: asked, self.limits)
        except ClientError:
            return stand, ()
        fired = tuple((t.address[0], t.state, type(t.message).__name__, t.to) for t in run.taken if t.row is not None)
        timers = stand.timers - {(act.event.machine, getattr(message, "instance", None), act.event)}
        return self._stand(run.cells, timers, run.effects), fired

    def is_end(self, stand: Stand) -> bool:
        """Say whether all is over: every machine that exists once is in a final state; or no instance is left."""
        once = [(name, state) for (name, key), state in stand.cells if key is None]
        return all(self.machines[name].is_final(state) for name, state in once) if once else not stand.cells

    def left(self, stand: Stand) -> int:
        """Count what is not over."""
        return sum(not self.machines[name].is_final(state) for (name, _), state in stand.cells)

    def _comes(self, stand: Stand, act: Act, message: Message) -> bool:
        """Say whether an event may come from outside now."""
        key = getattr(message, "instance", None)
        state = dict(stand.cells).get((act.event.machine, key), "")
        listed = any(row.state == state and row.event is act.event for row in self.tables[act.event.machine].rows)
        if act.origin == "timer":
            return (act.event.machine, key, act.event) in stand.timers
        return listed or (act.origin == "client" and state not in ("", *self.tables[act.event.machine].final))

    def _addressed(self, event: type[Message]) -> Message | None:
        table = self.tables[event.machine]
        if not table.per:
            return event()
        make = cast(Callable[[Key], Message], event)
        return make(self.answers.key_for(table.name, new=table.created_by is event))

    def _stand(self, cells: Any, timers: frozenset[Any], effects: tuple[Message, ...]) -> Stand:
        armed = set(timers)
        for effect in effects:
            if isinstance(effect, ArmTimer):
                armed.add((effect.target, effect.instance, effect.event))
            elif isinstance(effect, DisarmTimer):
                armed.discard((effect.target, effect.instance, effect.event))
        return Stand(tuple((address, cell.state) for address, cell in cells.items()), frozenset(armed))

    def _type(self, blueprint: Blueprint, name: str) -> type[Message]:
        declared = blueprint.messages[name]
        per = bool(declared.taken and declared.plan.form.per)
        fields: list[tuple[str, type]] = [("instance", object)] if per else []
        space = {"machine": declared.machine, "key": "instance" if per else ""}
        return make_dataclass(name, fields, bases=(Message,), frozen=True, namespace=space)

    def _bound(self, table: Table, types: dict[str, type[Message]]) -> Machine[None]:
        bound: dict[str, Any] = dict.fromkeys(bound_names(table), _same)
        bound |= dict.fromkeys(delay_names(table), _second)
        bound |= {row.guard: self.answers.ask for row in table.rows if row.guard}
        bound |= {name: functools.partial(self._emit, types[name]) for row in table.rows for name in row.emit}
        return Machine(table, make_dataclass("Bindings", list(bound))(**bound), create=_nothing)

    def _emit(self, kind: type[Message], _data: object, _event: Message) -> tuple[Message, ...]:
        message = kind() if not kind.machine else self._addressed(kind)
        return (message,) if message is not None else ()


def _same(data: object, _event: Message) -> object:
    return data


def _second(_data: object, _event: Message) -> float:
    return 1.0


def _nothing(_made_from: object) -> None:
    return None
