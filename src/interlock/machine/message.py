"""Messages: what machines take and what they emit. All are frozen, slotted dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

Key: TypeAlias = str | int | None
"""Which instance of a machine: a request id, an epoch, or ``None`` for a machine that exists once."""

Address: TypeAlias = tuple[str, Key]
"""(machine, key): the one place where a message is delivered."""


class Message:
    """A fact for one machine, or a command for the runtime. Subclasses are generated from ``machines/*.toml``."""

    __slots__ = ()
    machine: ClassVar[str] = ""
    """The machine that takes it; empty for an effect, which the runtime performs."""
    key: ClassVar[str] = ""
    """The field that names the instance; empty when the machine exists once."""
    stamps: ClassVar[tuple[str, ...]] = ()
    """Fields that must equal the same-named fields of the instance's data; otherwise the message is stale."""
    facts: ClassVar[tuple[str, ...]] = ()
    """Fields that the router fills in from other machines, directly before the step."""
    secrets: ClassVar[tuple[str, ...]] = ()
    """Fields that no trace and no log may show."""


@dataclass(frozen=True, slots=True)
class Cancelled(Message):
    """The caller that waits for a machine's work was cancelled. ``stamp`` is the generation it was waiting for."""

    target: str
    instance: Key = None
    stamp: int = 0


@dataclass(frozen=True, slots=True)
class StartWork(Message):
    """Entering the ``from`` state of a work span: the runtime starts the awaited thing anew."""

    target: str
    instance: Key
    work: str


@dataclass(frozen=True, slots=True)
class StopWork(Message):
    """Leaving a work span: whatever still runs of it is retired, and its result will be stale."""

    target: str
    instance: Key
    work: str


@dataclass(frozen=True, slots=True)
class ArmTimer(Message):
    """Entering a state with a timeout. ``after`` is the name of a setting, or seconds."""

    target: str
    instance: Key
    event: type[Message]
    after: str | float


@dataclass(frozen=True, slots=True)
class DisarmTimer(Message):
    """Leaving a state with a timeout."""

    target: str
    instance: Key
    event: type[Message]
