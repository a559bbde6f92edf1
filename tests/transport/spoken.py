"""A connection in memory, for conversations under trio's clock: a transport whose peer also speaks."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import trio
import trio.testing

from interlock.transport.converse import converse
from interlock.transport.memory import MemoryTransport
from interlock.transport.opening import Opening
from tests.runtime.stage_play import Play


class Line(MemoryTransport):
    """Satisfies :class:`interlock.transport.connection.Connection`. What :meth:`hear` is given, it receives."""

    def __init__(self, opening: Opening, accepts: float = float("inf")) -> None:
        super().__init__(accepts)
        self._asked = opening
        self._said: deque[bytes] = deque()
        self._left = False
        self.farewells: list[float] = []
        """How long each farewell was given."""

    @property
    def opening(self) -> Opening:
        """What the client asked for."""
        return self._asked

    @property
    def ended(self) -> str:
        """Why no message comes any more."""
        return "" if self.is_open and not self._left else "over"

    def hear(self, message: dict[str, Any] | bytes) -> None:
        """Have the client say something."""
        self._said.append(message if isinstance(message, bytes) else msgspec.json.encode(message))
        self._change()

    def leave(self) -> None:
        """Have the client close, once all that it said was read."""
        self._left = True
        self._change()

    async def receive(self) -> bytes | None:
        """Return the next message."""
        await trio.lowlevel.checkpoint()
        while not self._said:
            if self._left or not self.is_open:
                return None
            await self._changed.wait()
        return self._said.popleft()

    async def receive_within(self, seconds: float) -> bytes | None:
        """Return the next message, or raise ``TimeoutError``."""
        with trio.move_on_after(seconds):
            return await self.receive()
        raise TimeoutError

    async def farewell(self, within_s: float) -> None:
        """Answer the peer's close."""
        self.farewells.append(within_s)


class Speaker:
    """A client of a conversation that is under way: it says messages, and reads what comes."""

    def __init__(self, line: Line) -> None:
        self.line = line

    async def say(self, kind: str, /, **fields: Any) -> list[dict[str, Any]]:
        """Say one message; return every event that came of it, when nothing more does."""
        before = len(self.line.frames)
        self.line.hear({"type": kind, **fields})
        await trio.testing.wait_all_tasks_blocked()
        return self.line.events[before:]

    def last(self, kind: str) -> dict[str, Any]:
        """Return the latest event of a type."""
        return next(event for event in reversed(self.line.events) if event["type"] == kind)


@asynccontextmanager
async def talking(
    scene: Play, query: dict[str, str] | None = None, path: str = "/v1/realtime"
) -> AsyncIterator[Speaker]:
    """Hold a conversation while the block lasts; then the client leaves."""
    line = Line(Opening(path, query or {}))
    scene.transports.append(line)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(converse, scene.host, line)
        await trio.testing.wait_all_tasks_blocked()
        yield Speaker(line)
        line.leave()
