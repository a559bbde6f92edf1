"""Deadlines by key on one heap, and the one task that sleeps until the earliest of them."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import trio

K = TypeVar("K", bound=Hashable)


class Deadlines(Generic[K]):
    """Arm, disarm, and be told. Arming a key again moves its deadline; disarming one that is not armed is nothing."""

    def __init__(self) -> None:
        self._due: dict[K, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._count = itertools.count()
        self._sleeps_until = math.inf
        self._sooner = trio.Event()

    def __len__(self) -> int:
        return len(self._due)

    @property
    def armed(self) -> tuple[K, ...]:
        """The keys that are armed, in no order that means anything."""
        return tuple(self._due)

    def due_at(self, key: K) -> float:
        """Return when an armed key falls due, on trio's clock."""
        return self._due[key][0]

    def arm(self, key: K, after_s: float) -> None:
        """Make ``key`` due in so many seconds. Moving a deadline back, as each heartbeat does, wakes nobody."""
        entry = (trio.current_time() + after_s, next(self._count))
        self._due[key] = entry
        heapq.heappush(self._heap, (*entry, key))
        self._compact()
        if entry[0] < self._sleeps_until:
            self._sooner.set()

    def disarm(self, key: K) -> None:
        """Forget the deadline of ``key``, if it has one."""
        self._due.pop(key, None)

    async def run(self, fire: Callable[[K], None]) -> None:
        """Call ``fire`` with each key when it is due, for ever; one that is disarmed before its turn is not told."""
        while True:
            self._sooner = trio.Event()
            self._sleeps_until = self._next()
            with trio.CancelScope(deadline=self._sleeps_until):
                await self._sooner.wait()
            now = trio.current_time()
            while self._next() <= now:
                key = heapq.heappop(self._heap)[2]
                del self._due[key]
                fire(key)

    def _next(self) -> float:
        """Return the earliest deadline; entries that were moved or disarmed fall off the heap here."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][:2]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else math.inf

    def _compact(self) -> None:
        """Keep what was moved or disarmed from growing the heap without bound."""
        if len(self._heap) > 4 * len(self._due) + 64:
            self._heap = [(*entry, key) for key, entry in self._due.items()]
            heapq.heapify(self._heap)
