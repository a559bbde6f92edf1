"""How much a peer may send: so much a second, and some seconds' worth of it at once. Pure: time is handed in."""

from __future__ import annotations

import math


class Meter:
    """A bucket that fills at ``per_s`` up to ``burst_s`` seconds' worth."""

    __slots__ = ("_at", "_full", "_left", "per_s")

    def __init__(self, per_s: float, burst_s: float, now: float) -> None:
        self.per_s = per_s
        self._full = self._left = per_s * burst_s
        self._at = now

    def take(self, amount: float, now: float) -> bool:
        """Take out so much; say whether it was there. What is over the rate stays owed, so that a flood stays one."""
        if math.isinf(self.per_s):
            return True
        self._left = min(self._full, self._left + (now - self._at) * self.per_s) - amount
        self._at = now
        return self._left >= 0
