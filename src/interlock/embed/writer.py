"""The writer of a transport that lives on an asyncio loop: one task of it. Nothing that it writes goes through trio."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from interlock.runtime.delivery import Delivery
from interlock.runtime.perform import contain
from interlock.runtime.ports import TransportClosed

if TYPE_CHECKING:
    from interlock.runtime.beside import Offer
    from interlock.runtime.driver import Driver


class AsyncioWriter(Delivery):
    """Performs a delivery's script on the running asyncio loop.

    A foreign server's ``send`` may not heed a cancel. So the end is not left to the task: who cuts it off frees the
    transport and tells the books, there and then.
    """

    def __init__(self, driver: Driver, offer: Offer, generation: int) -> None:
        super().__init__(driver, offer, generation)
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._resting: asyncio.Future[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._is_over = False

    def start(self) -> None:
        """Begin to write, in a task of the loop."""
        self._task = self._loop.create_task(contain(self._run, self.failed))

    def wake(self) -> None:
        """Something may be due."""
        if self._is_resting and self._resting is not None:
            self._resting.set_result(None)

    async def _run(self) -> None:
        try:
            for act in self.script():
                await self._perform(act)
        except TransportClosed as error:
            self._lost(str(error))
        except asyncio.CancelledError:
            if not self._is_over:  # nobody here has cut it off: the loop ends
                self._lost("host_stopped")
                raise
        except BaseException as error:
            self._lost(type(error).__name__)
            raise
        finally:
            self._end()

    async def _rest(self) -> None:
        self._resting = self._loop.create_future()
        await self._resting

    async def _let_others(self) -> None:
        await asyncio.sleep(0)

    async def _in_time(self, writing: Awaitable[None]) -> None:
        late = self._loop.call_later(self.driver.settings.write_s, self._give_up)
        try:
            await writing
        finally:
            late.cancel()

    def _give_up(self) -> None:
        """Free a transport that does not take a write in time, whether or not its server lets go of the write."""
        self._lost("write_timeout")
        self._cut()

    @property
    def _is_resting(self) -> bool:
        return self._resting is not None and not self._resting.done()

    def _cut(self) -> None:
        self._end()
        if self._task is not None:
            self._task.cancel()

    def _within(self, seconds: float) -> None:
        self._deadline = self._loop.call_later(seconds, self._cut)

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            if self._deadline is not None:
                self._deadline.cancel()
            super()._end()
