"""One connection of the client: its reader, its writer, and the acks that go out whether or not anybody iterates."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import msgspec
import trio

from interlock.runtime.ports import TransportClosed
from interlock.transport.client_errors import ConnectionLost
from interlock.transport.limits import ClientLimits
from interlock.transport.websocket import WebSocketTransport

encode: Final = msgspec.json.Encoder().encode


class Line:
    """Messages go into an outbox, bounded by bytes, and one task writes all that is there as one write."""

    def __init__(self, transport: WebSocketTransport, limits: ClientLimits) -> None:
        self.transport = transport
        self._limits = limits
        self._outbox: deque[bytes] = deque()
        self._bytes = 0
        self._wake = trio.Event()
        self._drained = trio.Event()
        self._ack_due: int | None = None
        self._ack_count = 0
        self._ack_at = math.inf
        self._over = False

    # --- what the client says

    async def say(self, message: dict[str, Any]) -> None:
        """Hand a message over, once there is room. Cancelled, it was not handed over. Raises ConnectionLost."""
        await trio.lowlevel.checkpoint()
        while not self._over and self._bytes >= self._limits.outbox_bytes:
            await self._drained.wait()
        self.put(message)

    def put(self, message: dict[str, Any]) -> None:
        """Hand a message over now, whatever is waiting already. Raises :class:`ConnectionLost`."""
        if self._over:
            raise ConnectionLost(self.transport.ended)
        frame = encode(message)
        self._outbox.append(frame)
        self._bytes += len(frame)
        self._wake.set()

    def received(self, seq: int) -> None:
        """Ack ``seq``: together with others, but not later than ``ack_s`` from now."""
        self._ack_due = seq
        self._ack_count += 1
        self._ack_at = min(self._ack_at, trio.current_time() + self._limits.ack_s)
        if self._ack_count >= self._limits.ack_events or self._ack_count == 1:
            self._wake.set()

    # --- its tasks

    async def run(self, hear: Callable[[bytes], None]) -> None:
        """Read until the connection ends, calling ``hear`` for each message, and free the socket."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.transport.keep)
                nursery.start_soon(self._write)
                while (data := await self.transport.receive()) is not None:
                    hear(data)
                self._end()
                await self.transport.finish()
                nursery.cancel_scope.cancel()
        finally:
            self._end()
            self.transport.abort("left")

    async def leave(self) -> None:
        """Write what is waiting, say goodbye and wait for the answer, within the socket's ``close_s``."""
        with trio.move_on_after(self._limits.socket.close_s):
            while self._outbox and not self._over:
                await self._drained.wait()
            try:
                await self.transport.close(1000, "left")
            except TransportClosed:
                return
            while not self._over:
                await self._drained.wait()

    def _end(self) -> None:
        self._over = True
        self._drained.set()

    async def _write(self) -> None:
        try:
            while True:
                with trio.move_on_at(self._ack_at):
                    await self._wake.wait()
                self._wake = trio.Event()
                if frames := self._take():
                    await self.transport.send(frames)
                self._room()
        except TransportClosed:
            return

    def _take(self) -> list[bytes]:
        frames = list(self._outbox)
        self._outbox.clear()
        is_due = self._ack_count >= self._limits.ack_events or trio.current_time() >= self._ack_at
        if self._ack_due is not None and is_due:
            frames.append(encode({"type": "session.event_ack", "server_event_seq": self._ack_due}))
            self._ack_due, self._ack_count, self._ack_at = None, 0, math.inf
        return frames

    def _room(self) -> None:
        """What was taken has been written: whoever waits for room may go on."""
        self._bytes = sum(map(len, self._outbox))
        self._drained.set()
        self._drained = trio.Event()
