"""How an asyncio task waits for something of trio's that nobody has to undo: the end of a session, room, a stage."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import trio

from interlock.embed.misuse import Misuse


class Wait:
    """One wait: a future for the task of asyncio, and a scope around the task of trio that fulfils it."""

    def __init__(self) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.scope = trio.CancelScope()

    async def carry(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait on trio, and tell asyncio."""
        try:
            with self.scope:
                await work()
        except trio.Cancelled:
            self.failed(Misuse("the runtime was closed while somebody waited for it"))
            raise
        if not self.done.done():
            self.done.set_result(None)

    def failed(self, error: Exception) -> None:
        """Tell asyncio what went wrong."""
        if not self.done.done():
            self.done.set_exception(error)
