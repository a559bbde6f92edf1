"""Events between the client's reader, which never waits, and the application, which may not come at all."""

from __future__ import annotations

from collections import deque
from typing import Any, TypeAlias

import trio

from interlock.transport.client_errors import BufferOverflow

Event: TypeAlias = dict[str, Any]


class Inbox:
    """Bounded by bytes, not by count. Overflow drops what was not read and fails the one who did not read it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._events: deque[tuple[Event, int]] = deque()
        self._bytes = 0
        self._dropped = 0
        self._changed = trio.Event()

    def put(self, event: Event, size: int) -> None:
        """Keep an event that took ``size`` bytes on the wire."""
        if self._bytes + size > self._limit:
            self._dropped += len(self._events)
            self._events.clear()
            self._bytes = 0
        if size > self._limit:
            self._dropped += 1
        else:
            self._events.append((event, size))
            self._bytes += size
        self.stir()

    def take(self) -> Event | None:
        """Return the oldest event, if there is one. Raises :class:`BufferOverflow` once for each run of losses."""
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            raise BufferOverflow(dropped)
        if not self._events:
            return None
        event, size = self._events.popleft()
        self._bytes -= size
        return event

    def stir(self) -> None:
        """Wake who waits: there is an event, or there will be none."""
        self._changed.set()
        self._changed = trio.Event()

    async def wait(self) -> None:
        """Wait until something changes."""
        await self._changed.wait()
