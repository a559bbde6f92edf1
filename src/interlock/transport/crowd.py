"""How many connections one client holds, whoever that is: an address, or the name of a key."""

from __future__ import annotations

from collections import Counter


class Crowd:
    """Counts by name. A name without connections takes no memory."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._counts: Counter[str] = Counter()

    def enter(self, name: str) -> bool:
        """Count one more, and say whether it is within the limit; :meth:`leave` is due in either case."""
        self._counts[name] += 1
        return self._counts[name] <= self.limit

    def leave(self, name: str) -> None:
        """Count one less."""
        self._counts[name] -= 1
        if not self._counts[name]:
            del self._counts[name]

    def __len__(self) -> int:
        return len(self._counts)
