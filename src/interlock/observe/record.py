"""One line of a trace: what a session was, what it took, and what it did. docs/replay.md has every key.

The recorder writes lines with this, and a replay writes the same lines again from what it has computed, so that the
two can be compared byte by byte. A line never has a field that a machine file calls secret; a resume only says which
of the session's tokens it presents. ``crc`` comes last and covers everything before it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec
from msgspec import UNSET, UnsetType

from interlock.machine import Composition, Key, Message, Taken
from interlock.observe.snapshot import snapshot
from interlock.session.credential import Credential, opens
from interlock.session.decide import Decision
from interlock.session.value import Value
from interlock.tables import SOURCES, TABLES
from interlock.tables import messages as m

FORMAT: Final = 2

Presented: TypeAlias = Literal["current", "presented", "unknown"]
"""Which token a resume brings: the one issued last, the one whose claim issued that, or another."""


class Row(msgspec.Struct, frozen=True, gc=False, rename={"start": "from"}):
    """One delivery. No ``row`` means stale; ``None`` means that the state takes everything without a row."""

    machine: str
    key: Key
    event: Any
    start: str
    to: str
    row: int | UnsetType | None = UNSET


class Line(msgspec.Struct, gc=False):
    """One line, in the order of its keys. What has not happened is left out."""

    n: int
    at: float
    session: str
    event: Any = UNSET
    presents: Presented | UnsetType = UNSET
    refused: str | UnsetType = UNSET
    rows: list[Row] | UnsetType = UNSET
    effects: list[Any] | UnsetType = UNSET
    journal: Sequence[int] | UnsetType = UNSET
    stale: int | UnsetType = UNSET
    input: tuple[int, int] | UnsetType = UNSET
    closing: tuple[int, ...] | UnsetType = UNSET
    proved: bool | UnsetType = UNSET
    voided: dict[str, Any] | UnsetType = UNSET
    value: dict[str, Any] | UnsetType = UNSET


def _named(value: object) -> str:
    """Encode what JSON does not have: of all things only types, which timers hold, and by their names."""
    if isinstance(value, type):
        return value.__name__
    raise TypeError(f"a trace has no way to show {type(value).__name__}")


encode: Final = msgspec.json.Encoder(enc_hook=_named).encode

Shown: TypeAlias = Callable[[Message], Any]


def shown(message: Message) -> Any:
    """Return a message as it is written: ``type`` first, then its fields, without the secret ones."""
    show = _SHOWN.get(type(message))
    if show is None:
        show = _SHOWN[type(message)] = _shower(type(message))
    return show(message)


_SHOWN: dict[type[Message], Shown] = {}


def _shower(kind: type[Message]) -> Shown:
    names = [field.name for field in fields(cast(Any, kind)) if field.name not in kind.secrets]
    twin: Any = msgspec.defstruct(kind.__name__, names, tag_field="type", tag=kind.__name__, gc=False)
    if not names:
        return lambda _: twin()
    read = attrgetter(*names)
    return (lambda message: twin(read(message))) if len(names) == 1 else (lambda message: twin(*read(message)))


def sealed(line: Line | dict[str, Any]) -> bytes:
    """Return a line as it is written, with its check sum."""
    body = encode(line)
    return b'%s,"crc":%d}\n' % (body[:-1], zlib.crc32(body))


def header_of(run: str, part: int) -> dict[str, Any]:
    """Return the first line of a file: the ``part``-th of a run, and the machines that it was recorded under."""
    states = {name: [info.name for info in table.states] for name, table in TABLES.items()}
    return {"trace": FORMAT, "run": run, "part": part, "tables": SOURCES, "states": states}


def is_sealed(line: bytes) -> bool:
    """Say whether a line is as it was written."""
    body, mark, crc = line.rpartition(b',"crc":')
    return bool(mark) and crc.rstrip(b"\n") == b"%d}" % zlib.crc32(body + b"}")


def presented(credential: Credential, event: m.ResumeRequested) -> Presented:
    """Return which token a resume brings, in the order in which the credential tries them."""
    if not opens(credential, event.token):
        return "unknown"
    return "current" if opens(Credential(credential.current), event.token) else "presented"


class Scribe:
    """Writes lines about sessions of one composition: rows are told by their numbers in its tables."""

    def __init__(self, composition: Composition) -> None:
        tables = [machine.table for machine in composition.machines.values()]
        self._tables = tables  # a row is known by its identity, which lasts as long as its table
        self._numbers = {id(row): number for table in tables for number, row in enumerate(table.rows)}

    def begun(self, at: float, value: Value) -> bytes:
        """Write what a session is, before the first event of it that a file has."""
        return sealed(Line(0, round(at, 6), value.session_id, value=snapshot(value)))

    def decided(self, n: int, at: float, before: Value, event: Message, decision: Decision) -> bytes:
        """Write what an event did."""
        line, value = _head(n, at, before, event), decision.value
        if decision.taken:
            line.rows = [self._row(taken) for taken in decision.taken]
        if decision.effects:
            line.effects = [shown(effect) for effect in decision.effects]
        line.journal = value.journal
        if value.stale != before.stale:
            line.stale = value.stale - before.stale
        if value.input_bytes != before.input_bytes or value.turns != before.turns:
            line.input = value.input_bytes, value.turns
        if value.closing is not before.closing and value.closing != before.closing:
            line.closing = value.closing
        if before.credential.presented is not None and value.credential.presented is None:
            line.proved = True
        return sealed(line)

    def refused(self, n: int, at: float, before: Value, event: Message, code: str) -> bytes:
        """Write what was asked for and refused."""
        line = _head(n, at, before, event)
        line.refused = code
        return sealed(line)

    def voided(
        self, n: int, at: float, session_id: str, through: int, unsent: Sequence[int], sent: Sequence[int]
    ) -> bytes:
        """Write which frames an interrupt freed."""
        void = {"through": through, "unsent": unsent, "sent": sent}
        return sealed(Line(n, round(at, 6), session_id, voided=void))

    def _row(self, taken: Taken) -> Row:
        machine, key = taken.address
        row = UNSET if taken.row is None else self._numbers.get(id(taken.row))
        return Row(machine, key, shown(taken.message), taken.state, taken.to, row)


def _head(n: int, at: float, before: Value, event: Message) -> Line:
    line = Line(n, round(at, 6), before.session_id, shown(event))
    if isinstance(event, m.ResumeRequested):
        line.presents = presented(before.credential, event)
    return line
