"""The writer of one transport, from its claim to its close: live sending and replay are the same code.

It takes what is due in one synchronous step directly before the write, so that nothing which an interrupt has voided
is still on its way to the socket, save the one write that is inside the transport. It is never waited for by a
transition: eviction, drop and finish are orders, each with a deadline, past which the transport is aborted.

What is written, and in which order, is :meth:`Delivery.script`, which awaits nothing. :meth:`Delivery._perform` waits
for one step of it, on any loop. Who runs both lives on the loop of the transport:
:class:`interlock.runtime.writer.TrioWriter`, or a writer on the loop of an asyncio server.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from interlock.runtime.ports import EagerTransport, TransportClosed
from interlock.tables import messages as m
from interlock.wire.codes import CloseCode
from interlock.wire.dialect import Credentials

if TYPE_CHECKING:
    from interlock.runtime.beside import Offer
    from interlock.runtime.driver import Driver

log = logging.getLogger("interlock")

Mode: TypeAlias = Literal["live", "evicted", "finishing", "dropped"]

Notice: TypeAlias = Callable[[str], bytes]
"""Encodes a frame that belongs to one connection alone, under the number that it gets there."""

WRITES_A_TURN: Final = 4
"""So many writes follow each other while the transport takes them at once; then the others have a turn of the loop."""


class Write(NamedTuple):
    """Hand these frames over, as one write where the transport can."""

    frames: tuple[bytes, ...]


class Close(NamedTuple):
    """Say goodbye; this is the last that is written."""

    code: int
    reason: str


class Delivery(ABC):
    """One generation's writer, without the loop that it runs on. Called from any task of the host's thread.

    While it rests, what a stage says is written in the same step in which it was heard, where the transport can write
    without waiting: a turn of a loop costs more than a frame. A loop adds what is abstract here, and runs the script.
    """

    def __init__(self, driver: Driver, offer: Offer, generation: int) -> None:
        """Deliver the fresh credentials, then what the journal has after the offered position, then what comes.

        The plaintext of the token lies here for as long as the attachment lasts, and nowhere else.
        """
        self.driver = driver
        self.transport = offer.transport
        self.dialect = offer.dialect
        self.credentials = Credentials(driver.session_id, generation, offer.token)
        self.generation = generation
        self.cursor = offer.position
        self.mode: Mode = "live"
        self.reason = ""
        self._notices: deque[bytes] = deque()
        self._noticed = 0
        self._eager = self.transport if isinstance(self.transport, EagerTransport) else None
        self._undrained = False
        self._writes = 0
        self._caught_up = False
        self._said_goodbye = False

    @property
    def notices(self) -> int:
        """How many notices wait."""
        return len(self._notices)

    @abstractmethod
    def start(self) -> None:
        """Begin to write, in a task of its own."""

    @abstractmethod
    def wake(self) -> None:
        """Something may be due."""

    def flush(self) -> None:
        """Something may be due, and nothing follows at once.

        Write it now, if the writer rests and the transport can; wake it for what is left, and for whatever is wrong.
        """
        if self._eager is None or not self._is_resting or self.mode != "live":
            self.wake()
        elif frames := self._take():
            try:
                self._undrained = not self._eager.write_now(frames)
            except TransportClosed:
                self._undrained = True  # the writer meets it when it drains
            if self._undrained or self._has_more:
                self.wake()

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
        self.driver.host.mark("max_notices", len(self._notices))
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
        self._cut()
        self.transport.abort(reason)

    def failed(self, error: Exception) -> None:
        """Say in the log that a transport broke its word; it was lost like any other."""
        driver, number = self.driver, self.generation
        log.error("%s: transport %d failed: %r", driver.session_id, number, error, extra=driver.about)

    def broken(self, error: Exception) -> None:
        """Give up a transport that broke its word in a :meth:`flush`: whoever spoke meanwhile has no part in that."""
        self.failed(error)
        self._lost(type(error).__name__)

    def script(self) -> Iterator[Write | Close | None]:
        """Yield what is to be done next, and go on when it is done; ``None`` is to rest until :meth:`wake`."""
        if self.mode != "evicted":
            yield Write((self.dialect.hello(self.driver.config, self.credentials),))
            self.driver.dispatch(m.ActivationDelivered(self.generation))
        while self.mode != "evicted":
            if frames := self._take():
                yield Write(frames)
            elif self.mode == "finishing":
                break
            elif not self._caught_up:
                self._caught_up = True
                self.driver.dispatch(m.ReplayDelivered(self.generation))
            else:
                yield None
        yield from self._goodbye()
        self._said_goodbye = True

    def _goodbye(self) -> Iterator[Write | Close]:
        if self.mode == "evicted":
            if words := self.dialect.replaced(self.driver.session_id, self.driver.value.generation):
                yield Write(words)
            yield Close(CloseCode.REPLACED, self.reason)
        else:
            yield Close(CloseCode.SHUTDOWN if self.reason == "server_shutdown" else CloseCode.ENDED, self.reason)

    def _take(self) -> tuple[bytes, ...]:
        notices = tuple(self._notices)
        self._notices.clear()
        frames, self.cursor = self.driver.take(self.generation, self.cursor, strict=self.dialect.is_strict)
        return (*notices, *frames) if notices else frames

    def _retire(self, mode: Mode, reason: str, within_s: float) -> None:
        if self.mode != "live":
            return
        self.mode, self.reason = mode, reason
        self._within(within_s)
        self.wake()

    def _lost(self, reason: str) -> None:
        if self.mode == "live":
            self.reason = reason
            self.driver.dispatch(m.TransportLost(self.generation, reason))

    def _end(self) -> None:
        try:
            if not self._said_goodbye:  # after a goodbye the transport ends by itself, within its own deadline
                self.transport.abort(self.reason)
        finally:
            self.driver.delivered(self)

    @property
    def _has_more(self) -> bool:
        return self.cursor < self.driver.value.journal.head

    # --- what waits, on whichever loop

    async def _perform(self, act: Write | Close | None) -> None:
        """Do one step of the script."""
        if act is None:
            self._writes = 0
            await self._rest()
            if self._eager is not None and self._undrained:
                self._undrained = False
                await self._in_time(self._eager.drain())
        elif isinstance(act, Write):
            await self._send(act.frames)
        else:
            await self.transport.close(act.code, act.reason)

    async def _send(self, frames: tuple[bytes, ...]) -> None:
        """Write; at once where that goes, and then let others have their turn if there is more."""
        if self._eager is None:
            await self._in_time(self.transport.send(frames))
        elif not self._eager.write_now(frames):
            await self._in_time(self._eager.drain())
        self._writes += 1
        if self._writes % WRITES_A_TURN == 0:
            await self._let_others()

    @abstractmethod
    async def _rest(self) -> None:
        """Return after the next :meth:`wake`."""

    @abstractmethod
    async def _in_time(self, writing: Awaitable[None]) -> None:
        """Wait for a write; past ``write_s`` the transport is lost."""

    @abstractmethod
    async def _let_others(self) -> None:
        """Give the other tasks of the loop a turn."""

    @property
    @abstractmethod
    def _is_resting(self) -> bool:
        """Whether the writer waits for nothing but :meth:`wake`."""

    @abstractmethod
    def _cut(self) -> None:
        """Break off whatever the writer is waiting in."""

    @abstractmethod
    def _within(self, seconds: float) -> None:
        """Cut the writer off in so many seconds, if it has not ended by then."""
