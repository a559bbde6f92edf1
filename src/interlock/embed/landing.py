"""How an asyncio task waits for a claim, and where exactly a cancel of that wait lands.

``task.cancel()`` cancels the future that the task waits for, so a cancel lands *in* that call, as it does under trio
(see :mod:`interlock.runtime.waiter`): when it returns, the claim is rolled back. There is nothing left to wait for, and
nothing that a second cancel could interrupt.

Asyncio has one gap more: between the moment when the outcome is there and the moment when the task runs, it throws the
outcome away and raises ``CancelledError`` all the same. Whoever never sees a session cannot give it back; so there the
cancel lands as what such a caller would do: the attachment is dropped, and the session stays, in grace.
"""

from __future__ import annotations

import asyncio

import outcome

from interlock.runtime.claim import Claim
from interlock.tables import messages as m


class Landing(asyncio.Future[int]):
    """Becomes the generation that was claimed. Awaited by one task."""

    def __init__(self, claim: Claim) -> None:
        super().__init__()
        self._claim = claim
        self._taken = False
        claim.offer.waiter.tell(self._settle)

    async def take(self) -> int:
        """Return the generation, or raise what became of the claim. Given up at any point, the claim is, too."""
        try:
            generation = await self
        except BaseException:
            self.cancel()  # a task that is closed, not cancelled, comes by here alone
            raise
        self._taken = True
        return generation

    def cancel(self, msg: object = None) -> bool:
        """Land."""
        if not self.done():
            self._claim.offer.waiter.give_up()
            self._claim.land()
        elif not (self._taken or self.cancelled() or self.exception()):
            self._taken = True
            self._claim.driver.dispatch(m.TransportLost(self.result(), "cancelled"))
        return super().cancel(msg)

    def _settle(self) -> None:
        settled = self._claim.offer.waiter.outcome
        if isinstance(settled, outcome.Value):
            self.set_result(settled.value)
        elif isinstance(settled, outcome.Error):
            self.set_exception(settled.error)
