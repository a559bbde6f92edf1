"""What a trace is held against: the tables of this version, or another version of the machines, with a state map."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeAlias

from interlock.machine import Composition, Message
from interlock.observe.record import Scribe
from interlock.proof.replay_finding import Unusable
from interlock.session.decide import COMPOSITION, Decision, decide
from interlock.session.value import Value

Decide: TypeAlias = Callable[[Value, Message], Decision]

StateMap: TypeAlias = Mapping[tuple[str, str], str]
"""(machine, state of the trace) to the state that took its place."""


@dataclass(frozen=True)
class Target:
    """Machines to replay with. ``label`` says which they are."""

    composition: Composition = COMPOSITION
    label: str = "the tables of this version"
    states: StateMap = field(default_factory=dict)

    @cached_property
    def decide(self) -> Decide:
        """Return ``decide`` over these machines."""
        return partial(decide, composition=self.composition)

    @cached_property
    def scribe(self) -> Scribe:
        """Return what writes lines about these machines."""
        return Scribe(self.composition)

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Return the hash of each machine's source."""
        return {name: machine.table.sha256 for name, machine in self.composition.machines.items()}

    @cached_property
    def timers(self) -> frozenset[type[Message]]:
        """Return the events that only a timer sends."""
        tables = [machine.table for machine in self.composition.machines.values()]
        return frozenset(timeout.event for table in tables for info in table.states for timeout in info.timeouts)

    def version_of(self, hashes: Mapping[str, str], states: Mapping[str, Iterable[str]]) -> Version:
        """Compare these machines with those that a trace was recorded under."""
        changed = {name: (hashes.get(name, ""), now) for name, now in self.hashes.items() if hashes.get(name) != now}
        gone = [
            (name, state)
            for name in states
            if name in self.composition.machines
            for state in states[name]
            if state not in self.composition.machines[name].states and (name, state) not in self.states
        ]
        lost = tuple(name for name in self.hashes if name not in hashes)
        return Version(changed, frozenset(gone), lost)


@dataclass(frozen=True, slots=True)
class Version:
    """How the machines of a trace differ from those that it is held against.

    ``changed`` has the two hashes of each machine that differs; ``gone`` the states that are no more, and are not
    mapped; ``new`` the machines that the trace does not know.
    """

    changed: Mapping[str, tuple[str, str]]
    gone: frozenset[tuple[str, str]]
    new: tuple[str, ...] = ()

    def refuse(self, met: Set[tuple[str, str]], label: str) -> None:
        """Raise :class:`Unusable` if a trace is in a state that is no more."""
        if not (met := met & self.gone):
            return
        gone, others = _listed(met), self.gone - met
        also = f"; {_listed(others)} {'is' if len(others) == 1 else 'are'} gone, too" if others else ""
        example = f'{gone.partition(",")[0]} = "..."'
        how = f"say with --state-map what took its place, as in {example}"
        raise Unusable(f"the trace is in {gone}, which {label} do not have{also}; {how}")

    def __str__(self) -> str:
        named = [f"{name} ({old[:8] or 'none'}, now {now[:8]})" for name, (old, now) in self.changed.items()]
        return ", ".join(named)


def _listed(states: Set[tuple[str, str]]) -> str:
    return ", ".join(sorted(f"{machine}.{state}" for machine, state in states))


def renamed(record: dict[str, Any], states: StateMap) -> dict[str, Any]:
    """Return a record with its states by their new names."""
    if not states:
        return record
    new = dict(record)
    if isinstance(rows := record.get("rows"), list):
        new["rows"] = [_row(row, states) if isinstance(row, dict) else row for row in rows]
    if isinstance(value := record.get("value"), dict) and isinstance(cells := value.get("cells"), list):
        new["value"] = {**value, "cells": [_cell(cell, states) for cell in cells]}
    return new


def _row(row: dict[str, Any], states: StateMap) -> dict[str, Any]:
    machine = str(row.get("machine"))
    ends: dict[str, Any] = {end: states.get((machine, str(row[end])), row[end]) for end in ("from", "to") if end in row}
    return {**row, **ends}


def _cell(cell: Any, states: StateMap) -> Any:
    if not isinstance(cell, list) or len(cell) != 4:
        return cell
    machine, key, state, data = cell
    return [machine, key, states.get((str(machine), str(state)), state), data]


def visited(record: dict[str, Any]) -> set[tuple[str, str]]:
    """Return the states, with their machines, that a record names."""
    rows = [row for row in _items(record.get("rows")) if isinstance(row, dict)]
    found = {(str(row.get("machine")), str(row.get(end))) for row in rows for end in ("from", "to")}
    value = record.get("value")
    cells = _items(value.get("cells")) if isinstance(value, dict) else []
    return found | {(str(cell[0]), str(cell[2])) for cell in cells if isinstance(cell, list) and len(cell) == 4}


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
