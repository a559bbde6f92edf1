"""Somebody who follows a session's records, and whose slowness is nobody else's."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

LIMIT: Final = 256 * 1024
"""Bytes of records that wait for one follower."""


class Follower:
    """Records on their way to one page. One that does not keep up loses what waits, and begins anew with the value."""

    def __init__(
        self,
        session_id: str,
        first: Iterable[bytes],
        wake: Callable[[], None],
        anew: Callable[[], bytes],
        limit: int = LIMIT,
    ) -> None:
        """Begin with what is kept of the session. ``anew`` makes the line that everything can begin again with."""
        self.session_id = session_id
        self.gaps = 0
        self._waiting = deque(first)
        self._size = 0
        self._wake = wake
        self._anew = anew
        self._limit = limit
        self._lost = False

    def put(self, line: bytes) -> None:
        """Take one record."""
        if self._lost:
            return
        self._waiting.append(line)
        self._size += len(line)
        if self._size > self._limit:
            self._waiting.clear()
            self._lost = True
            self.gaps += 1
        self._wake()

    def take(self) -> bytes:
        """Return what waits, as lines; nothing when nothing does."""
        if self._lost:
            self._waiting.append(self._anew())
            self._lost = False
        lines = b"".join(self._waiting)
        self._waiting.clear()
        self._size = 0
        return lines
