"""A condition that waiters watch: woken when the books move, without a poll and without a lock."""

from __future__ import annotations

from collections.abc import Callable

import trio


class Room:
    """Tasks wait here until something holds."""

    __slots__ = ("_changed",)

    def __init__(self) -> None:
        self._changed: trio.Event | None = None

    def changed(self) -> None:
        """Let every waiter look again."""
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def wait_for(self, holds: Callable[[], bool]) -> None:
        """Return when ``holds`` does."""
        await trio.lowlevel.checkpoint()
        while not holds():
            if self._changed is None:
                self._changed = trio.Event()
            await self._changed.wait()
