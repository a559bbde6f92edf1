"""Mutants that nobody wrote: every small thing that can go wrong in a row, in every row of the machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from interlock.machine import Cancelled, Machine, Row, Table
from interlock.proof.explore.mutant import Mutant


def generated(machines: Mapping[str, Machine[Any]]) -> list[Mutant]:
    """Return one mutant for each thing that a row does: dropped, or done the other way."""
    return [mutant for machine in machines.values() for mutant in _of_table(machine.table)]


def _of_table(table: Table) -> Iterator[Mutant]:
    for index, row in enumerate(table.rows):
        for says, changed in _changes(table, row):
            rows = [*table.rows[:index], *([changed] if changed is not None else []), *table.rows[index + 1 :]]
            yield _mutant(table, row, says, rows)


def _changes(table: Table, row: Row) -> Iterator[tuple[str, Row | None]]:
    if row.refuse is not None or row.ignore:
        return
    for number, name in enumerate(row.emit):
        yield f"drops {name}", replace(row, emit=row.emit[:number] + row.emit[number + 1 :])
    for number, name in enumerate(row.assign):
        yield f"drops {name}", replace(row, assign=row.assign[:number] + row.assign[number + 1 :])
    if row.guard is not None:
        yield f"forgets to ask {row.guard}", replace(row, guard=None)
    if row.to is not None and row.state:
        yield "stays", replace(row, to=None)
        yield from ((f"goes to {state}", replace(row, to=state)) for state in _others(table, row))
    if row.event is Cancelled:
        yield "has no landing", replace(row, to=None, emit=(), assign=())


def _others(table: Table, row: Row) -> list[str]:
    """Return another target: the next state of the file, so that one mutant of many stands for all."""
    names = [state.name for state in table.states]
    return [names[(names.index(str(row.to)) + 1) % len(names)]]


def _mutant(table: Table, row: Row, says: str, rows: list[Row]) -> Mutant:
    how = f" if {row.guard}" if row.guard else ""
    name = f"{table.name} {row.state or '(birth)'} {row.event.__name__}{how}: {says}"
    changed = replace(table, rows=tuple(rows))
    at = table.name, row.state, row.event.__name__
    return Mutant(name, name, f"{table.name}.toml", "", "", table=changed, at=at)
