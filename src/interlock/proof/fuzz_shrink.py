"""From a schedule that breaks something to a short one: drop events, then make each of the others as plain as it gets.

Hypothesis shrinks what it draws, without knowing what a schedule is; this knows, needs a tenth of the runs, and ends
in the same place for every seed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from interlock.proof.fuzz_schedule import Event, Schedule

SHRINK_S: Final = 30.0
"""Real time that one failure may take to be made short."""

_PARTICULAR = re.compile(r"(sess|resp)_\S+|\d+(\.\d+)?|\[.*?\]|'.*?'|\(.*?\)")


def likeness(broken: Sequence[str]) -> str:
    """Name what was broken, without the ids and numbers that differ from run to run."""
    return _PARTICULAR.sub("#", broken[0]) if broken else ""


def shrink(
    schedule: Schedule,
    broken: Sequence[str],
    fails: Callable[[Schedule], Sequence[str]],
    within_s: float = SHRINK_S,
) -> tuple[Schedule, tuple[str, ...]]:
    """Return the shortest and plainest schedule that was found to break the same, and what it breaks."""
    wanted, until = likeness(broken), time.monotonic() + within_s
    best, said = schedule, tuple(broken)
    went_on = True
    while went_on:
        went_on = False
        for simpler in _simpler(best):
            if time.monotonic() > until:
                return best, said
            found = fails(simpler)
            if wanted in map(likeness, ([sentence] for sentence in found)):
                best, said, went_on = simpler, tuple(found), True
                break
    return best, said


def _simpler(schedule: Schedule) -> Iterator[Schedule]:
    """Yield schedules that are shorter, the much shorter ones first; then those that are as long and plainer."""
    events = schedule.events
    size = len(events)
    while size := size // 2:
        for start in range(len(events) - size, -1, -size):
            yield schedule._replace(events=events[:start] + events[start + size :])
    if len(events) == 1:
        yield schedule._replace(events=())
    if schedule.order:
        yield schedule._replace(order=0)
    if schedule.variant:
        yield schedule._replace(variant=0)
    for index, event in enumerate(events):
        for plainer in _plainer(event):
            yield schedule._replace(events=(*events[:index], plainer, *events[index + 1 :]))


def _plainer(event: Event) -> Iterator[Event]:
    if event.haste:
        yield event._replace(haste=0)
    smaller = {0, 1, event.pick // 2, event.pick - 1}
    yield from (event._replace(pick=pick) for pick in sorted(smaller) if 0 <= pick < event.pick)
