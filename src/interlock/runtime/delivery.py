"""The writer of one transport, from its claim to its close: live sending and replay are the same code.

It takes what is due in one synchronous step directly before the write, so that nothing which an interrupt has voided
is still on its way to the socket, save the one write that is inside the transport. It is never waited for by a
transition: eviction, drop and finish are orders, each with a deadline, past which the transport is aborted.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import trio

from interlock.runtime.ports import Transport, TransportClosed
from interlock.tables import messages as m
from interlock.wire import outbound
from interlock.wire.codes import CloseCode

if TYPE_CHECKING:
    from interlock.runtime.driver import Driver

log = logging.getLogger("interlock")

Mode: TypeAlias = Literal["live", "evicted", "finishing", "dropped"]

Notice: TypeAlias = Callable[[str], bytes]
"""Encodes a frame that belongs to one connection alone, under the number that it gets there."""


class Delivery:
    """One generation's writer. Every method without ``async`` may be called from any task of the host's thread."""

    def __init__(
        self, driver: Driver, transport: Transport, generation: int, cursor: int, hello: Callable[[], bytes]
    ) -> None:
        """Deliver what ``hello`` makes, then what the journal has after ``cursor``, then what comes."""
        self.driver = driver
        self.transport = transport
        self.generation = generation
        self.cursor = cursor
        self.mode: Mode = "live"
        self.reason = ""
        self._hello = hello
        self._notices: deque[bytes] = deque()
        self._noticed = 0
        self.scope = trio.CancelScope()
        self._wake = trio.Event()
        self._caught_up = False
        self._said_goodbye = False

    @property
    def notices(self) -> int:
        """How many notices wait."""
        return len(self._notices)

    def wake(self) -> None:
        """Something may be due."""
        self._wake.set()

    def notify(self, notice: Notice) -> bool:
        """Send a frame that belongs to this connection alone; say ``False`` when too many wait already.

        One that is retired says its last words and nothing else: no notice follows a terminal event (JR-06).
        """
        if self.mode != "live":
            return True
        if len(self._notices) >= self.driver.settings.max_notices:
            return False
        self._noticed += 1
        self._notices.append(notice(f"notice_{self.generation}_{self._noticed}"))
        self.wake()
        return True

    def evict(self, at_once: bool) -> None:
        """Retire: end the write in hand, say that the session was replaced, close; all within ``evict_s``."""
        if at_once:
            self.drop("session_replaced")
        else:
            self._retire("evicted", "session_replaced", self.driver.settings.evict_s)

    def finish(self, reason: str) -> None:
        """Drain through the terminal event, then close; all within ``drain_s``."""
        self._retire("finishing", reason, self.driver.settings.drain_s)

    def drop(self, reason: str) -> None:
        """Abort the transport now."""
        self.mode, self.reason = "dropped", reason
        self.scope.cancel()
        self.transport.abort(reason)

    def failed(self, error: Exception) -> None:
        """Say in the log that a transport broke its word; it was lost like any other."""
        log.error("%s: transport %d failed: %r", self.driver.session_id, self.generation, error)

    async def run(self) -> None:
        """Write until retired; whatever happens, the transport is closed once and the books say so."""
        try:
            with self.scope:
                await self._write()
                await self._say_goodbye()
            self._lost("cut")  # nothing, where somebody retired it; else its scope was cancelled from outside
        except TransportClosed as error:
            self._lost(str(error))
        except BaseException as error:
            self._lost("host_stopped" if isinstance(error, trio.Cancelled) else type(error).__name__)
            raise
        finally:
            self._end()

    def _end(self) -> None:
        try:
            if not self._said_goodbye:  # after a goodbye the transport ends by itself, within its own deadline
                self.transport.abort(self.reason)
        finally:
            self.driver.delivered(self)

    async def _write(self) -> None:
        if self.mode != "evicted":
            await self._send((self._hello(),))
            self.driver.dispatch(m.ActivationDelivered(self.generation))
        while self.mode != "evicted":
            frames = self._take()
            if frames:
                await self._send(frames)
            elif self.mode == "finishing":
                return
            else:
                await self._rest()

    async def _rest(self) -> None:
        self._wake = trio.Event()
        if not self._caught_up:
            self._caught_up = True
            self.driver.dispatch(m.ReplayDelivered(self.generation))
        else:
            await self._wake.wait()

    def _take(self) -> tuple[bytes, ...]:
        notices = tuple(self._notices)
        self._notices.clear()
        frames, self.cursor = self.driver.take(self.generation, self.cursor)
        return (*notices, *frames)

    async def _send(self, frames: Sequence[bytes]) -> None:
        with trio.move_on_after(self.driver.settings.write_s) as deadline:
            await self.transport.send(frames)
        if deadline.cancelled_caught:
            raise TransportClosed("write_timeout")

    async def _say_goodbye(self) -> None:
        if self.mode == "evicted":
            await self._send((outbound.session_replaced(self.driver.session_id, self.driver.value.generation),))
            await self._close(CloseCode.REPLACED)
        elif self.mode == "finishing":
            code = CloseCode.SHUTDOWN if self.reason == "server_shutdown" else CloseCode.ENDED
            await self._close(code)

    async def _close(self, code: int) -> None:
        await self.transport.close(code, self.reason)
        self._said_goodbye = True

    def _retire(self, mode: Mode, reason: str, within_s: float) -> None:
        if self.mode != "live":
            return
        self.mode, self.reason = mode, reason
        self.scope.deadline = min(self.scope.deadline, trio.current_time() + within_s)
        self.wake()

    def _lost(self, reason: str) -> None:
        if self.mode == "live":
            self.reason = reason
            self.driver.dispatch(m.TransportLost(self.generation, reason))
