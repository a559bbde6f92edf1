"""Trio in the thread of an asyncio loop: its guest mode, from its start to the end that always comes.

The two loops take turns in one thread, so that whatever is synchronous here may be called from either. Trio waits for
its own sockets and pipes in a thread, which costs it a hop; no frame of a client goes that way.

One guest run a thread is what trio can do. A run whose asyncio loop is gone can never be ended, and its thread is lost
for a second one. So a task of ours waits for the run's end. ``asyncio.run`` cancels it, like all tasks, when its main
returns, and it ends the run in order before the loop closes, whether or not anybody left the block.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import outcome
import trio

from interlock.embed.misuse import Misuse

log = logging.getLogger("interlock")


class Guest:
    """One run of trio in the running asyncio loop. ``stop`` asks ``main`` to return; it has to, within its bounds."""

    def __init__(self, main: Callable[[], Awaitable[None]], stop: Callable[[], None]) -> None:
        """Begin. Raises :class:`Misuse` where this thread has a run of trio already."""
        if trio.lowlevel.in_trio_run():
            raise Misuse(
                "trio runs in this thread already: one Runtime a thread. If it is that of a Runtime whose asyncio loop "
                "was closed before its block was left, it cannot be ended any more: leave the block first"
            )
        self.loop = asyncio.get_running_loop()
        self._stop = stop
        self.over: asyncio.Future[None] = self.loop.create_future()
        self._abandoned = False
        trio.lowlevel.start_guest_run(
            main,
            run_sync_soon_threadsafe=self._soon,
            run_sync_soon_not_threadsafe=self.loop.call_soon,
            done_callback=self._done,
            host_uses_signal_set_wakeup_fd=True,
        )
        self._keeper = self.loop.create_task(self.wait_over())

    @property
    def is_here(self) -> bool:
        """Whether the caller runs in the loop: in a task or a callback of asyncio, or in a task of trio."""
        try:
            return asyncio.get_running_loop() is self.loop
        except RuntimeError:
            return False

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, or can never end."""
        return self.over.done() or self._abandoned or self.loop.is_closed()

    async def wait_over(self) -> None:
        """Wait until the run has ended. A cancel stops it, and is raised when it has ended, however often it comes."""
        cancelled: asyncio.CancelledError | None = None
        while not self.over.done():
            try:
                await asyncio.wait((self.over,))
            except asyncio.CancelledError as error:
                cancelled = cancelled or error
                self._stop()
        if cancelled is not None:
            raise cancelled

    def _done(self, result: outcome.Outcome[None]) -> None:
        if isinstance(result, outcome.Error):
            self.over.set_exception(result.error)
            self.over.exception()  # whoever asks is told; nobody has to ask
        else:
            self.over.set_result(None)

    def _soon(self, do: Callable[[], object]) -> None:
        """Run something in the loop, from any thread."""
        try:
            self.loop.call_soon_threadsafe(do)
        except RuntimeError:
            self._abandoned = True
            log.error(
                "the asyncio loop was closed before its Interlock runtime: sessions were cut off; leave its block"
            )
