"""`interlock serve` as a process of its own, and a look into its books."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from interlock.observe.reading import records_of
from interlock.transport.dial import dial
from interlock.transport.limits import SocketLimits
from interlock.transport.websocket import WebSocketTransport

INTERLOCK = ("interlock", "serve")


class Server:
    """One server process. ``told`` is its first line, ``report`` its last, once it has stopped."""

    def __init__(self, process: trio.Process, lines: Lines, told: dict[str, Any], trace: Path) -> None:
        self.process = process
        self._lines = lines
        self.told = told
        self.port: int = told["port"]
        self.url = f"ws://127.0.0.1:{self.port}/v1/duplex"
        self.report: dict[str, Any] = {}
        self.dialled: list[WebSocketTransport] = []
        self._trace = trace

    async def get(self, path: str) -> tuple[int, bytes]:
        """Send a plain GET; return status and body."""
        async with await trio.open_tcp_stream("127.0.0.1", self.port) as stream:
            await stream.send_all(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            data = b"".join([chunk async for chunk in stream])
        head, _, body = data.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    async def books(self) -> dict[str, Any]:
        """Return what the server holds now."""
        status, body = await self.get("/debug/books")
        assert status == 200
        books: dict[str, Any] = json.loads(body)
        return books

    async def books_when(self, holds: Any) -> dict[str, Any]:
        """Return the books as soon as something holds of them."""
        while True:
            books = await self.books()
            if holds(books):
                return books

    async def dial(self) -> WebSocketTransport:
        """Open a bare connection. It is freed with the server, if not before."""
        self.dialled.append(await dial(self.url, SocketLimits()))
        return self.dialled[-1]

    async def stop(self) -> None:
        """Send SIGTERM, take the report, and wait for the end."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
            self.report = await self.last_line()
            await self.process.wait()

    async def last_line(self) -> dict[str, Any]:
        """Read the report of a server that was told to stop."""
        report: dict[str, Any] = json.loads(await self._lines.next())
        return report

    def records(self) -> list[dict[str, Any]]:
        """Return the trace; whole only after the server has stopped."""
        return list(records_of(self._trace))


@asynccontextmanager
async def server(trace: Path, *options: str, program: Sequence[str] = INTERLOCK) -> AsyncIterator[Server]:
    """Run a server for the block; then stop it with SIGTERM, and take its report."""
    command = [sys.executable, "-m", *program, "--port", "0", "--debug", "--trace", str(trace), *options]
    process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    lines = Lines(process.stdout)
    running = Server(process, lines, json.loads(await lines.next()), trace)
    try:
        yield running
        await running.stop()
    finally:
        for transport in running.dialled:
            transport.abort("the test is over")
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()


class Lines:
    """Whole lines of a stream."""

    def __init__(self, stream: trio.abc.ReceiveStream) -> None:
        self._stream = stream
        self._data = b""

    async def next(self) -> bytes:
        """Return the next line."""
        while b"\n" not in self._data:
            chunk = await self._stream.receive_some()
            assert chunk, "the server has ended"
            self._data += chunk
        line, _, self._data = self._data.partition(b"\n")
        return line
