"""Two engines, one table: on random events `transitions` and our step agree in state, data, messages and row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, make_dataclass
from typing import Any, cast

import pytest
import transitions
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.errors import ClientError, Defect
from interlock.machine import Cancelled, Machine, Message, Row, StateInfo, Table, Work, bound_names
from interlock.machine.oracle import Mirror, to_transitions
from interlock.tables import TABLES
from tests.machine.toy import PUMP, PUMP_NAMES, Pump, Start, Started, Stop, Tick

Data = tuple[str, ...]
"""What the assignments did so far, in order."""


Heard = tuple[type[Message], frozenset[str]]
"""An event, and the guards that say yes to it."""


@dataclass(frozen=True)
class Said(Message):
    """What a builder made, and of which data."""

    name: str
    data: Data


def names(table: Table, yes: set[str]) -> dict[str, Callable[..., Any]]:
    """Bind every name of a table to a function that leaves a trace; guards hold while they are among ``yes``."""
    bound: dict[str, Callable[..., Any]] = dict.fromkeys(bound_names(table), lambda data, event: 1.0)
    for row in table.rows:
        if row.guard:
            bound[row.guard] = lambda data, event, name=row.guard: name in yes
        bound |= {name: lambda data, event, name=name: (*data[-3:], name) for name in row.assign}
        bound |= {name: lambda data, event, name=name: (Said(name, data),) for name in row.emit}
    return bound


def event_of(kind: type[Message]) -> Message:
    """Return an event whose fields hold nothing, because nothing here reads them."""
    made: Any = kind
    return cast("Message", made(**{field.name: None for field in fields(made)} if is_dataclass(made) else {}))


def ours(machine: Machine[Any], state: str, data: Any, event: Any) -> tuple[Any, ...]:
    """Return what our step does; where it refuses or rejects, that, and everything as it was."""
    try:
        step = machine.step(state, data, event)
    except ClientError as refused:
        return state, data, refused.code
    except Defect:
        return state, data, "rejected"
    return step.state, step.data, step.messages, step.row


def theirs(mirror: Mirror[Any], event: Any) -> tuple[Any, ...]:
    """Return the same of the other engine."""
    try:
        taken = mirror.trigger(event.__class__.__name__, event)  # type: ignore[attr-defined]
    except ClientError as refused:
        return mirror.state, mirror.data, refused.code
    except (transitions.MachineError, AttributeError):
        return mirror.state, mirror.data, "rejected"
    if not taken:
        return mirror.state, mirror.data, "rejected"
    return mirror.state, mirror.data, mirror.messages, mirror.row


def agree(table: Table, events: list[Heard]) -> None:
    """Feed both engines the same events, and compare after each."""
    yes: set[str] = set()
    bound = names(table, yes)
    bindings = make_dataclass("Bindings", bound)(**bound)
    machine = Machine(table, bindings, lambda event: ())
    _, mirror = to_transitions(table, bindings, ())
    state: str = table.initial
    data: Data = ()
    for kind, answers in events:
        yes.clear()
        yes.update(answers)
        after = ours(machine, state, data, event_of(kind))
        assert theirs(mirror, event_of(kind)) == after
        state, data = after[:2]


def heard(table: Table) -> st.SearchStrategy[list[Heard]]:
    """Generate events of a table, each with the guards that say yes."""
    guards = sorted({row.guard for row in table.rows if row.guard})
    kinds = sorted({*table.events, Cancelled}, key=lambda kind: kind.__name__)
    answers = st.frozensets(st.sampled_from(guards)) if guards else st.just(frozenset[str]())
    return st.lists(st.tuples(st.sampled_from(kinds), answers), max_size=30)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_both_engines_agree_on_our_machines(table: Table, data: st.DataObject) -> None:
    agree(table, data.draw(heard(table)))


KINDS = [type(f"Event{at}", (Message,), {"__slots__": ()}) for at in range(4)]
STATES = ("A", "B", "C", "D")


@st.composite
def rows(draw: st.DrawFn, state: str, event: type[Message]) -> list[Row]:
    """Generate a cell: rows with guards, and perhaps a last one without."""
    some = st.lists(st.sampled_from(["do_a", "do_b"]), max_size=2).map(tuple)
    said = st.lists(st.sampled_from(["SayA", "SayB"]), max_size=2).map(tuple)
    targets = st.sampled_from([None, *STATES])
    guards = draw(st.lists(st.sampled_from(["is_a", "is_b", "is_c"]), max_size=2))
    cell = [Row(state, event, guard=name, to=draw(targets), assign=draw(some), emit=draw(said)) for name in guards]
    last = draw(st.sampled_from(["", "row", "refuse", "ignore"]))
    if last == "row":
        cell.append(Row(state, event, to=draw(targets), assign=draw(some), emit=draw(said)))
    elif last:
        cell.append(Row(state, event, refuse="no") if last == "refuse" else Row(state, event, ignore=True))
    return cell


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Generate a table of four states; the last is final, two may await work."""
    listed = tuple(row for state in STATES[:3] for event in (*KINDS, Cancelled) for row in draw(rows(state, event)))
    work = draw(st.sampled_from([None, "Wait"]))
    infos = [StateInfo(name, "rest", work=work if name in "BC" else None) for name in STATES]
    spans = (Work("Wait", "B", ("B", "C")),) if work else ()
    return Table("random", "", "A", ("D",), tuple(infos), listed, (*KINDS, Cancelled), work=spans)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_both_engines_agree_on_random_machines(data: st.DataObject) -> None:
    table = data.draw(tables())
    agree(table, data.draw(heard(table)))


def test_a_disagreement_would_be_seen() -> None:
    wrong = Table(
        "wrong", "", "A", (), (StateInfo("A", "rest"), StateInfo("B", "rest")), (Row("A", KINDS[0], to="B"),), ()
    )
    _, mirror = to_transitions(wrong, object(), ())
    assert theirs(mirror, KINDS[0]())[0] == "B"
    assert theirs(mirror, KINDS[0]())[2] == "rejected"


def test_a_stay_row_is_internal_and_a_self_transition_reflexive() -> None:
    machine, mirror = to_transitions(PUMP, make_dataclass("B", PUMP_NAMES)(**PUMP_NAMES), Pump())
    dests = [arrow.dest for arrow in machine.get_transitions("Start", source="STARTING")]
    assert dests == ["STARTING"]
    assert [arrow.dest for arrow in machine.get_transitions("Tick", source="RUNNING")] == [None]
    assert machine.states["GONE"].final
    for event in (Start(3), Started(1), Tick()):
        mirror.trigger(type(event).__name__, event)  # type: ignore[attr-defined]
    assert (mirror.state, mirror.data) == ("RUNNING", Pump(run=1, amount=3))
    assert not mirror.trigger("Started", Started(1))  # type: ignore[attr-defined]
    mirror.trigger("Stop", Stop())  # type: ignore[attr-defined]
    assert mirror.state == "GONE"
