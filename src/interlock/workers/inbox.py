"""Orders between the thread that reads them and the loop that takes them, bounded by their bytes."""

from __future__ import annotations

import threading
from collections import deque

from interlock.workers.protocol import Order


class Inbox:
    """First in, first out; one thread puts, one takes. An order over the limit is let in when all else is taken."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._orders: deque[tuple[Order, int]] = deque()
        self._bytes = 0
        self._changed = threading.Condition()

    def put(self, order: Order, size: int, wait_s: float) -> bool:
        """Queue an order of ``size`` bytes; wait so many seconds for room. Return whether there was any."""
        with self._changed:
            if not self._changed.wait_for(lambda: not self._orders or self._bytes + size <= self._limit, wait_s):
                return False
            self._orders.append((order, size))
            self._bytes += size
            self._changed.notify()
            return True

    def take(self, wait_s: float) -> Order | None:
        """Return the next order, waiting for it so many seconds at most; ``None`` when none came."""
        with self._changed:
            if not self._orders and (wait_s <= 0 or not self._changed.wait_for(lambda: bool(self._orders), wait_s)):
                return None
            order, size = self._orders.popleft()
            self._bytes -= size
            self._changed.notify()
            return order
