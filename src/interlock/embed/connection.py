"""One WebSocket of somebody's ASGI server, as a connection of ours: its reader, its writer, and an end that comes.

Where the server's transport is in reach (:mod:`interlock.embed.reach`), frames go to it many at a time, and ``abort``
frees the socket. Elsewhere each frame is a message of ASGI, and ``abort`` can only let go: the connection then is
``lingering``, until its server says that the peer is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl

from interlock.embed.limits import EmbedLimits
from interlock.embed.reach import Reached, Sansio, reach
from interlock.runtime.perform import contain
from interlock.runtime.ports import TransportClosed
from interlock.transport.arrival import DUPLEX_PATH
from interlock.transport.meter import Meter
from interlock.transport.opening import Opening
from interlock.wire import outbound
from interlock.wire.codes import CloseCode, fit

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MESSAGES_A_TURN: Final = 16
"""So many messages that are there already are heard in one turn of the loop."""


class AsgiConnection:
    """A connection after its accept, read by the task that made it.

    Satisfies :class:`interlock.transport.connection.Connection`.
    """

    def __init__(
        self, opening: Opening, receive: Receive, send: Send, limits: EmbedLimits, reached: Reached | None = None
    ) -> None:
        self.opening = opening
        self.ended = ""
        self.is_lingering = False
        self._receive = receive
        self._send = send
        self._limits = limits
        self._reached = reached
        now = asyncio.get_running_loop().time()
        self._bytes = Meter(limits.bytes_per_s, limits.burst_s, now)
        self._messages = Meter(limits.messages_per_s, limits.burst_s, now)
        self._heard = 0
        self._reader = asyncio.current_task()
        self._reading = False
        self._freed = False
        self._deaf = False

    # --- writing

    async def send(self, frames: Sequence[bytes]) -> None:
        """Write whole text messages, in order. Raises :class:`TransportClosed`."""
        if self._freed:
            raise TransportClosed(self.ended)
        for frame in frames:
            await self._say({"type": "websocket.send", "text": frame.decode()})

    async def close(self, code: int, reason: str) -> None:
        """Say goodbye; a socket in reach is freed ``close_s`` later, whatever the peer does.

        Raises :class:`TransportClosed`.
        """
        if self._freed:
            raise TransportClosed(self.ended)
        self.ended = self.ended or f"closed with {code:d}"
        self._free_later()
        await self._say({"type": "websocket.close", "code": int(code), "reason": fit(reason)})

    def abort(self, reason: str) -> None:
        """Free the socket now, or, where its server's transport is out of reach, let go of it. Idempotent."""
        self.ended = self.ended or reason
        if self._freed:
            return
        self._freed = True
        if self._deaf:
            self._free_later()  # the peer went first: its goodbye is being answered
        elif self._reached is not None:
            self._reached.abort()
        else:
            self.is_lingering = True
            if self._reading and self._reader is not None:
                self._reader.cancel()

    async def farewell(self, within_s: float) -> None:
        """The server answers a peer that closes, before it tells us."""

    async def _say(self, message: dict[str, Any]) -> None:
        failed: list[Exception] = []
        await contain(lambda: self._send(message), failed.append)
        if failed:
            self.ended = self.ended or "lost"
            raise TransportClosed(self.ended) from failed[0]

    def _free_later(self) -> None:
        if self._reached is not None:
            asyncio.get_running_loop().call_later(self._limits.close_s, self._reached.abort)

    # --- reading

    async def receive(self) -> bytes | None:
        """Return the next whole message, or ``None`` when none will come; ``ended`` then says why."""
        while not (self._deaf or self._freed):
            message = await self._hear()
            if message is None or self._freed:
                return None
            if message["type"] == "websocket.receive":
                return await self._take(message)
            if message["type"] == "websocket.disconnect":
                self._deaf = True
                self.ended = self.ended or f"closed by peer with {message.get('code', CloseCode.ENDED)}"
        return None

    async def _take(self, message: Mapping[str, Any]) -> bytes | None:
        """Return what a message says, unless its peer floods us; a peer that says much leaves others their turn."""
        text, now = message.get("text"), asyncio.get_running_loop().time()
        data = text.encode() if text is not None else bytes(message.get("bytes") or b"")
        for meter, what in ((self._messages, "messages"), (self._bytes, "bytes")):
            if not meter.take(1 if what == "messages" else len(data), now):
                await self._flooded(f"more than {meter.per_s:g} {what} a second; slow down")
                return None
        self._heard += 1
        if self._heard % MESSAGES_A_TURN == 0:
            await asyncio.sleep(0)
        return data

    async def _flooded(self, what: str) -> None:
        """The peer sends more than it may: it is told so, and not heard any more. What it had said before counts."""
        self._deaf = True
        error = outbound.error("rate_limit_exceeded", what, n="flood").decode()
        await contain(lambda: self._send({"type": "websocket.send", "text": error}), lambda _: None)
        await contain(lambda: self.close(CloseCode.POLICY, what), lambda _: None)

    async def receive_within(self, seconds: float) -> bytes | None:
        """Return what :meth:`receive` does. Raises ``TimeoutError`` when nothing has come in time."""
        async with asyncio.timeout(seconds):
            return await self.receive()

    async def _hear(self) -> Mapping[str, Any] | None:
        """Return what the server says next; nothing, where we let go of the connection meanwhile."""
        self._reading = True
        try:
            return await self._receive()
        except asyncio.CancelledError:
            if not self.is_lingering or self._reader is None or self._reader.uncancel():
                raise
            return None
        finally:
            self._reading = False

    # --- ending

    async def finish(self, code: int = CloseCode.ENDED, reason: str = "") -> None:
        """End well if nobody has yet; of a connection that lingers, return when its server has let go of it."""
        if not self.ended:
            await contain(lambda: self.close(code, reason), lambda _: None)
        if self.is_lingering:
            await contain(self._linger, lambda _: None)

    async def _linger(self) -> None:
        """Close by the server's means, which may not return, and then hear the connection to its end."""
        async with asyncio.TaskGroup() as group:
            group.create_task(contain(self._hang_up, lambda _: None))
            while (await self._receive())["type"] != "websocket.disconnect":
                pass

    async def _hang_up(self) -> None:
        async with asyncio.timeout(self._limits.close_s):
            await self._send({"type": "websocket.close", "code": int(CloseCode.INTERNAL)})


class EagerConnection(AsgiConnection):
    """A connection whose frames go to the transport of its server, many at a time, and without waiting.

    Satisfies :class:`interlock.runtime.ports.EagerTransport`.
    """

    def __init__(self, opening: Opening, receive: Receive, send: Send, limits: EmbedLimits, reached: Sansio) -> None:
        super().__init__(opening, receive, send, limits, reached)
        self._sansio = reached

    def write_now(self, frames: Sequence[bytes]) -> bool:
        """Write whole text messages, in order, as one write; say whether all of it went. Raises TransportClosed."""
        if self._freed:
            raise TransportClosed(self.ended)
        return self._sansio.write(frames)

    async def drain(self) -> None:
        """Return when what was written has gone. Raises :class:`TransportClosed`."""
        await self._sansio.drain()
        if self._freed:
            raise TransportClosed(self.ended)

    async def send(self, frames: Sequence[bytes]) -> None:
        """Write whole text messages, in order, as one write. Raises :class:`TransportClosed`."""
        if not self.write_now(frames):
            await self.drain()


def connection_of(opening: Opening, receive: Receive, send: Send, limits: EmbedLimits) -> AsgiConnection:
    """Make a connection of what an ASGI server hands to an app."""
    reached = reach(receive)
    if isinstance(reached, Sansio):
        return EagerConnection(opening, receive, send, limits, reached)
    return AsgiConnection(opening, receive, send, limits, reached)


def opening_of(scope: Scope, subprotocol: str | None) -> Opening:
    """Return what a client asked for. A path that ends with ``/duplex`` is ``/v1/duplex``, wherever it is mounted."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
    path = DUPLEX_PATH if scope["path"].endswith("/duplex") else scope["path"]
    return Opening(path, query, headers, subprotocol)
