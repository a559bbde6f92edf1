"""A transport in memory, whose other end decides what arrives: the adversary of tests, sweeps and fuzzing.

It takes so many frames and then stalls, like a socket whose peer does not read; it can be torn, and it remembers how it
was closed. It has no clock and no task of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import trio

from interlock.runtime.ports import TransportClosed


class Received:
    """What the client of a transport in memory has read."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.closings: list[tuple[int, str]] = []
        """Each goodbye: code and reason. At most one, ever."""
        self.aborts: list[str] = []
        """The reason of the abort that freed the transport, if one did."""

    @property
    def events(self) -> list[dict[str, Any]]:
        """What the client has received, decoded."""
        return [msgspec.json.decode(frame) for frame in self.frames]

    @property
    def types(self) -> list[str]:
        """The types of what the client has received."""
        return [event["type"] for event in self.events]

    @property
    def numbers(self) -> list[int]:
        """The sequence numbers that the client has received."""
        return [event["server_event_seq"] for event in self.events if "server_event_seq" in event]

    @property
    def credentials(self) -> tuple[str, str, int]:
        """The session id, token and generation that the client received last."""
        held = [event for event in self.events if "resume_token" in event][-1]
        return held["session"]["id"], held["resume_token"], held["attachment_generation"]


class MemoryTransport(Received):
    """Satisfies :class:`interlock.runtime.ports.Transport`. ``accepts`` frames go through; then ``send`` blocks."""

    def __init__(self, accepts: float = math.inf) -> None:
        super().__init__()
        self._accepts = accepts
        self._torn = False
        self._changed = trio.Event()

    @property
    def is_open(self) -> bool:
        """Whether frames can still go out."""
        return not (self.closings or self.aborts or self._torn)

    def allow(self, count: float = math.inf) -> None:
        """Let ``count`` more frames through."""
        self._accepts += count
        self._change()

    def stall(self) -> None:
        """Accept nothing more, until :meth:`allow`."""
        self._accepts = 0

    def tear(self) -> None:
        """Reset the connection: what is in ``send`` fails, and so does all that comes."""
        self._torn = True
        self._change()

    async def wait_for(self, kind: str) -> dict[str, Any]:
        """Return the first event of this type, when it has arrived."""
        while kind not in self.types:
            await self._changed.wait()
        return self.events[self.types.index(kind)]

    async def wait_frames(self, count: int) -> None:
        """Return when ``count`` frames have arrived."""
        while len(self.frames) < count:
            await self._changed.wait()

    async def wait_over(self) -> None:
        """Return when the transport was closed or aborted."""
        while not (self.closings or self.aborts):
            await self._changed.wait()

    async def send(self, frames: Sequence[bytes]) -> None:
        """Take frames one by one, as far as the peer accepts them."""
        await trio.lowlevel.checkpoint()
        for frame in frames:
            while self._accepts < 1 and self.is_open:
                await self._changed.wait()
            if not self.is_open:
                raise TransportClosed("the peer is gone")
            self._accepts -= 1
            self.frames.append(frame)
            self._change()

    async def close(self, code: int, reason: str) -> None:
        """Say goodbye, if the peer still accepts anything."""
        await trio.lowlevel.checkpoint()
        while self._accepts < 1 and self.is_open:
            await self._changed.wait()
        if not self.is_open:
            raise TransportClosed("the peer is gone")
        self.closings.append((code, reason))
        self._change()

    def abort(self, reason: str) -> None:
        """Free the transport; after a goodbye there is nothing left to free."""
        if not self.closings and not self.aborts:
            self.aborts.append(reason)
        self._change()

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
