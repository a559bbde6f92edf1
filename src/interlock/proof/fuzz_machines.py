"""Machines of anybody, fuzzed from their files alone, with the same schedules as the runtime.

Each event that comes from outside is an act: a client's at any time, a timer's while it is armed, any other one's where
its state takes it (one that comes late is stale, and dropped before it reaches a table). What machines send one another
follows by itself. Whatever a guard may answer, no event may meet a state that does not list it, no run may go on for
ever, and from wherever a schedule comes to, an end can be reached.
"""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Iterator
from typing import Final

from interlock.errors import Defect
from interlock.proof.fuzz import Ran, Target
from interlock.proof.fuzz_bound import Bound, Stand
from interlock.proof.fuzz_schedule import Schedule, Unusable
from interlock.spec.check import checked
from interlock.spec.finding import Faulty

LOOKED_AT: Final = 1_000
"""States that are looked at, from one state, in search of an end; past them, nothing is said."""

ANSWERS: Final = (0, 0xFF, 0x01, 0x02, 0x55, 0xAA)
"""What guards answer while an end is searched for: a bit for each that is asked."""


def machines_target(paths: tuple[str, ...]) -> Target:
    """Return machines as a target. Raises :class:`Unusable` for files that ``interlock check`` finds fault with."""
    acts = tuple(_bound(paths).acts)
    if not acts:
        raise Unusable(f"{', '.join(paths)}: no event comes from outside, so there is nothing to send")
    return Target("machines", acts, functools.partial(run_machines, paths), machines=paths)


@functools.lru_cache(maxsize=8)
def _bound(paths: tuple[str, ...]) -> Bound:
    try:
        return Bound(checked(paths))
    except Faulty as wrong:
        first = wrong.findings[0]
        raise Unusable(f"{first.file}:{first.line}: {first.message} (`interlock check` has all)") from wrong


@functools.lru_cache(maxsize=8)
def _asked(paths: tuple[str, ...]) -> set[frozenset[tuple[str, str]]]:
    """Return the combinations of states from which an end was searched for: one search each is enough to pay for."""
    return set()


def run_machines(paths: tuple[str, ...], schedule: Schedule) -> Ran:
    """Send a schedule's events to the machines, one after the other, and look for an end from where they come to."""
    bound = _bound(paths)
    stand, reached = bound.start(), set[tuple[str, ...]]()
    for event in schedule.events:
        act = bound.acts.get(event.act)
        if act is None:
            continue
        try:
            sent = bound.send(stand, act, event.pick)
        except Defect as defect:
            return Ran((f"defect on {event.act}: {defect}",), frozenset(reached))
        if sent is not None:
            stand, fired = sent
            reached.update(fired)
    states, asked = frozenset((name, state) for (name, _), state in stand.cells), _asked(paths)
    if states not in asked and not _can_end(bound, stand):
        where = ", ".join(f"{name} is {state}" for (name, _), state in stand.cells)
        return Ran((f"no end can be reached: {where}",), frozenset(reached))
    asked.add(states)
    return Ran((), frozenset(reached))


def _can_end(bound: Bound, stand: Stand) -> bool:
    """Search for an end, nearest first; say no only where everything that can be reached was looked at."""
    seen, heap, turn = {stand}, [(0, 0, stand)], itertools.count(1)
    while heap:
        now = heapq.heappop(heap)[2]
        if bound.is_end(now) or len(seen) > LOOKED_AT:
            return True
        for after in _next(bound, now):
            if after not in seen:
                seen.add(after)
                heapq.heappush(heap, (bound.left(after), next(turn), after))
    return False


def _next(bound: Bound, stand: Stand) -> Iterator[Stand]:
    for act in bound.acts.values():
        for bits in ANSWERS:
            try:
                sent = bound.send(stand, act, bits)
            except Defect:
                continue  # a schedule that does this is told by itself
            if sent is not None:
                yield sent[0]
