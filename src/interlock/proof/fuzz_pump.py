"""A world that is stepped from outside: synchronous code says what happens next, and sees what came of it.

Trio runs as the guest of a loop of our own, which runs only while somebody waits for the world to come to rest. So a
rule of Hypothesis, which cannot await, drives a live host under a clock that stands still between rules.
"""

from __future__ import annotations

import queue
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import outcome
import trio

from interlock.proof.fuzz_acts import ACTS
from interlock.proof.fuzz_run import Guarded
from interlock.proof.fuzz_schedule import Event, Schedule
from interlock.proof.fuzz_world import World

PATIENCE_S: Final = 20.0
"""Real time that one event may take; the world itself takes none."""


class SteppedWorld(World):
    """A world whose events are handed in one by one; ``happened`` has them all."""

    def __init__(self, variant: int = 0) -> None:
        super().__init__(Schedule((), variant=variant))
        self.happened: list[Event] = []
        self.is_at_rest = False
        self._next: Event | None = None
        self._over = False
        self._handed = trio.Event()

    async def events(self) -> AsyncIterator[Event]:
        """Yield what is handed in, until :meth:`end`."""
        while True:
            self.is_at_rest = True
            await self._handed.wait()
            if self._next is None:
                return
            self._handed = trio.Event()
            yield self._next

    def hand(self, event: Event | None) -> None:
        """Let one more thing happen, or nothing more."""
        self.is_at_rest, self._next = False, event
        if event is not None:
            self.happened.append(event)
        self._handed.set()

    @property
    def schedule_of(self) -> Schedule:
        """Everything that happened, to be run again."""
        return Schedule(tuple(self.happened), variant=self.schedule.variant)


class Pump:
    """Runs a stepped world as a guest. Use :meth:`step` and :meth:`close`; both return when nothing moves any more."""

    def __init__(self, world: SteppedWorld) -> None:
        self.world = world
        self._todo: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._ended: outcome.Outcome[Any] | None = None
        self._guard = Guarded(world)
        self._token: trio.lowlevel.TrioToken | None = None
        self._guard.__enter__()
        trio.lowlevel.start_guest_run(
            self._main,
            run_sync_soon_threadsafe=self._todo.put,
            done_callback=self._done,
            clock=world.clock,
            instruments=[self._guard.limit],
        )
        self._until(lambda: world.is_at_rest)

    def step(self, event: Event) -> None:
        """Let one thing happen, and return when all is at rest."""
        self._hand(event)
        self._until(lambda: self.world.is_at_rest)

    def close(self) -> None:
        """End the world, and judge it."""
        self._hand(None)
        self._until(lambda: False)
        assert self._ended is not None
        self._guard.close(self._ended.error if isinstance(self._ended, outcome.Error) else None)

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        await self.world.live(ACTS)

    def _hand(self, event: Event | None) -> None:
        if self._ended is None and self._token is not None:
            self._token.run_sync_soon(self.world.hand, event)
            self.world.is_at_rest = False

    def _until(self, holds: Callable[[], bool]) -> None:
        while self._ended is None and not holds():
            self._todo.get(timeout=PATIENCE_S)()

    def _done(self, ended: outcome.Outcome[Any]) -> None:
        self._ended = ended
