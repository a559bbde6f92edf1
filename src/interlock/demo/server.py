"""``interlock serve`` as a real process: start it, read its first line, its books, and its last line."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import trio

from interlock.errors import WorldError

START_S: Final = 60.0
"""Models are imported and loaded; the first time, from a cold disk."""
STOP_S: Final = 25.0
"""More than ``shutdown_s`` twice over, which is what the server itself takes at most."""
TELL_S: Final = 2.0
LAST_WORDS: Final = 12

Tell = Callable[[str], None]


class Stopped(NamedTuple):
    """How the server ended: its exit code, and the books in its last line."""

    code: int
    books: Mapping[str, Any]


class Server:
    """A child process, and where it listens. ``log`` has what it wrote to stderr."""

    def __init__(self, process: trio.Process, log: Path) -> None:
        self.process = process
        self.log = log
        self.url = ""
        self.port = 0
        self.longest_stall_ms = 0.0
        """The longest that its books ever told; each reading begins the server's own count anew."""
        self._rest = b""

    async def listen(self) -> None:
        """Wait for its first line. Raises :class:`WorldError` when it ends instead."""
        line = await self._line()
        if not line:
            await self.process.wait()
            raise WorldError(f"the server ended before it listened{self.last_words()}")
        told = json.loads(line)
        self.url, self.port = told["url"], told["port"]

    async def books(self) -> Mapping[str, Any]:
        """Read GET /debug/books."""
        books = await trio.to_thread.run_sync(partial(fetch, self.port, "/debug/books"))
        self.longest_stall_ms = max(self.longest_stall_ms, books["longest_stall_ms"])
        return books

    async def stop(self) -> Stopped:
        """Send SIGTERM, and return how it ended. Raises :class:`WorldError` when it does not end."""
        self.process.send_signal(signal.SIGTERM)
        with trio.move_on_after(STOP_S):
            line = await self._line()
            code = await self.process.wait()
            return Stopped(code, json.loads(line or b"{}"))
        raise WorldError(f"the server did not end within {STOP_S:g} s of SIGTERM{self.last_words()}")

    def last_words(self) -> str:
        """Return the end of its log, to be put behind what went wrong."""
        lines = self.log.read_text(errors="replace").splitlines()[-LAST_WORDS:]
        code = self.process.returncode
        ended = "" if code is None else f" (exit code {code})"
        return f"{ended}; the end of {self.log}:\n" + "\n".join(f"  {line}" for line in lines or ["(empty)"])

    async def _line(self) -> bytes:
        """Return the next line of its stdout; nothing, when there is none."""
        assert self.process.stdout is not None
        while b"\n" not in self._rest:
            chunk = await self.process.stdout.receive_some()
            if not chunk:
                break
            self._rest += bytes(chunk)
        line, _, self._rest = self._rest.partition(b"\n")
        return line


@asynccontextmanager
async def serving(out: Path, options: Sequence[str], tell: Tell) -> AsyncIterator[Server]:
    """Run a server on a free loopback port, with its trace and its log under ``out``; end it in any case."""
    log = out / "server.log"
    command = [sys.executable, "-m", "interlock", "serve", "--port", "0", "--debug", "--trace", str(out / "trace")]
    command += options
    with log.open("wb") as stderr:
        process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, stderr=stderr)
    server = Server(process, log)
    try:
        await _patiently(server, tell)
        yield server
    finally:
        await _end(process)


async def _patiently(server: Server, tell: Tell) -> None:
    """Wait until it listens, and say every two seconds that it does not yet."""
    began = trio.current_time()
    while (waited := trio.current_time() - began) < START_S:
        if waited >= TELL_S:
            tell(f"the server loads its models ({waited:.0f} s)")
        with trio.move_on_after(TELL_S):
            await server.listen()
            return
    raise WorldError(f"the server did not listen within {START_S:g} s{server.last_words()}")


async def _end(process: trio.Process) -> None:
    """Leave no process behind, whatever happened: ask, wait, and kill."""
    with trio.CancelScope(shield=True):
        if process.returncode is None:
            process.terminate()
        with trio.move_on_after(STOP_S):
            await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()


def fetch(port: int, path: str) -> Mapping[str, Any]:
    """GET a JSON page from the server. Raises :class:`WorldError` where it gives none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        page: Mapping[str, Any] = json.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise WorldError(f"the server does not answer GET {path}: {error}") from error
    finally:
        connection.close()
    return page
