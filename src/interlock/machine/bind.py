"""Binding: names of a table meet functions of Python, once, at import; then ``step`` is a lookup.

The step is pure. It costs one nested lookup, the guards that it asks, and a tuple; benchmarks/step.py measures
it beside engines that do more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, Generic, NamedTuple, NoReturn, TypeAlias, cast

from typing_extensions import TypeVar  # pydantic brings it along; a type variable with a default needs it before 3.13

from interlock.errors import ClientError, Defect, MachineError
from interlock.machine.message import Cancelled, Message
from interlock.machine.table import E, M, Row, S, StateInfo, Table

D = TypeVar("D", default=Any)


class Step(NamedTuple, Generic[D, S, M]):
    """What one event did: the state and data to commit, the messages that follow, and the row that said so."""

    state: S
    data: D
    messages: tuple[M, ...]
    row: Row


class Cell(NamedTuple):
    """One machine's place in a frozen value: its state and its data."""

    state: str
    data: Any


Calls: TypeAlias = tuple[Callable[..., Any], ...]
Compiled: TypeAlias = tuple[Callable[..., bool] | None, Any, tuple[Calls, Calls] | None, Row]
"""One row: its guard, where to, what it assigns and emits (none if neither), and the row as it is written."""

_new = cast("Callable[[type[Step], tuple[Any, ...]], Step]", tuple.__new__)
"""Makes a :class:`Step` of its four values. ``Step(...)`` is one more call of Python: two dictionary lookups more."""


class Machine(Generic[D, S, E, M]):
    """A table whose names are bound. Immutable once made; share one among all sessions.

    Type checkers take states, events and emitted messages from the table: ``step`` accepts no state and no event that
    the machine does not have, and a ``match`` over its messages can be checked to be whole. ``Machine[Data]`` alone
    leaves all three open.
    """

    __slots__ = ("_born", "_cells", "_final", "create", "delays", "table", "states")

    def __init__(self, table: Table[S, E, M], bindings: Any, create: Callable[[Any], D]) -> None:
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
            cells[row.event] = (*cells.get(row.event, ()), _compile(table, row, bound))
        self._born = self._cells.pop("", {})

    def step(self, state: S, data: D, event: E) -> Step[D, S, M]:
        """Return what ``event`` does in ``state``. Changes nothing.

        Raises :class:`ClientError` for a client's event that the state refuses, and :class:`Defect` for one that
        it does not list.
        """
        try:
            rows = self._cells[state][event.__class__]
        except KeyError:
            return self._unlisted(state, data, event)
        for guard, to, calls, row in rows:
            if guard is None or guard(data, event):
                if calls is None:
                    return _new(Step, (to, data, (), row))
                assigns, builders = calls
                messages = builders and tuple([m for build in builders for m in build(data, event)])
                for assign in assigns:
                    data = assign(data, event)
                return _new(Step, (to, data, messages, row))
        raise Defect(f"{self.table.name}: no row of {state} fires on {event!r}")

    def born(self, event: Message) -> Step[D, S, M]:
        """Return the first step of an instance that ``event`` creates."""
        data = self.create(event)
        ((_, to, calls, row),) = self._born[event.__class__]
        builders = () if calls is None else calls[1]
        return Step(to, data, tuple([m for build in builders for m in build(data, event)]), row)

    def is_final(self, state: str) -> bool:
        """Say whether nothing more can happen in ``state``."""
        return state in self._final

    def delay(self, name: str, data: D, event: Message) -> str | float:
        """Return the name of a setting as it is, or the seconds that a bound delay gives."""
        bound = self.delays.get(name)
        return name if bound is None else float(bound(data, event))

    def _unlisted(self, state: S, data: D, event: E) -> Step[D, S, M]:
        if state not in self.states:
            raise Defect(f"{self.table.name}: there is no state {state!r}")
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


def _compile(table: Table, row: Row, bound: dict[str, Callable[..., Any]]) -> Compiled:
    guard = bound[row.guard] if row.guard else None
    assigns = tuple(bound[name] for name in row.assign)
    builders = tuple(bound[name] for name in row.emit)
    if row.refuse is not None:
        assigns = (_refusal(table.name, row.state, row.refuse),)
    return guard, row.to or row.state, (assigns, builders) if assigns or builders else None, row


def _refusal(machine: str, state: str, code: str) -> Callable[..., Any]:
    def refuse(data: Any, event: Message) -> NoReturn:
        raise ClientError(code, f"{code}: the {machine} is {state}")

    return refuse
