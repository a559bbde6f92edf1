"""A table written by hand: one pump that exists once, and the valves that it opens."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass, replace
from typing import Any, ClassVar

from interlock.machine import (
    Cancelled,
    Cascade,
    Cell,
    Cells,
    Composition,
    Machine,
    Message,
    Row,
    StateInfo,
    Table,
    Timeout,
    Work,
)


@dataclass(frozen=True, slots=True)
class Start(Message):
    machine: ClassVar[str] = "pump"
    facts: ClassVar[tuple[str, ...]] = ("open_valves",)
    amount: int
    open_valves: int = 0


@dataclass(frozen=True, slots=True)
class Started(Message):
    machine: ClassVar[str] = "pump"
    stamps: ClassVar[tuple[str, ...]] = ("run",)
    run: int


@dataclass(frozen=True, slots=True)
class Tick(Message):
    machine: ClassVar[str] = "pump"


@dataclass(frozen=True, slots=True)
class Stop(Message):
    machine: ClassVar[str] = "pump"


@dataclass(frozen=True, slots=True)
class ValveWanted(Message):
    machine: ClassVar[str] = "valve"
    key: ClassVar[str] = "number"
    number: int


@dataclass(frozen=True, slots=True)
class ValveShut(Message):
    machine: ClassVar[str] = "valve"
    key: ClassVar[str] = "number"
    number: int


@dataclass(frozen=True, slots=True)
class Log(Message):
    text: str


PUMP = Table(
    name="pump",
    doc="Pumps.",
    initial="IDLE",
    final=("GONE",),
    states=(
        StateInfo("IDLE", "rest"),
        StateInfo("STARTING", "awaiting", work="Spin", timeouts=(Timeout(Tick, "start_s"),)),
        StateInfo("RUNNING", "awaiting", work="Spin", timeouts=(Timeout(Tick, "tick_after"),)),
        StateInfo("GONE", "final"),
    ),
    rows=(
        Row("IDLE", Start, guard="is_much", to="STARTING", assign=("add", "count"), emit=("Log", "ValveWanted", "Log")),
        Row("IDLE", Start, assign=("add",)),
        Row("IDLE", Stop, refuse="not_running"),
        Row("IDLE", Started, ignore=True),
        Row("STARTING", Cancelled, to="IDLE", emit=("Log",)),
        Row("STARTING", Started, to="RUNNING"),
        Row("STARTING", Start, to="STARTING", assign=("count",)),
        Row("STARTING", Tick, to="IDLE"),
        Row("RUNNING", Cancelled),
        Row("RUNNING", Start, emit=("Log",)),
        Row("RUNNING", Tick, rearm=((Tick, "tick_after"),)),
        Row("RUNNING", Started, guard="is_much", to="IDLE"),
        Row("RUNNING", Stop, to="GONE", emit=("ValveShut",)),
    ),
    events=(Start, Started, Tick, Stop, Cancelled),
    work=(Work("Spin", "STARTING", ("STARTING", "RUNNING")),),
    settings=("start_s",),
    stamps=("run",),
)

VALVE = Table(
    name="valve",
    doc="Lets through.",
    initial="OPEN",
    final=("SHUT",),
    states=(StateInfo("OPEN", "rest"), StateInfo("SHUT", "final")),
    rows=(
        Row("", ValveWanted, to="OPEN", emit=("Log",)),
        Row("OPEN", ValveShut, to="SHUT", emit=("Log",)),
    ),
    events=(ValveWanted, ValveShut),
    per="number",
    created_by=ValveWanted,
    limit="max_valves",
)


@dataclass(frozen=True)
class Pump:
    """How often it was started, how much it shall pump, and how long a tick is."""

    run: int = 0
    amount: int = 0
    tick_s: float = 1.0


PUMP_NAMES: dict[str, Callable[..., Any]] = {
    "is_much": lambda data, event: getattr(event, "amount", 0) > data.amount,
    "add": lambda data, event: replace(data, amount=data.amount + event.amount),
    "count": lambda data, event: replace(data, run=data.run + 1),
    "Log": lambda data, event: (Log(f"run {data.run} amount {data.amount}"),),
    "ValveWanted": lambda data, event: tuple(ValveWanted(number) for number in range(event.amount)),
    "ValveShut": lambda data, event: (ValveShut(0), ValveShut(1)),
    "tick_after": lambda data, event: data.tick_s,
}
VALVE_NAMES: dict[str, Callable[..., Any]] = {
    "Log": lambda data, event: (Log(f"valve {event.number} {type(event).__name__}"),),
}


def bound(table: Table, names: dict[str, Callable[..., Any]], data: Any) -> Machine[Any]:
    """Bind ``names`` as the generated ``Bindings`` would."""
    return Machine(table, make_dataclass("Bindings", names)(**names), lambda _: data)


def pump(tick_s: float = 1.0) -> Machine[Any]:
    """Return the pump's machine."""
    return bound(PUMP, PUMP_NAMES, Pump(tick_s=tick_s))


def valve() -> Machine[Any]:
    """Return the valves' machine."""
    return bound(VALVE, VALVE_NAMES, None)


BOTH = Composition(pump(), valve())


def at(state: str, **data: Any) -> dict[tuple[str, Any], Cell]:
    """Return the cells of a composition whose pump is in ``state``."""
    return {("pump", None): Cell(state, Pump(**data))}


def facts(cells: Cells, message: Message) -> Message:
    """Fill in the one fact that there is."""
    assert isinstance(message, Start)
    return replace(message, open_valves=sum(name == "valve" for name, _ in cells))


def run(cells: Cells, event: Message, max_valves: int = 3) -> Cascade:
    """Run one event to completion."""
    return BOTH.run(cells, event, facts, {"max_valves": max_valves})


NEVER = math.inf
