"""A line that tears: a TCP proxy that swallows what the server says, and then resets its connections.

What was swallowed is what makes a tear cruel: the server has handed it over, and the client has never read it. Bytes
pass as they are, whether they are TLS or not.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

import trio

READ_BYTES: Final = 64 * 1024
NO_TIME: Final = struct.pack("ii", 1, 0)


class Line:
    """What stands between clients and a server. ``target`` is the server's port, and may change at any time.

    ``carried`` counts connections, ``passed`` the bytes that went down to clients.
    """

    def __init__(self, target: int = 0) -> None:
        self.target = target
        self.address = ""
        self.carried = 0
        self.passed = 0
        self._pairs: list[tuple[trio.SocketStream, trio.SocketStream]] = []
        self._swallowed: int | None = None
        self._more = trio.Event()

    async def listen(self, nursery: trio.Nursery) -> None:
        """Take connections until the nursery is cancelled."""
        listeners = await nursery.start(partial(trio.serve_tcp, self.carry, 0, host="127.0.0.1"))
        self.address = f"127.0.0.1:{listeners[0].socket.getsockname()[1]}"

    async def tear(self, after: int = 0) -> None:
        """Swallow so much of the server, counted in reads, then reset every connection, at both ends."""
        self._swallowed = 0
        await self._when(lambda: (self._swallowed or 0) >= after)
        for pair in self._pairs:
            for stream in pair:
                reset(stream)
        self._swallowed = None

    async def when_passed(self, size: int) -> None:
        """Wait until so many bytes of the server have reached clients."""
        await self._when(lambda: self.passed >= size)

    async def _when(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._more = trio.Event()
            await self._more.wait()

    async def carry(self, client: trio.SocketStream) -> None:
        """Carry one connection; where the server cannot be reached, it is reset like one that tears."""
        self.carried += 1
        try:
            server = await trio.open_tcp_stream("127.0.0.1", self.target)
        except OSError:
            reset(client)
            return
        pair = client, server
        self._pairs.append(pair)
        async with client, server, trio.open_nursery() as nursery:
            nursery.start_soon(self._pump, client, server, False)
            nursery.start_soon(self._pump, server, client, True)
        self._pairs.remove(pair)

    async def _pump(self, source: trio.SocketStream, sink: trio.SocketStream, down: bool) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while data := await source.receive_some(READ_BYTES):
                if down and self._swallowed is not None:
                    self._swallowed += 1
                else:
                    await sink.send_all(data)
                    self.passed += len(data) if down else 0
                self._more.set()
            await sink.send_eof()
            return
        reset(source)
        reset(sink)


def reset(stream: trio.SocketStream) -> None:
    """Close a socket so that its peer reads a reset; tasks that wait for it are told that it is closed."""
    if stream.socket.fileno() >= 0:
        stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_TIME)
        stream.socket.close()
