"""A table as a machine of the library ``transitions``: for those who have it, and as the oracle of our tests.

``transitions`` is another engine by other people. Given the same table it must be in the same state, with the same
data, by the same row, after the same events; where it is not, one of the two is wrong. It is imported when it is
asked for, and nothing that runs a session asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, cast

from interlock.errors import ClientError
from interlock.machine.bind import D, bound_names
from interlock.machine.message import Cancelled, Message
from interlock.machine.table import Row, Table

if TYPE_CHECKING:
    from transitions import EventData, Machine

Call = Callable[..., Any]


class Mirror(Generic[D]):
    """The model of a ``transitions`` machine: ``state`` is what the library sets, the rest is what a step returns."""

    state: str

    def __init__(self, data: D) -> None:
        self.data = data
        self.messages: tuple[Message, ...] = ()
        self.row: Row | None = None


def to_transitions(table: Table, bindings: Any, data: D) -> tuple[Machine, Mirror[D]]:
    """Return ``table`` as a machine of ``transitions``, and its model, which begins in the initial state.

    ``bindings`` is the generated ``Bindings``, or any object that has the names of the table. Trigger an event with
    ``model.trigger("TransportLost", event)``. A row without ``to`` becomes an internal transition (``dest=None``), one
    to its own state a reflexive one (``"="``); a guard becomes a condition; a row that refuses raises
    :class:`ClientError`. Timers, work and births have no counterpart: they are what the table's owner runs.
    """
    from transitions import Machine

    bound: dict[str, Call] = {name: getattr(bindings, name) for name in bound_names(table)}
    mirror = Mirror(data)
    machine = Machine(
        mirror,
        states=[{"name": info.name, "final": info.name in table.final} for info in table.states],
        initial=table.initial,
        auto_transitions=False,
        send_event=True,
    )
    for row in (*table.rows, *_unheard(table)):
        if row.state:
            machine.add_transition(**_transition(row, bound))
    return machine, mirror


def _transition(row: Row, bound: dict[str, Call]) -> dict[str, Any]:
    dest = "=" if row.to == row.state else row.to
    conditions = [_asking(bound[row.guard])] if row.guard else []
    take = _refusing(row) if row.refuse is not None else _taking(row, bound)
    return {
        "trigger": row.event.__name__,
        "source": row.state,
        "dest": dest,
        "conditions": conditions,
        "before": take,
    }


def _asking(guard: Call) -> Call:
    return lambda heard: guard(heard.model.data, heard.args[0])


def _taking(row: Row, bound: dict[str, Call]) -> Call:
    """Emit from the data before the row, then assign in order, as :meth:`interlock.machine.Machine.step` does."""
    builders, assigns = [bound[name] for name in row.emit], [bound[name] for name in row.assign]

    def take(heard: EventData) -> None:
        mirror, (event,) = cast("Mirror[Any]", heard.model), heard.args
        messages = tuple(message for build in builders for message in build(mirror.data, event))
        for assign in assigns:
            mirror.data = assign(mirror.data, event)
        mirror.messages, mirror.row = messages, row

    return take


def _refusing(row: Row) -> Call:
    def refuse(heard: EventData) -> None:
        raise ClientError(row.refuse or "")

    return refuse


def _unheard(table: Table) -> Iterator[Row]:
    """Yield what our step does without a row: nothing, in a final state, and with a cancel that meets no work."""
    listed = {(row.state, row.event) for row in table.rows}
    for info in table.states:
        heard = {*table.events, Cancelled} if info.name in table.final else {Cancelled} if info.work is None else set()
        yield from (Row(info.name, event, ignore=True) for event in heard if (info.name, event) not in listed)
