"""Where two records part: the recorded one and the one that the tables make, in the order in which things happened."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Literal

from interlock.machine import Row, Taken
from interlock.proof.replay_finding import Difference

Plain = Mapping[str, Any]

IN_ORDER = ("machine", "key", "from", "to", "event", "row")
"""Fields of a delivery: who, from where and to where say more than by which row."""

JOURNAL = ("head", "handed", "trimmed")


def difference(theirs: Plain, ours: Plain, taken: Sequence[Taken], changed: Collection[str]) -> Difference | None:
    """Return the first difference, or none. Rows of the machines in ``changed`` have other numbers, which say nothing.

    ``taken`` are the deliveries that the tables make, and tell what ours came from.
    """
    if ("refused" in theirs) != ("refused" in ours):
        return _refused(theirs, ours)
    found = _rows(_list(theirs, "rows"), _list(ours, "rows"), taken, changed)
    return found or _effects(_list(theirs, "effects"), _list(ours, "effects")) or _rest(theirs, ours)


def _refused(theirs: Plain, ours: Plain) -> Difference:
    return Difference("record", 0, "", "refused", theirs.get("refused", "it taken"), ours.get("refused", "it is taken"))


def _list(record: Plain, name: str) -> list[Any]:
    found = record.get(name, [])
    return found if isinstance(found, list) else [found]


def _rows(theirs: list[Any], ours: list[Any], taken: Sequence[Taken], changed: Collection[str]) -> Difference | None:
    for number, (their, our) in enumerate(zip_longest(theirs, ours), 1):
        by = told_by(taken[number - 1]) if number <= len(taken) else ""
        if not isinstance(their, dict) or our is None:
            who = _who(our if our is not None else their)
            return Difference("row", number, who, "", _delivery(their), _delivery(our), by)
        for name in IN_ORDER:
            if name == "row" and our["machine"] in changed and ("row" in their) == ("row" in our):
                continue
            if their.get(name, _ABSENT) != our.get(name, _ABSENT):
                return _field("row", number, _who(our), name, their.get(name, _ABSENT), our.get(name, _ABSENT), by)
        if more := sorted(set(their) - set(IN_ORDER)):
            return Difference("row", number, _who(our), more[0], their[more[0]], _ABSENT, by)
    return None


def _effects(theirs: list[Any], ours: list[Any]) -> Difference | None:
    for number, (their, our) in enumerate(zip_longest(theirs, ours), 1):
        if their == our:
            continue
        if not isinstance(their, dict) or our is None or their.get("type") != our.get("type"):
            return Difference("effect", number, "", "", _message(their), _message(our))
        name = next(name for name in [*our, *their] if their.get(name, _ABSENT) != our.get(name, _ABSENT))
        trace, tables = their.get(name, _ABSENT), our.get(name, _ABSENT)
        return Difference("effect", number, str(our["type"]), name, trace, tables)
    return None


def _rest(theirs: Plain, ours: Plain) -> Difference | None:
    for name in dict.fromkeys([*ours, *theirs]):
        trace, tables = theirs.get(name, _ABSENT), ours.get(name, _ABSENT)
        if name not in ("rows", "effects", "crc") and trace != tables:
            return _field("record", 0, "", name, trace, tables, "")
    return None


def _field(
    part: Literal["row", "effect", "record"], number: int, who: str, name: str, trace: Any, tables: Any, by: str
) -> Difference:
    """Say where inside a field two values part, if both have the same shape."""
    if isinstance(trace, dict) and isinstance(tables, dict):
        inner = next(key for key in [*tables, *trace] if trace.get(key, _ABSENT) != tables.get(key, _ABSENT))
        pair = trace.get(inner, _ABSENT), tables.get(inner, _ABSENT)
        return _field(part, number, who, f"{name}.{inner}", *pair, by)
    if isinstance(trace, list) and isinstance(tables, list) and len(trace) == len(tables) and len(trace) > 0:
        index = next(index for index, pair in enumerate(zip(trace, tables, strict=True)) if pair[0] != pair[1])
        inner = JOURNAL[index] if name == "journal" and len(tables) == len(JOURNAL) else str(index)
        return _field(part, number, who, f"{name}.{inner}", trace[index], tables[index], by)
    return Difference(part, number, who, name, trace, tables, by)


class _Absent:
    """Stands for a field that is not there."""

    def __str__(self) -> str:
        return "nothing"

    __repr__ = __str__


_ABSENT = _Absent()


def _who(row: Any) -> str:
    if not isinstance(row, dict):
        return ""
    key = row.get("key")
    return str(row.get("machine")) if key is None else f"{row.get('machine')} {key}"


def _delivery(row: Any) -> str:
    if not isinstance(row, dict):
        return "no such delivery"
    event = row.get("event")
    return f"{_who(row)} take {event.get('type') if isinstance(event, dict) else event}"


def _message(effect: Any) -> str:
    if not isinstance(effect, dict):
        return "no such effect"
    fields = ", ".join(f"{name}={value!r}" for name, value in effect.items() if name != "type")
    return f"{effect.get('type')}({fields})"


def told_by(taken: Taken) -> str:
    """Say what a delivery came from: the row of the table, as a reader of the machine file knows it."""
    return f"{taken.address[0]}: {taken.message.__class__.__name__} is stale" if taken.row is None else row_text(taken)


def row_text(taken: Taken) -> str:
    """Say what a row is."""
    row: Row | None = taken.row
    assert row is not None
    guard = f" if {row.guard}" if row.guard else ""
    to = "is ignored" if row.ignore else f"goes to {row.to}" if row.to else "stays"
    return f"{taken.address[0]}: {row.state or 'birth'} on {row.event.__name__}{guard} {to}"
