"""The writer of a transport that lives on trio: one task in the host's nursery, in a scope that retiring it cancels."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

import trio

from interlock.runtime.delivery import Delivery
from interlock.runtime.nap import Nap
from interlock.runtime.ports import TransportClosed

if TYPE_CHECKING:
    from interlock.runtime.beside import Offer
    from interlock.runtime.driver import Driver


class TrioWriter(Delivery):
    """Performs a delivery's script on trio."""

    def __init__(self, driver: Driver, offer: Offer, generation: int) -> None:
        super().__init__(driver, offer, generation)
        self.scope = trio.CancelScope()
        self._nap = Nap()

    def start(self) -> None:
        """Begin to write, in the host's nursery."""
        self.driver.host.spawn(self.run, self.failed)

    def wake(self) -> None:
        """Something may be due."""
        self._nap.wake()

    async def run(self) -> None:
        """Write until retired; whatever happens, the transport is closed once and the books say so."""
        try:
            with self.scope:
                for act in self.script():
                    await self._perform(act)
            self._lost("cut")  # nothing, where somebody retired it; else its scope was cancelled from outside
        except TransportClosed as error:
            self._lost(str(error))
        except BaseException as error:
            self._lost("host_stopped" if isinstance(error, trio.Cancelled) else type(error).__name__)
            raise
        finally:
            self._end()

    async def _rest(self) -> None:
        await self._nap.sleep()

    async def _let_others(self) -> None:
        await trio.lowlevel.checkpoint()

    async def _in_time(self, writing: Awaitable[None]) -> None:
        with trio.move_on_after(self.driver.settings.write_s) as deadline:
            await writing
        if deadline.cancelled_caught:
            raise TransportClosed("write_timeout")

    @property
    def _is_resting(self) -> bool:
        return self._nap.is_slept_in

    def _cut(self) -> None:
        self.scope.cancel()

    def _within(self, seconds: float) -> None:
        self.scope.deadline = min(self.scope.deadline, trio.current_time() + seconds)
