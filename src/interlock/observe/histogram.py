"""Durations in buckets, as Prometheus counts them: a search and two additions for each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class Histogram:
    """``bounds`` are upper ends, in seconds, and grow; what is over the last one is in a bucket of its own."""

    __slots__ = ("_bounds", "_counts", "total_s")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self.total_s = 0.0

    def observe(self, seconds: float) -> None:
        """Count one."""
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self.total_s += seconds

    @property
    def count(self) -> int:
        """How many were counted."""
        return sum(self._counts)

    def buckets(self) -> list[tuple[str, float]]:
        """Return each upper end and how many were at or below it; the last is ``+Inf``."""
        below, found = 0, []
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            below += count
            found.append((bound, float(below)))
        return found
