"""A host that only listens: it records what a fleet tells, and lets tests wait for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import trio

from interlock.runtime.ports import Reply

R = TypeVar("R")


class Recorder:
    """Implements FleetSink. ``told`` has announcements as ``("ready", stage, incarnation)``, ``replies`` the rest."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, int]] = []
        self.replies: list[Reply] = []
        self.log: list[tuple[str, str, int] | Reply] = []
        self.changed = trio.Event()

    def worker_ready(self, stage: str, incarnation: int) -> None:
        self._tell("ready", stage, incarnation)

    def worker_lost(self, stage: str, incarnation: int) -> None:
        self._tell("lost", stage, incarnation)

    def worker_gone(self, stage: str, incarnation: int) -> None:
        self._tell("gone", stage, incarnation)

    def reply(self, stage: str, incarnation: int, *replies: Reply) -> None:
        for reply in replies:
            self.replies.append(reply)
            self._note(reply)

    def of(self, kind: type[R], request_id: str | None = None) -> list[R]:
        """Return the replies of one kind, to one request or to all."""
        wanted = (reply for reply in self.replies if request_id in (None, reply.request_id))
        return [reply for reply in wanted if isinstance(reply, kind)]

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until ``condition`` holds; it is asked again after each thing that the fleet tells."""
        while not condition():
            self.changed = trio.Event()
            await self.changed.wait()

    async def until_told(self, *told: tuple[str, str, int]) -> None:
        """Wait until the fleet has said all of these."""
        await self.until(lambda: set(told) <= set(self.told))

    async def until_replied(self, replies: Iterable[Reply]) -> None:
        """Wait until the fleet has handed over all of these."""
        wanted = list(replies)
        await self.until(lambda: all(reply in self.replies for reply in wanted))

    def _tell(self, word: str, stage: str, incarnation: int) -> None:
        self.told.append((word, stage, incarnation))
        self._note((word, stage, incarnation))

    def _note(self, entry: tuple[str, str, int] | Reply) -> None:
        self.log.append(entry)
        self.changed.set()
