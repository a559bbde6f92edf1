"""A worker in a process of its own: what it does, only it suffers; and it can be killed.

One task writes whole frames, first in first out, and one reads. No cancel interrupts a write: who wants to be rid of a
worker kills it, and the write fails. Only a returned ``wait()`` says that the process is gone. The worker has a
process group of its own, so that Ctrl-C in a terminal is the host's to decide on, and a kill takes along what the
model has started.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import cast

import trio

from interlock.errors import WorldError
from interlock.runtime.ports import Reply
from interlock.workers.core import Ears, StageSpec, WorkerSettings
from interlock.workers.protocol import Beat, Cutter, Greeting, Hello, Order, Ready, Report, decode_report, encode

log = logging.getLogger(__name__)

WRITE_BYTES = 64 * 1024
"""About as much as a pipe holds; small orders are joined up to it."""

LAST_WORDS_S = 1.0
"""How long a dead worker's pipe may stay open, because something that it started still has it."""


class ProcessCarrier:
    """Implements :class:`interlock.workers.core.Carrier`."""

    def __init__(self, spec: StageSpec, settings: WorkerSettings) -> None:
        self._spec = spec
        self._settings = settings
        self._outbox = Outbox(settings.outbox_bytes)
        self._process: trio.Process | None = None
        self._ears: Ears | None = None
        self._killed = False

    @property
    def pid(self) -> int | None:
        """The worker's process id, once it has one."""
        return self._process.pid if self._process else None

    async def run(self, ears: Ears) -> None:
        """Run the process to its end, and tell what it reports."""
        self._ears = ears
        try:
            process = await trio.lowlevel.open_process(
                self._command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
        except OSError as wrong:
            ears.lost(f"no process: {wrong}")
            return
        self._process = process
        if self._killed:
            self.kill()
        await self._attend(process, ears)

    def send(self, order: Order) -> None:
        """Put an order into the outbox; over its bound, the link is lost."""
        try:
            self._outbox.put(encode(order))
        except WorldError as wrong:
            if self._ears is not None:
                self._ears.lost(str(wrong))

    def kill(self) -> None:
        """Send SIGKILL to the worker and to what it has started; a process not yet started is killed when it is."""
        self._killed = True
        if self._process is not None and self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def _command(self) -> list[str]:
        spec, beat_s = self._spec, self._settings.beat_s
        arguments = [spec.stage, str(spec.model), json.dumps(dict(spec.args)), str(beat_s)]
        return [sys.executable, "-m", "interlock.workers.child", *arguments]

    async def _attend(self, process: trio.Process, ears: Ears) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._outbox.write_to, process.stdin)
            said_all = trio.Event()
            nursery.start_soon(self._read, process.stdout, ears, said_all)
            try:
                await process.wait()
                with trio.move_on_after(LAST_WORDS_S):
                    await said_all.wait()
            finally:
                await self._bury(process, nursery.cancel_scope)

    async def _bury(self, process: trio.Process, scope: trio.CancelScope) -> None:
        """Leave nothing behind: no process, no pipe, no task that waits for either."""
        self.kill()
        with trio.move_on_after(self._settings.stop_s, shield=True):
            await process.wait()
        with trio.CancelScope(shield=True):
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    await trio.aclose_forcefully(stream)
        scope.cancel()

    async def _read(self, stdout: trio.abc.ReceiveStream, ears: Ears, said_all: trio.Event) -> None:
        cutter, greeting = Cutter(), Greeting(self._spec.stage)
        try:
            async for data in stdout:
                for alike in by_request(cutter.feed(data)):
                    for report in alike:
                        greeting.check(report)
                    tell(alike, ears)
            ears.lost("the pipe has ended" + ("" if cutter.is_between else ", within a frame"))
        except (WorldError, trio.BrokenResourceError) as wrong:
            ears.lost(str(wrong))
        except trio.ClosedResourceError:
            log.debug("worker %s: the pipe was closed with something unread", self._spec.stage)
        finally:
            said_all.set()


class Outbox:
    """Whole frames on their way, first in first out, and how many bytes of them there may be."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._frames: deque[bytes | bytearray] = deque()
        self._bytes = 0
        self._more = trio.Event()

    def put(self, frame: bytes | bytearray) -> None:
        """Queue a frame. Raises :class:`WorldError` over the limit."""
        if self._bytes + len(frame) > self._limit:
            raise WorldError(f"{self._bytes} bytes of orders wait for the worker")
        self._frames.append(frame)
        self._bytes += len(frame)
        self._more.set()

    async def write_to(self, stdin: trio.abc.SendStream) -> None:
        """Write what comes, for as long as somebody reads it. Only a closed or a broken pipe interrupts a write."""
        while True:
            await self._more.wait()
            self._more = trio.Event()
            while self._frames:
                joined = self._join()
                try:
                    with trio.CancelScope(shield=True):
                        await stdin.send_all(joined)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return
                self._bytes -= len(joined)

    def _join(self) -> bytes | bytearray:
        """Return the next frame, together with those behind it that fit into one write."""
        first = self._frames.popleft()
        if not self._frames or len(first) + len(self._frames[0]) > WRITE_BYTES:
            return first
        joined = bytearray(first)
        while self._frames and len(joined) + len(self._frames[0]) <= WRITE_BYTES:
            joined += self._frames.popleft()
        return joined


def by_request(bodies: Iterable[memoryview]) -> Iterator[list[Report]]:
    """Decode what was read at once, and yield together what is about one request, in order."""
    for request_id, alike in groupby(map(decode_report, bodies), lambda report: getattr(report, "request_id", None)):
        if request_id is None:
            yield from ([report] for report in alike)
        else:
            yield list(alike)


def tell(reports: list[Report], ears: Ears) -> None:
    """Tell a host what a worker reported."""
    match reports[0]:
        case Hello():
            ears.heard({})
        case Ready():
            ears.ready()
        case Beat(held):
            ears.heard(held)
        case _:
            ears.reply(*cast("list[Reply]", reports))
