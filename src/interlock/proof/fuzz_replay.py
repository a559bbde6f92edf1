"""A schedule, run again: what happened at each event, and where every session stood after it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from interlock.proof.fuzz_acts import ACTS
from interlock.proof.fuzz_run import run
from interlock.proof.fuzz_schedule import Event, Found, Unusable
from interlock.proof.fuzz_world import World
from interlock.runtime.driver import Driver


def replayed(found: Found) -> tuple[str, ...]:
    """Run a flat schedule, tell its course on stdout, and return what it breaks. Raises :class:`Unusable`."""
    for number, event in enumerate(found.schedule.events, 1):
        if event.act not in ACTS:
            raise Unusable(f"event {number}: there is no act {event.act!r}; the acts are {', '.join(ACTS)}")
    telling = _Telling()
    world = run(World(found.schedule, telling), ACTS)
    return tuple(world.broken)


class _Telling:
    """Writes a line for each event, and one for each session; what was broken by it comes at once."""

    def __init__(self) -> None:
        self.number = 0
        self.broken = 0
        self.sessions: list[str] = []

    def __call__(self, world: World, event: Event) -> None:
        self.number += 1
        sys.stdout.write(f"{self.number:>3}  {event}\n")
        for name, driver in world.host.drivers.items():
            if name not in self.sessions:
                self.sessions.append(name)
            sys.stdout.write(f"       {self.sessions.index(name) + 1}: {' '.join(_stands(driver))}\n")
        for sentence in world.broken[self.broken :]:
            sys.stdout.write(f"     ! {sentence}\n")
        self.broken = len(world.broken)


def _stands(driver: Driver) -> Iterator[str]:
    """Say where a session stands, without the ids that differ from run to run."""
    value, name = driver.value, driver.session_id.removeprefix("sess_")
    for (machine, key), cell in value.cells.items():
        short = str(key).removeprefix(f"sess_{name}.").removeprefix(f"resp_{name}_")
        yield f"{machine}{'' if key is None else '.' + short}={cell.state}"
    head, handed, trimmed = value.journal
    yield f"generation={value.generation} epoch={value.epoch} head={head} handed={handed} trimmed={trimmed}"
