"""All timers of a host on one heap, and one task that sleeps until the earliest of them."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Hashable

import trio


class Deadlines:
    """Timers by key. Arming a key again replaces it; disarming one that is not armed is nothing."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Hashable]] = []
        self._armed: dict[Hashable, tuple[float, int, Callable[[], None]]] = {}
        self._count = itertools.count()
        self._changed = trio.Event()
        self.high_water = 0

    def __len__(self) -> int:
        return len(self._armed)

    def arm(self, key: Hashable, after_s: float, fire: Callable[[], None]) -> None:
        """Call ``fire`` in ``after_s`` seconds, unless the key is disarmed or armed anew."""
        at, number = trio.current_time() + after_s, next(self._count)
        self._armed[key] = (at, number, fire)
        self.high_water = max(self.high_water, len(self._armed))
        heapq.heappush(self._heap, (at, number, key))
        if self._heap[0][1] == number:
            self._changed.set()

    def disarm(self, key: Hashable) -> None:
        """Forget a timer."""
        if self._armed.pop(key, None) is not None and len(self._heap) > 2 * len(self._armed) + 64:
            self._heap = [entry for entry in self._heap if self._is_live(entry)]
            heapq.heapify(self._heap)

    async def run(self) -> None:
        """Fire timers as they fall due, for ever."""
        while True:
            self._changed = trio.Event()
            with trio.move_on_at(self._next()):
                await self._changed.wait()
            self._fire_due()

    def _next(self) -> float:
        while self._heap and not self._is_live(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else float("inf")

    def _fire_due(self) -> None:
        now = trio.current_time()
        while self._next() <= now:
            key = heapq.heappop(self._heap)[2]
            self._armed.pop(key)[2]()

    def _is_live(self, entry: tuple[float, int, Hashable]) -> bool:
        _, number, key = entry
        armed = self._armed.get(key)
        return armed is not None and armed[1] == number
