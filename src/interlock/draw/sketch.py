"""What a drawing says, before anyone thinks of shapes: the arrows of a table, and the words inside each state.

Rows that lead to another state are arrows; arrows between the same two states are one, and causes that emit the same
share it. Rows that stay, or enter their own state anew, are words inside the state: a drawing shows movement and hides
nothing, except that assignments are left to the table where something is emitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from interlock.machine import Cancelled, Row, StateInfo, Table

Voice: TypeAlias = Literal["event", "timer", "cancel", "birth"]
"""Why a row fires: something came, time passed, the caller was cancelled, or the instance is created."""


class Cause(NamedTuple):
    """Why one row fires: ``after grace_s: GraceExpired [is_idle]``."""

    voice: Voice
    text: str


class Group(NamedTuple):
    """Rows from one state to another that emit the same."""

    causes: tuple[Cause, ...]
    emits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """All rows from one state to another; cancels have their own. ``start`` is empty for the birth."""

    start: str
    end: str
    cancels: bool
    groups: tuple[Group, ...]


def arrows(table: Table) -> tuple[Arrow, ...]:
    """Return the arrows of ``table``, in the order of its rows."""
    found: dict[tuple[str, str, bool], dict[tuple[str, ...], list[Cause]]] = {}
    if table.created_by is None:
        found["", table.initial, False] = {}
    for row in table.rows:
        if row.to is not None and row.to != row.state:
            groups = found.setdefault((row.state, row.to, row.event is Cancelled), {})
            groups.setdefault(row.emit, []).append(cause(table, row))
    return tuple(
        Arrow(*ends, tuple(Group(tuple(groups[emits]), emits) for emits in _silent_last(groups)))
        for ends, groups in found.items()
    )


def _silent_last(groups: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Put causes that emit nothing behind the others, so that they do not seem to share what follows."""
    return sorted(groups, key=lambda emits: not emits)


def cause(table: Table, row: Row) -> Cause:
    """Return why ``row`` fires."""
    cell = [other for other in table.rows if (other.state, other.event) == (row.state, row.event)]
    guard = row.guard or ("else" if len(cell) > 1 else "")
    voice, text = _voiced(table, row)
    return Cause(voice, f"{text}\u00a0[{guard}]" if guard else text)


def _voiced(table: Table, row: Row) -> tuple[Voice, str]:
    name = row.event.__name__
    if not row.state:
        return "birth", name
    if row.event is Cancelled:
        return "cancel", "cancel"
    for timeout in _info(table, row.state).timeouts:
        if timeout.event is row.event:
            return "timer", f"after {timeout.after}: {name}"
    return "event", name


def _info(table: Table, state: str) -> StateInfo:
    return next(info for info in table.states if info.name == state)


def words(table: Table, info: StateInfo) -> tuple[str, ...]:
    """Return what is written inside a state, under its name: its work, and every row that leads nowhere else."""
    return *standing(info), *staying(table, [row for row in table.rows if row.state == info.name])


def standing(info: StateInfo) -> tuple[str, ...]:
    """Return what a state says of itself, whatever happens in it."""
    said = [f"awaits {info.work}"] if info.work else []
    return tuple(said + ([f"shielded: {info.shielded}"] if info.shielded else []))


def staying(table: Table, rows: Iterable[Row]) -> tuple[str, ...]:
    """Return what those of ``rows`` say, which are rows of one state, that lead nowhere else."""
    stay = [row for row in rows if row.to in (None, row.state)]
    idle = [row for row in stay if not (row.ignore or row.refuse or _deeds(row))]
    said = [f"{cause(table, row).text} / {deeds}" for row in stay if (deeds := _deeds(row))]
    said += _together("stays on", (cause(table, row).text for row in idle))
    said += _refusals(table, stay)
    said += _together("ignores", (row.event.__name__ for row in stay if row.ignore))
    return tuple(said)


def _deeds(row: Row) -> str:
    """Return what a row does that does not go elsewhere; assignments where it emits nothing."""
    parts = [f"re-enter {row.to}"] if row.to is not None else []
    parts += [*(row.emit or row.assign)]
    parts += [f"rearm {event.__name__} after {after}" for event, after in row.rearm]
    return ", ".join(parts)


def _refusals(table: Table, rows: list[Row]) -> Iterator[str]:
    by_code: dict[str, list[str]] = {}
    for row in rows:
        if row.refuse is not None:
            by_code.setdefault(row.refuse, []).append(cause(table, row).text)
    for code, events in by_code.items():
        yield f"refuses {', '.join(events)}: {code}"


def _together(verb: str, names: Iterator[str]) -> list[str]:
    inside = ", ".join(names)
    return [f"{verb} {inside}"] if inside else []
