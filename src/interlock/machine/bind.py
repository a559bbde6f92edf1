"""Binding: names of a table meet functions of Python, once, at import; then ``step`` is a lookup.

The step is pure. It costs one nested lookup, the guards that it asks, and a tuple: PEERS.md measures what
engines pay that do more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, Generic, NamedTuple, TypeVar

from interlock.errors import ClientError, Defect, MachineError
from interlock.machine.message import Cancelled, Message
from interlock.machine.table import Row, StateInfo, Table

D = TypeVar("D")


class Step(NamedTuple):
    """What one event did: the state and data to commit, the messages that follow, and the row that said so."""

    state: str
    data: Any
    messages: tuple[Message, ...]
    row: Row


class Cell(NamedTuple):
    """One machine's place in a frozen value: its state and its data."""

    state: str
    data: Any


Compiled = tuple[Callable[..., bool] | None, str, tuple[Callable[..., Any], ...], tuple[Callable[..., Any], ...], Row]


class Machine(Generic[D]):
    """A table whose names are bound. Immutable once made; share one among all sessions."""

    __slots__ = ("_born", "_cells", "_final", "create", "delays", "table", "states")

    def __init__(self, table: Table, bindings: Any, create: Callable[[Any], D]) -> None:
        """Bind ``table`` to ``bindings``, the generated ``Bindings`` of the same machine.

        ``create`` makes the first data: from the event that creates the instance, or from whatever the owner of a
        machine that exists once hands over. Raises :class:`MachineError` when names do not match both ways.
        """
        bound = {field.name: getattr(bindings, field.name) for field in fields(bindings)}
        _names_match(table, bound)
        self.table = table
        self.create = create
        self.states: dict[str, StateInfo] = {info.name: info for info in table.states}
        self.delays = {name: bound[name] for name in delay_names(table)}
        self._final = frozenset(table.final)
        self._cells: dict[str, dict[type[Message], tuple[Compiled, ...]]] = {name: {} for name in self.states}
        for row in table.rows:
            cells = self._cells.setdefault(row.state, {})
            cells[row.event] = (*cells.get(row.event, ()), _compile(row, bound))
        self._born = self._cells.pop("", {})

    def step(self, state: str, data: D, event: Message) -> Step:
        """Return what ``event`` does in ``state``. Changes nothing.

        Raises :class:`ClientError` for a client's event that the state refuses, and :class:`Defect` for one that
        it does not list.
        """
        rows = self._cells[state].get(event.__class__)
        if rows is None:
            return self._unlisted(state, data, event)
        for guard, to, assigns, builders, row in rows:
            if guard is None or guard(data, event):
                if row.refuse is not None:
                    raise ClientError(row.refuse, f"{row.refuse}: the {self.table.name} is {state}")
                after = data
                for assign in assigns:
                    after = assign(after, event)
                if not builders:
                    return Step(to, after, (), row)
                return Step(to, after, tuple(m for build in builders for m in build(data, event)), row)
        raise Defect(f"{self.table.name}: no row of {state} fires on {event!r}")

    def born(self, event: Message) -> Step:
        """Return the first step of an instance that ``event`` creates."""
        data = self.create(event)
        (row,) = self._born[event.__class__]
        messages = tuple(m for build in row[3] for m in build(data, event))
        return Step(row[1], data, messages, row[4])

    def is_final(self, state: str) -> bool:
        """Say whether nothing more can happen in ``state``."""
        return state in self._final

    def delay(self, name: str, data: D, event: Message) -> str | float:
        """Return the name of a setting as it is, or the seconds that a bound delay gives."""
        bound = self.delays.get(name)
        return name if bound is None else float(bound(data, event))

    def _unlisted(self, state: str, data: D, event: Message) -> Step:
        if state in self._final or (isinstance(event, Cancelled) and self.states[state].work is None):
            return Step(state, data, (), Row(state, type(event), ignore=True))
        raise Defect(f"{self.table.name}: {state} does not list {type(event).__name__}")


def delay_names(table: Table) -> tuple[str, ...]:
    """Return the ``after`` names that Python must bind, in order of appearance."""
    named = [timeout.after for info in table.states for timeout in info.timeouts]
    named += [after for row in table.rows for _, after in row.rearm]
    return tuple(dict.fromkeys(name for name in named if name not in table.settings))


def bound_names(table: Table) -> tuple[str, ...]:
    """Return every name that Python must bind: guards, assignments, emits and delays, in order of appearance."""
    named: list[str] = []
    for row in table.rows:
        named += [row.guard] if row.guard else []
        named += [*row.assign, *row.emit]
    return tuple(dict.fromkeys([*named, *delay_names(table)]))


def _names_match(table: Table, bound: Iterable[str]) -> None:
    wanted, given = set(bound_names(table)), set(bound)
    if missing := sorted(wanted - given):
        raise MachineError(f"{table.name}: the table names {', '.join(missing)}; bind them")
    if extra := sorted(given - wanted):
        raise MachineError(f"{table.name}: {', '.join(extra)} is bound, but no row names it; regenerate the table")


def _compile(row: Row, bound: dict[str, Callable[..., Any]]) -> Compiled:
    guard = bound[row.guard] if row.guard else None
    assigns = tuple(bound[name] for name in row.assign)
    return guard, row.to or row.state, assigns, tuple(bound[name] for name in row.emit), row
