"""A served endpoint, and peers that are rude in a raw way."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio

from interlock.transport.endpoint import serve_websockets
from interlock.transport.websocket import WebSocketTransport

UPGRADE = (
    b"GET /v1/realtime HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


@asynccontextmanager
async def served(handler: Callable[[WebSocketTransport], Awaitable[None]], **options: Any) -> AsyncIterator[int]:
    """Serve on a free port of the loopback interface."""
    async with trio.open_nursery() as nursery:
        port: int = await nursery.start(lambda **k: serve_websockets(handler, "127.0.0.1", 0, **options, **k))
        yield port
        nursery.cancel_scope.cancel()


async def echo(transport: WebSocketTransport) -> None:
    """Send back whatever comes."""
    while (data := await transport.receive()) is not None:
        await transport.send([data])


async def raw(port: int, data: bytes = b"") -> trio.SocketStream:
    """Connect a plain socket, and say something."""
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    await stream.send_all(data)
    return stream


async def rest(stream: trio.SocketStream) -> bytes:
    """Read to the end, however it comes, and close."""
    read = bytearray()
    try:
        async with stream:
            async for data in stream:
                read += data
    except trio.BrokenResourceError:
        read += b"<reset>"
    return bytes(read)


async def deaf(port: int, path: str = "/v1/realtime") -> trio.SocketStream:
    """Open a WebSocket with a small receive buffer, and never read again."""
    sock = trio.socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    await sock.connect(("127.0.0.1", port))
    return await upgraded(trio.SocketStream(sock), path)


async def opened(port: int) -> trio.SocketStream:
    """Open a WebSocket on a plain socket."""
    return await upgraded(await raw(port))


async def upgraded(stream: trio.SocketStream, path: str = "/v1/realtime") -> trio.SocketStream:
    """Do the opening handshake, and read its answer to the last byte."""
    await stream.send_all(UPGRADE.replace(b"/v1/realtime", path.encode()))
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += await stream.receive_some(1)
    return stream


def reset(stream: trio.SocketStream) -> None:
    """Leave without a word."""
    stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.socket.close()


def frame(opcode: int, payload: bytes, *, fin: bool = True) -> bytes:
    """Encode one client frame of at most 64 KiB; the mask is zero, so the payload is as it is."""
    size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
    return bytes([(0x80 if fin else 0) | opcode]) + size + bytes(4) + payload
