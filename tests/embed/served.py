"""A runtime mounted under a real server, in the test's own loop, and real clients that speak to it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from websockets.asyncio.client import ClientConnection, connect

from interlock.embed import EmbedLimits, Runtime
from interlock.proof.promises import Witness
from interlock.session.settings import Settings
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.scripted import ScriptedFleet
from tests.embed.scene import scripted

LOUD = "AQABAAEAAQABAAEA"
PATH = "/v1/realtime?duplex=1"

Wrap = Callable[[Any], Any]


@dataclass
class Served:
    """A server with a runtime in it."""

    runtime: Runtime
    fleet: ScriptedFleet
    server: uvicorn.Server
    port: int

    def dial(self, path: str = PATH, **options: Any) -> connect:
        """Return what connects a client."""
        return connect(f"ws://127.0.0.1:{self.port}{path}", **options)

    async def deaf(self) -> tuple[socket.socket, str, str]:
        """Open a session on a socket whose client reads its credentials, and nothing after that."""
        loop, sock = asyncio.get_running_loop(), await self._raw()
        await loop.sock_sendall(sock, masked({"type": "input_audio_buffer.append", "audio": LOUD}))
        await read_past(sock, b'"resume_token"')
        await loop.sock_sendall(sock, masked({"type": "input_audio_buffer.commit"}))
        driver = next(iter(self.runtime.host.drivers.values()))
        return sock, driver.session_id, driver.deliveries[1].credentials.resume_token

    async def deaf_resume(self, session_id: str, token: str) -> socket.socket:
        """Resume a session from its beginning, on a socket whose client reads nothing."""
        sock = await self._raw()
        where = {"session_id": session_id, "resume_token": token, "last_received_server_event_seq": 0}
        await asyncio.get_running_loop().sock_sendall(sock, masked({"type": "session.resume", **where}))
        return sock

    async def _raw(self) -> socket.socket:
        """Connect, with as small a buffer as there is, up to the end of the handshake."""
        loop, sock = asyncio.get_running_loop(), socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        await loop.sock_connect(sock, ("127.0.0.1", self.port))
        request = f"GET {PATH} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        await loop.sock_sendall(sock, (request + key).encode())
        await read_past(sock, b"\r\n\r\n")
        return sock

    @property
    def sockets(self) -> int:
        """How many connections the server holds."""
        return len(self.server.server_state.connections)

    @property
    def is_stuck(self) -> bool:
        """Whether a transport of the server has more than its socket takes."""
        return any(not connection.writable.is_set() for connection in self.server.server_state.connections)  # type: ignore[union-attr]

    async def until(self, holds: Callable[[], bool], within_s: float = 10) -> None:
        """Return when something holds, of the runtime or of its server."""
        async with asyncio.timeout(within_s):
            while not holds():  # noqa: ASYNC110 - a server tells nobody that it has let go of a socket
                await asyncio.sleep(0)


async def read_past(sock: socket.socket, mark: bytes) -> bytes:
    """Read up to what has been read once ``mark`` has come."""
    data = b""
    while mark not in data:
        data += await asyncio.get_running_loop().sock_recv(sock, 1024)
    return data


def masked(message: dict[str, Any]) -> bytes:
    """Frame a text message as a client does, with a mask of nothing."""
    data = json.dumps(message).encode()
    size = bytes((0x80 | len(data),)) if len(data) < 126 else bytes((0xFE, *len(data).to_bytes(2, "big")))
    return b"\x81" + size + bytes(4) + data


async def say(client: ClientConnection, kind: str, **fields: Any) -> None:
    """Send one event."""
    await client.send(json.dumps({"type": kind, **fields}))


async def until(client: ClientConnection, kind: str) -> list[dict[str, Any]]:
    """Read up to the first event of this type; return all that was read."""
    events: list[dict[str, Any]] = []
    async with asyncio.timeout(20):
        while not events or events[-1]["type"] != kind:
            events.append(json.loads(await client.recv()))
    return events


async def speak(client: ClientConnection) -> None:
    """Say something."""
    await say(client, "input_audio_buffer.append", audio=LOUD)
    await say(client, "input_audio_buffer.commit")


def plain(app: Any) -> Any:
    """Wrap the app in nothing."""
    return app


def out_of_reach(app: Any) -> Any:
    """Wrap the app as middleware does that touches ``receive``: the server's transport cannot be seen any more."""

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        async def hidden() -> Any:
            return await receive()

        await app(scope, hidden, send)

    return wrapped


@asynccontextmanager
async def served(
    frames: int = 5,
    *,
    ws: str = "auto",
    wrap: Wrap = plain,
    limits: EmbedLimits | None = None,
    tls: Path | None = None,
    **settings: Any,
) -> AsyncIterator[Served]:
    """Serve a FastAPI app with a runtime mounted in it, on uvicorn; at its end nothing may be owed."""
    fleet, witness = scripted(frames), Witness()
    runtime = Runtime(EchoPipeline(), fleet, Settings(**settings), record=witness, limits=limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with runtime:
            await runtime.wait_ready(EARS, MIND, VOICE)
            yield

    app = FastAPI(lifespan=lifespan)
    app.mount("/v1", wrap(runtime.asgi()))
    options: dict[str, Any] = {"port": 0, "ws": ws, "log_level": "warning", "timeout_graceful_shutdown": 5}
    server = uvicorn.Server(uvicorn.Config(app, ssl_certfile=tls, **options))
    serving = asyncio.ensure_future(server.serve())
    while not server.started:  # noqa: ASYNC110 - nor that it listens
        await asyncio.sleep(0)
    try:
        yield Served(runtime, fleet, server, server.servers[0].sockets[0].getsockname()[1])
        witness.verdict(runtime.host)
    finally:
        server.should_exit = True
        await serving
    held = [limit["now"] for name, limit in runtime.limits().items() if name in ("max_connections", "max_lingering")]
    assert (runtime.owed(), runtime.host.slots, runtime.host.defects, fleet.held, held) == ([], 0, [], 0, [0, 0])
