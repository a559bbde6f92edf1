"""A call of ``open`` or ``resume`` that has begun: what will come of it, and where giving it up lands.

Beginning is synchronous, and so is landing; what lies between is one wait, which each loop has in its own way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from interlock.runtime.beside import Offer

if TYPE_CHECKING:
    from interlock.runtime.driver import Driver


class Claim(NamedTuple):
    """The driver that was asked, and what it was offered."""

    driver: Driver
    offer: Offer

    def land(self) -> None:
        """Give the claim up: an open that has not handed over its credentials ends, a resume lands in ROLLED_BACK."""
        self.driver.land(self.offer.claim)

    async def wait(self) -> int:
        """Return the generation that was claimed; for a task of trio, whose cancel lands in its delivery."""
        return await self.offer.waiter.wait(self.land)
