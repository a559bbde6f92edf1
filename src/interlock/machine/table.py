"""Tables: what ``interlock tables`` generates, as plain frozen values.

A table is read by people in reviews and by :mod:`interlock.machine.bind` at import. Nothing here has behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias

from typing_extensions import TypeVar

from interlock.machine.message import Message

S = TypeVar("S", bound=str, default=Any)
E = TypeVar("E", bound=Message, default=Any)
M = TypeVar("M", bound=Message, default=Any)
"""The states of a machine, its events, and the messages that it emits: for type checkers, from generated tables."""

Kind: TypeAlias = Literal["rest", "awaiting", "shielded", "final"]
"""How a state looks in a drawing: at rest, with awaited work, with work that no cancel may cut, or over."""


@dataclass(frozen=True, slots=True)
class Row:
    """One transition: in ``state``, on ``event``, if ``guard`` holds.

    Without ``to`` the machine stays: no work stops and no timer moves. ``guard``, ``assign`` and ``emit`` are names.
    Guards and emits read the data as it was before the row; assignments chain, in order: each gets what the one before
    returned. ``refuse`` answers a client with a wire code and changes nothing; ``ignore`` drops in writing. The birth
    row of an instance has the empty state.
    """

    state: str
    event: type[Message]
    guard: str | None = None
    to: str | None = None
    assign: tuple[str, ...] = ()
    emit: tuple[str, ...] = ()
    rearm: tuple[tuple[type[Message], str], ...] = ()
    refuse: str | None = None
    ignore: bool = False


@dataclass(frozen=True, slots=True)
class Timeout:
    """Armed on entry to the state, gone on exit. ``after`` names a setting or a bound delay."""

    event: type[Message]
    after: str


@dataclass(frozen=True, slots=True)
class StateInfo:
    """What a state is, beside its rows."""

    name: str
    kind: Kind
    doc: str = ""
    work: str | None = None
    shielded: str | None = None
    timeouts: tuple[Timeout, ...] = ()


@dataclass(frozen=True, slots=True)
class Work:
    """The one awaited thing of a span of states: started on entering ``start``, retired on leaving the span."""

    name: str
    start: str
    span: tuple[str, ...]
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Table(Generic[S, E, M]):
    """A whole machine. ``settings`` are the ``after`` names that the runtime resolves; the other ones are bound."""

    name: str
    doc: str
    initial: str
    final: tuple[str, ...]
    states: tuple[StateInfo, ...]
    rows: tuple[Row, ...]
    events: tuple[type[Message], ...]
    work: tuple[Work, ...] = ()
    settings: tuple[str, ...] = ()
    stamps: tuple[str, ...] = ()
    per: str | None = None
    created_by: type[Message] | None = None
    limit: str | None = None
    source: str = ""
    sha256: str = ""
