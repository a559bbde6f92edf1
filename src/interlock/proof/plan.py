"""A plan: which cancels and faults to inject, and where. Its text replays it: ``early@7:op,late@12:timer1``.

An injection is a phase, a number and a target.

========== =================================================================== ======================================
phase      number                                                              target
========== =================================================================== ======================================
``entry``  0                                                                   ``op``: cancelled before it is entered
``early``  the step after which the cancel comes: the task waits, and is torn  a scope
``late``   the step before which it comes: the task was woken with its value   a scope
``raise``  the k-th await of this method of a port: fails instead              ``port.method``
``lose``   ... happens, and then fails: the answer is lost                     ``port.method``
``hang``   ... never returns                                                   ``port.method``
``cancel`` ... cancels the operation, from within the step                     ``port.method``
``first``  the step that a pass of the loop begins with: a task goes first     ``task3``, the fourth that began
========== =================================================================== ======================================

A scope is ``op``, a name that the scenario exposed, or ``timer1``, ``timer2``...: the scopes with a deadline that
enclose the stepping task, counted from the inside out. So a plan needs nothing but the scenario and the seed.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from interlock.errors import WorldError

OP = "op"
TIMER = "timer"
SCHEDULE = "schedule"


class BadPlan(WorldError):
    """A text that is no plan. Whoever typed it mends it."""


class Phase(enum.StrEnum):
    """When, relative to its number, an injection comes."""

    ENTRY = "entry"
    EARLY = "early"
    LATE = "late"
    RAISE = "raise"
    LOSE = "lose"
    HANG = "hang"
    CANCEL = "cancel"
    FIRST = "first"

    @property
    def is_of_a_port(self) -> bool:
        """Whether the target is a method of a port, and not a scope."""
        return self in FAULTS


FAULTS = (Phase.RAISE, Phase.LOSE, Phase.HANG, Phase.CANCEL)


@dataclass(frozen=True, slots=True)
class Injection:
    """One cancel or fault."""

    phase: Phase
    index: int
    target: str

    def __str__(self) -> str:
        return f"{self.phase}@{self.index}:{self.target}"

    def __reduce__(self) -> tuple[object, ...]:
        """Be the one shared object in another process, too."""
        return injection, (self.phase, self.index, self.target)

    @property
    def family(self) -> str:
        """The target's name in the report: all timers are counted together."""
        if self.phase is Phase.FIRST:
            return SCHEDULE
        return TIMER if is_timer_name(self.target) else self.target


Plan: TypeAlias = tuple[Injection, ...]


@lru_cache(maxsize=65536)
def injection(phase: Phase, index: int, target: str) -> Injection:
    """Return the one shared object for an injection: a deep sweep holds millions of references to few."""
    return Injection(phase, index, target)


ENTRY = injection(Phase.ENTRY, 0, OP)

WRITTEN = re.compile(r"(?P<phase>[a-z]+)@(?P<index>[0-9]{1,9}):(?P<target>[A-Za-z_][\w.-]*)")


def text(plan: Plan) -> str:
    """Write a plan so that ``parse`` reads it back. The empty plan is the empty text."""
    return ",".join(map(str, plan))


def parse(written: str) -> Plan:
    """Read a plan. Raises :class:`BadPlan`."""
    return tuple(_one(part.strip()) for part in written.split(",") if part.strip())


def _one(written: str) -> Injection:
    match = WRITTEN.fullmatch(written)
    if match is None or match["phase"] not in list(Phase):
        phases = ", ".join(Phase)
        raise BadPlan(f"{written!r} is no injection: write phase@number:target, the phase one of {phases}")
    found = injection(Phase(match["phase"]), int(match["index"]), match["target"])
    if found.phase.is_of_a_port and "." not in found.target:
        raise BadPlan(f"{written!r}: a {found.phase} needs a port and its method, as in {found.phase}@1:transport.send")
    if found.phase is Phase.ENTRY and found != ENTRY:
        raise BadPlan(f"{written!r}: only the operation is cancelled before its entry; write {ENTRY}")
    return found


def is_timer_name(name: str) -> bool:
    """Tell whether a target is a timer's, which no scenario may give to a scope of its own."""
    return re.fullmatch(rf"{TIMER}\d*", name) is not None
