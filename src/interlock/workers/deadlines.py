"""Deadlines by name, and the one task that sleeps until the earliest of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import trio

K = TypeVar("K")


class Deadlines(Generic[K]):
    """Arm, disarm, and be told. Moving a deadline back, as each heartbeat does, wakes nobody."""

    def __init__(self) -> None:
        self._due: dict[K, float] = {}
        self._sleeps_until = float("inf")
        self._sooner = trio.Event()

    def arm(self, name: K, after_s: float) -> None:
        """Make ``name`` due in so many seconds, in place of any deadline that it has."""
        due = self._due[name] = trio.current_time() + after_s
        if due < self._sleeps_until:
            self._sooner.set()

    def disarm(self, name: K) -> None:
        """Forget the deadline of ``name``, if it has one."""
        self._due.pop(name, None)

    async def run(self, fire: Callable[[K], None]) -> None:
        """Call ``fire`` with each name when it is due; one that is disarmed before its turn is not told."""
        while True:
            self._sooner = trio.Event()
            self._sleeps_until = min(self._due.values(), default=float("inf"))
            with trio.CancelScope(deadline=self._sleeps_until):
                await self._sooner.wait()
            now = trio.current_time()
            for name in sorted(self._due, key=self._due.__getitem__):
                if self._due.get(name, float("inf")) <= now:
                    del self._due[name]
                    fire(name)
