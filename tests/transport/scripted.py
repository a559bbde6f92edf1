"""A server that follows a script, one act a connection, and a proxy that loses what the server says."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import trio

from interlock.transport.websocket import WebSocketTransport
from interlock.wire import outbound
from tests.transport.served import served

SESSION = {"id": "s1"}


class Seat:
    """One connection, as an act sees it: messages in and out, as dicts."""

    def __init__(self, transport: WebSocketTransport) -> None:
        self.transport = transport
        self.heard: list[dict[str, Any]] = []
        self.over = trio.Event()

    async def read(self) -> dict[str, Any]:
        """Return the next message; a connection that ends instead ends the act."""
        data = await self.transport.receive()
        if data is None:
            raise EOFError(self.transport.ended)
        self.heard.append(json.loads(data))
        return self.heard[-1]

    async def until(self, kind: str) -> dict[str, Any]:
        """Read up to the next message of this type, acks and all."""
        while (message := await self.read())["type"] != kind:
            pass
        return message

    async def send(self, *frames: bytes) -> None:
        """Send frames, as one write."""
        await self.transport.send(frames)

    async def create(self, token: str | None = "t1") -> dict[str, Any]:
        """Open the session."""
        message = await self.read()
        await self.send(outbound.session_created(SESSION, 1, token))
        return message

    async def resume(self, token: str, generation: int, *replay: bytes) -> dict[str, Any]:
        """Accept a resume, with its replay in the same write."""
        message = await self.read()
        await self.send(outbound.session_resumed(SESSION, generation, token), *replay)
        return message

    async def hold(self) -> None:
        """Read until the peer goes."""
        while True:
            await self.read()


Act: TypeAlias = Callable[[Seat], Awaitable[None]]


class Play:
    """Gives each connection the next act. ``seats`` has them all."""

    def __init__(self, *acts: Act) -> None:
        self.acts = acts
        self.seats: list[Seat] = []

    async def __call__(self, transport: WebSocketTransport) -> None:
        seat = Seat(transport)
        self.seats.append(seat)
        try:
            await self.acts[len(self.seats) - 1](seat)
        except EOFError:
            return
        finally:
            seat.over.set()


@asynccontextmanager
async def played(*acts: Act) -> AsyncIterator[tuple[str, Play]]:
    """Serve a script; give its URL, and what came of it."""
    play = Play(*acts)
    async with served(play) as port:
        yield f"ws://127.0.0.1:{port}/v1/realtime", play


def delta(seq: int, size: int = 2) -> bytes:
    """Make an output event with a number."""
    return outbound.audio_delta(seq, "r1", bytes(size))


@asynccontextmanager
async def deafened(url: str, *, connections: set[int]) -> AsyncIterator[str]:
    """Proxy to ``url``; of these connections (from 1) swallow all that the server says after the handshake."""
    port, count = int(url.split(":")[2].split("/")[0]), 0

    async def connection(client: trio.SocketStream) -> None:
        nonlocal count
        count += 1
        server = await trio.open_tcp_stream("127.0.0.1", port)
        async with client, server, trio.open_nursery() as nursery:
            nursery.start_soon(pump, client, server, nursery.cancel_scope)
            if count in connections:
                await client.send_all(await server.receive_some())
                await pump(server, None, nursery.cancel_scope)
            else:
                await pump(server, client, nursery.cancel_scope)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, connection, 0)
        yield f"ws://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1/realtime"
        nursery.cancel_scope.cancel()


async def pump(source: trio.SocketStream, sink: trio.SocketStream | None, scope: trio.CancelScope) -> None:
    """Move bytes one way until either side goes; then the other way ends as well."""
    try:
        async for data in source:
            if sink is not None:
                await sink.send_all(data)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    scope.cancel()
