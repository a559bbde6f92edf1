"""A session as a task of asyncio sees it: the same plain functions, and its waits as coroutines of asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.runtime import talk
from interlock.wire.dialect import Dialect

if TYPE_CHECKING:
    from interlock.embed.runtime import Runtime
    from interlock.runtime.driver import Driver


class Session(talk.Session):
    """One attachment of one session. Whatever is called from elsewhere than the runtime's loop raises ``Misuse``."""

    __slots__ = ("_runtime",)

    def __init__(self, driver: Driver, generation: int, dialect: Dialect, runtime: Runtime) -> None:
        super().__init__(driver, generation, dialect)
        self._runtime = runtime

    def detach(self, reason: str = "disconnected") -> None:
        """Give up the transport. The session lives on, in grace; a detach of what is superseded or over is nothing."""
        if not self._runtime.is_over:
            self._runtime.check()
            super().detach(reason)

    async def wait_closed(self) -> None:
        """Wait until the session has had its terminal event."""
        await self._runtime.wait(super().wait_closed)

    async def wait_room(self) -> None:
        """Wait until half of the input limit is free."""
        await self._runtime.wait(super().wait_room)

    def _current(self) -> Driver:
        self._runtime.check()
        return super()._current()
