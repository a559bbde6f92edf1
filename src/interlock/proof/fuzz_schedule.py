"""A schedule: what the world does to the runtime, one event after the other, and nothing else that could differ.

Every list of events is a schedule. An event names an act and carries a number; the act does what it can with what
there is then, and nothing where there is nothing. So deleting events, and lowering numbers, always leaves a schedule,
which is all that a shrinker needs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from interlock.errors import WorldError

Kind: TypeAlias = Literal["flat", "sockets", "machines"]
KINDS: tuple[Kind, ...] = ("flat", "sockets", "machines")

MAX_EVENTS = 20
FORMAT = 1


class Unusable(WorldError):
    """An option or a file that the fuzzer can do nothing with. Whoever typed it mends it."""


class Event(NamedTuple):
    """One act. ``pick`` chooses among what exists; ``haste`` is 0 where everything comes to rest before the next one.

    Haste 1 goes on at once, 2 after one step of every task, 3 after three.
    """

    act: str
    pick: int = 0
    haste: int = 0

    def __str__(self) -> str:
        said = f"{self.act} {self.pick}" if self.pick else self.act
        return said + ("", ", at once", ", after one step", ", after three steps")[self.haste]


class Schedule(NamedTuple):
    """Events, the order in which trio runs tasks (a seed), and which of the worlds they happen in."""

    events: tuple[Event, ...]
    order: int = 0
    variant: int = 0


class Found(NamedTuple):
    """A schedule that breaks something, as it is kept in a file."""

    kind: Kind
    schedule: Schedule
    broken: tuple[str, ...]
    about: str = ""
    """What it was found with: a seed, a version; nothing that is needed to run it again."""
    machines: tuple[str, ...] = ()
    """For the kind ``machines``: the files."""


def as_text(found: Found) -> str:
    """Return the file of a schedule: JSON, one event a line."""
    schedule = found.schedule
    head = {"interlock_fuzz": FORMAT, "kind": found.kind, "order": schedule.order, "variant": schedule.variant}
    tail = {"broken": list(found.broken), "about": found.about, "machines": list(found.machines)}
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    events = ",\n".join(f"    {json.dumps(list(event))}" for event in schedule.events)
    lines.append(f'  "events": [\n{events}\n  ]' if events else '  "events": []')
    lines += [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in tail.items() if value]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def load(path: Path, acts: Sequence[str] = ()) -> Found:
    """Read the file of a schedule. Raises :class:`Unusable`, with the path and what is wrong."""
    try:
        given = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise Unusable(f"{path}: not JSON: {error}") from error
    try:
        return read(given)
    except ValueError as error:
        raise Unusable(f"{path}: {error}") from error


def read(given: Any) -> Found:
    """Make of JSON what :func:`as_text` wrote. Raises ``ValueError`` that names the field."""
    if not isinstance(given, dict) or given.get("interlock_fuzz") != FORMAT:
        raise ValueError(f'no schedule: it begins with "interlock_fuzz": {FORMAT}')
    kind = next((known for known in KINDS if known == given.get("kind")), None)
    if kind is None:
        raise ValueError(f'"kind" is one of {", ".join(KINDS)}, and not {given.get("kind")!r}')
    events = given.get("events")
    if not isinstance(events, list):
        raise ValueError('"events" is a list of [act, pick, haste]')
    order, variant = (_natural(given.get(name, 0), name) for name in ("order", "variant"))
    schedule = Schedule(tuple(_event(number, entry) for number, entry in enumerate(events, 1)), order, variant)
    return Found(kind, schedule, _words(given, "broken"), str(given.get("about", "")), _words(given, "machines"))


def _event(number: int, given: Any) -> Event:
    if not isinstance(given, list) or not 1 <= len(given) <= 3 or not isinstance(given[0], str):
        raise ValueError(f"event {number} is not [act, pick, haste]: {given!r}")
    pick, haste = (_natural(value, f"event {number}") for value in [*given[1:], 0, 0][:2])
    if haste > 3:
        raise ValueError(f"event {number}: haste is 0 to 3, and not {haste}")
    return Event(given[0], pick, haste)


def _natural(given: Any, what: str) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise ValueError(f"{what}: {given!r} is not a number of 0 or more")
    return given


def _words(given: dict[str, Any], name: str) -> tuple[str, ...]:
    words = given.get(name, [])
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError(f'"{name}" is a list of texts')
    return tuple(words)
