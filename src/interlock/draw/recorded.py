"""What a recorded session was in: the states of its machines after its last record, or at a given time.

A trace is JSON lines, compressed or not; docs/replay.md has the format. One that still grows can be read too, because a
last line without an end is not looked at. Nothing of a trace is believed: what does not have the shape of a record, or
names a state that its machine does not have, is one clear line.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock.machine import Table
from interlock.spec.finding import Unusable

GZIP = b"\x1f\x8b"
CHUNK = 256 * 1024

SHOWN = 4
"""Instances that a state names; the others are counted."""

Now = dict[str, dict[str, str]]
"""Machine, then state, then the words that say who is in it."""


@dataclass(slots=True)
class Recording:
    """The states of one session, followed through a trace."""

    session: str
    cells: dict[tuple[str, str], str] = field(default_factory=dict)
    from_the_start: bool = True
    began: float = 0.0
    records: int = 0

    def follow(self, record: Mapping[str, Any], tables: Mapping[str, Table]) -> None:
        """Take one record of this session. Raises :class:`ValueError` for one that these machines cannot have made."""
        self.records += 1
        if "value" in record:
            self.cells.clear()
            for machine, key, state, *_ in record["value"]["cells"]:
                self._enter(machine, key, tables, state, state)
            self.from_the_start = False
        for row in record.get("rows", ()):
            self._enter(row["machine"], row.get("key"), tables, row["from"], row["to"])

    def _enter(self, machine: str, key: object, tables: Mapping[str, Table], old: str, new: str) -> None:
        if machine not in tables or not new:
            return
        table = tables[machine]
        if unknown := {old, new} - {info.name for info in table.states} - {""}:
            raise ValueError(f"{machine} has no state {sorted(unknown)[0]!r}; is it of another version?")
        address = machine, "" if key is None else str(key)
        if address not in self.cells and table.created_by is None and old != table.initial:
            self.from_the_start = False
        if table.per and new in table.final:
            self.cells.pop(address, None)
        else:
            self.cells[address] = new

    def now(self, tables: Mapping[str, Table]) -> Now:
        """Return who is in which state. A machine that no row names has not moved, if the trace has the beginning."""
        found: dict[str, dict[str, list[str]]] = {}
        for (machine, key), state in self.cells.items():
            found.setdefault(machine, {}).setdefault(state, []).append(key)
        for name, table in tables.items():
            if name not in found and table.created_by is None and self.from_the_start:
                found[name] = {table.initial: [""]}
        return {name: {state: words(keys) for state, keys in states.items()} for name, states in found.items()}


def words(keys: list[str]) -> str:
    """Return how a state says who is in it."""
    named = [key for key in keys if key]
    if not named:
        return "now"
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    return f"now: {', '.join(named[:SHOWN])}{more}"


def recorded(path: Path, session: str | None, at: str | None, tables: Mapping[str, Table]) -> Now:
    """Return the states of ``session`` in the trace at ``path``, a file or a folder of them, at ``at`` or the end.

    ``at`` is the time as records have it, or with a plus sign the seconds since the session's first record. Without
    ``session`` the trace must have one only. Raises :class:`Unusable` for what is no trace.
    """
    found: dict[str, Recording] = {}
    for place, record in _records(path):
        try:
            name, when = str(record["session"]), float(record["at"])
            one = found.setdefault(name, Recording(name, began=when))
            if at is None or when <= _end(at, one.began):
                one.follow(record, tables)
        except (KeyError, TypeError, ValueError, AttributeError) as wrong:
            raise Unusable(f"{place}: not a record of a trace: {_reason(wrong)}") from None
    return _chosen(path, found, session, at).now(tables)


def _end(at: str, began: float) -> float:
    return float(at) + (began if at.startswith("+") else 0.0)


def _reason(wrong: Exception) -> str:
    return f"{wrong} is missing" if isinstance(wrong, KeyError) else " ".join(str(wrong).split())


def _chosen(path: Path, found: Mapping[str, Recording], session: str | None, at: str | None) -> Recording:
    name = next(iter(found)) if session is None and len(found) == 1 else session
    if name is None or name not in found:
        known = ", ".join(repr(one) for one in list(found)[:6]) or "none"
        what = "say which with --session" if name is None else f"no session {name!r}"
        raise Unusable(f"{path}: {what}; the trace has {known}{' and more' if len(found) > 6 else ''}")
    if not found[name].records:
        raise Unusable(f"{path}: {name!r} has no record up to {at} s")
    return found[name]


def _records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for file in _files(path):
        for number, line in enumerate(_lines(file), 1):
            place = f"{file}:{number}"
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                raise Unusable(f"{place}: not JSON") from None
            if not isinstance(record, dict):
                raise Unusable(f"{place}: not a record of a trace")
            if "trace" not in record and "end" not in record:
                yield place, record


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    inside = [*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")]
    return sorted(inside, key=lambda file: (len(file.name.removesuffix(".gz")), file.name))


def _lines(file: Path) -> Iterator[bytes]:
    """Yield the whole lines of a file; where it is compressed, of as much as there is of it."""
    rest = b""
    try:
        with file.open("rb") as opened:
            gzip = zlib.decompressobj(wbits=31) if opened.read(2) == GZIP else None
            opened.seek(0)
            while chunk := opened.read(CHUNK):
                *whole, rest = (rest + (gzip.decompress(chunk) if gzip else chunk)).split(b"\n")
                yield from whole
    except OSError as wrong:
        raise Unusable(f"{file}: cannot be read: {wrong.strerror}") from None
    except zlib.error:
        raise Unusable(f"{file}: is damaged: it cannot be decompressed") from None
