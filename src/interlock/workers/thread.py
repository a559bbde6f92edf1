"""A worker in a daemon thread: nothing to start, nothing to copy, and nothing that can be killed.

Orders go through a queue that the loop's thread waits on; reports come back through ``TrioToken.run_sync_soon``, in
order, to a task that tells them on. A model that hangs keeps its thread: the worker is LOST, and stays owed, until the
thread ends by itself. :meth:`ThreadCarrier.kill` can only ask for that.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from functools import partial

import trio

from interlock.errors import WorldError
from interlock.runtime.ports import Consumed
from interlock.workers.core import Ears, StageSpec, WorkerSettings
from interlock.workers.factory import make_model
from interlock.workers.loop import StageLoop, serve
from interlock.workers.protocol import Append, Beat, Order, Ready, Report, Stop

log = logging.getLogger(__name__)


class ThreadCarrier:
    """Implements :class:`interlock.workers.core.Carrier`."""

    def __init__(self, spec: StageSpec, settings: WorkerSettings) -> None:
        self._spec = spec
        self._settings = settings
        self._orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._owed_bytes = 0
        self._loop: StageLoop | None = None
        self._ears: Ears | None = None

    @property
    def pid(self) -> int | None:
        """A thread has none of its own."""
        return None

    async def run(self, ears: Ears) -> None:
        """Run the thread to its end, and tell what it reports."""
        self._ears = ears
        arrive, arrived = trio.open_memory_channel[Report](float("inf"))
        host = Host(trio.lowlevel.current_trio_token(), arrive)
        name = f"interlock worker {self._spec.stage}"
        thread = threading.Thread(target=self._main, args=(host,), name=name, daemon=True)
        thread.start()
        try:
            with arrived:
                async for report in arrived:
                    self._tell(report, ears)
        finally:
            self._doom()
        thread.join()
        self._loop = None

    def send(self, order: Order) -> None:
        """Put an order into the queue; input that the loop has not taken yet counts against ``outbox_bytes``."""
        if isinstance(order, Append):
            self._owed_bytes += len(order.payload)
            if self._owed_bytes > self._settings.outbox_bytes and self._ears is not None:
                self._ears.lost(f"{self._owed_bytes} bytes of input wait for the worker")
                return
        self._orders.put(order)

    def kill(self) -> None:
        """Tell the loop to end at its next turn. If it never takes one, the thread stays, and so does what it holds."""
        log.warning("worker thread %s cannot be killed; it is gone when its model returns", self._spec.stage)
        self._doom()

    def _doom(self) -> None:
        """End the loop, and wake it; if it has not begun, the stop is the first order that it will find."""
        if self._loop is not None:
            self._loop.end()
        self._orders.put(Stop())

    def _tell(self, report: Report, ears: Ears) -> None:
        match report:
            case Ready():
                ears.ready()
            case Beat(held):
                ears.heard(held)
            case Consumed(_, size):
                self._owed_bytes -= size
                ears.reply(report)
            case _:
                ears.reply(report)  # type: ignore[arg-type]  # a thread says no Hello

    def _main(self, host: Host) -> None:
        try:
            self._serve(host)
        except (WorldError, trio.RunFinishedError) as ended:
            log.error("worker thread %s has ended: %s", self._spec.stage, ended)
        finally:
            host.close()

    def _serve(self, host: Host) -> None:
        model = make_model(self._spec)
        self._loop = StageLoop(model, host.send, self._settings.beat_s)
        serve(self._loop, self._read, time.monotonic)

    def _read(self, wait_s: float) -> Order | None:
        try:
            return self._orders.get(timeout=wait_s)
        except queue.Empty:
            return None


class Host:
    """The thread's way back to the trio thread. A host that has left hears nothing more, and is not bothered."""

    def __init__(self, token: trio.lowlevel.TrioToken, arrive: trio.MemorySendChannel[Report]) -> None:
        self._token = token
        self._arrive = arrive

    def send(self, report: Report) -> None:
        """Hand a report over. Raises :class:`trio.RunFinishedError` when trio itself has ended."""
        self._token.run_sync_soon(partial(self._deliver, report))

    def close(self) -> None:
        """Say that no report follows."""
        try:
            self._token.run_sync_soon(self._arrive.close)
        except trio.RunFinishedError:
            log.debug("the worker's thread has outlived its trio")

    def _deliver(self, report: Report) -> None:
        try:
            self._arrive.send_nowait(report)
        except trio.BrokenResourceError:
            log.debug("a report of a worker that is no longer waited for: %r", type(report))
