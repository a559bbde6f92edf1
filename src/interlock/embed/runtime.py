"""Interlock beside an asyncio server: one object that a lifespan owns, with a host's operations as coroutines.

    async with interlock.embed.Runtime(pipeline, fleet) as runtime:
        app.mount("/v1", runtime.asgi())

The host lives on trio, in guest mode, in the loop's own thread: it has the timers, the stages and their links. The
reader and the writer of each socket are tasks of asyncio, and call the session's plain functions directly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self

import trio

from interlock.embed.asgi import App
from interlock.embed.guest import Guest
from interlock.embed.landing import Landing
from interlock.embed.limits import EmbedLimits
from interlock.embed.misuse import Misuse
from interlock.embed.session import Session
from interlock.embed.wait import Wait
from interlock.embed.writer import AsyncioWriter
from interlock.observe.trace import Trace
from interlock.runtime.claim import Claim
from interlock.runtime.host import Host
from interlock.runtime.ports import Fleet, Pipeline, Recorder, Transport
from interlock.session.settings import Settings
from interlock.wire.dialect import DUPLEX, Dialect


class Runtime:
    """A host for as long as its block, entered once, in a running asyncio or uvloop loop. Leaving it is a shutdown.

    ``host`` is the host itself: its plain functions may be called from the loop's thread, its coroutines may not.
    Transports are those of asyncio: :meth:`interlock.runtime.ports.Transport.send` and ``close`` run on the loop.
    Everything but :meth:`owed` and :meth:`limits` raises :class:`Misuse` from another loop or thread, before the block
    and after it.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        fleet: Fleet,
        settings: Settings | None = None,
        *,
        record: Recorder | None = None,
        limits: EmbedLimits | None = None,
    ) -> None:
        """Join a pipeline to its stages. ``record`` keeps the trace; a :class:`Trace` is written and closed, too."""
        self.host = Host(pipeline, fleet, settings, record)
        self._trace = record if isinstance(record, Trace) else None
        self._app = App(self, limits or EmbedLimits())
        self._guest: Guest | None = None

    async def __aenter__(self) -> Self:
        """Start; return when the host runs. Raises :class:`Misuse` where it cannot."""
        await self.enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Shut down: every session ends, gets its terminal and gives back what it holds, within ``shutdown_s``.

        A cancel does not cut that short; it is raised when all is over.
        """
        await self.leave()

    async def enter(self) -> None:
        """Begin the block, for what is no ``async with``."""
        if self._guest is not None:
            raise Misuse("a Runtime is entered once; make another one")
        started = asyncio.get_running_loop().create_future()
        guest = self._guest = Guest(lambda: self._main(started), self.host.stop)
        try:
            await asyncio.wait((started, guest.over), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.host.stop()
            await guest.wait_over()
            raise
        if guest.is_over:
            guest.over.result()

    async def leave(self) -> None:
        """End the block."""
        assert self._guest is not None
        self.host.stop()
        await self._guest.wait_over()
        self._guest.over.result()

    # --- what a caller may do

    async def open(
        self, transport: Transport, config: Mapping[str, Any] | None = None, dialect: Dialect = DUPLEX
    ) -> Session:
        """Open a session on ``transport``; return when its credentials were handed over and it is attached.

        Cancelled before the credentials were handed over, it ends the session; after that, the session stays, in grace.
        Either has happened when ``task.cancel()`` returns. Raises what :meth:`interlock.runtime.host.Host.open` raises.
        """
        self.check()
        return await self._claimed(self.host.begin_open(transport, config or {}, AsyncioWriter, dialect))

    async def resume(
        self, session_id: str, token: str, position: int, transport: Transport, dialect: Dialect = DUPLEX
    ) -> Session:
        """Attach ``transport`` to a session, from ``position`` on; return when everything missed was handed over.

        A claim that is cut short lands in ROLLED_BACK, and has landed when ``task.cancel()`` returns: nothing is
        attached, a full grace runs, and ``token`` is still good. Raises what
        :meth:`interlock.runtime.host.Host.resume` raises.
        """
        self.check()
        claim = self.host.begin_resume(session_id, token, position, transport, AsyncioWriter, dialect)
        return await self._claimed(claim)

    def stop(self) -> None:
        """Begin the shutdown: no new session, and every session is closing when this returns. Idempotent."""
        self.check()
        self.host.stop()

    async def shutdown(self) -> None:
        """Begin the shutdown and wait until it is over; giving up the wait undoes nothing."""
        self.stop()
        assert self._guest is not None
        await asyncio.wait((self._guest.over,))

    async def wait_ready(self, *stages: str) -> None:
        """Wait until each of these stages has a worker that takes requests, or the host stops."""
        await self.wait(lambda: self.host.wait_ready(*stages))

    def owed(self) -> list[dict[str, Any]]:
        """List what somebody still owes; see :meth:`interlock.runtime.host.Host.owed`. Also after the block."""
        return self.host.owed()

    def limits(self) -> dict[str, dict[str, int]]:
        """Return every limit with what is used of it now, and the most that ever was; those of the door, too."""
        return self.host.limits() | self._app.limits()

    def asgi(self) -> App:
        """Return the ASGI app: a client of the wire protocol on each WebSocket, at whichever path it is mounted."""
        return self._app

    @property
    def settings(self) -> Settings:
        """The host's settings."""
        return self.host.settings

    @property
    def is_stopping(self) -> bool:
        """Whether the shutdown has begun."""
        return self.host.is_stopping

    @property
    def is_over(self) -> bool:
        """Whether the block was left, and all is shut down."""
        return self._guest is not None and self._guest.is_over

    # --- what its parts need

    @property
    def over(self) -> asyncio.Future[None]:
        """Done when all is shut down. To be waited for, and not to be cancelled."""
        assert self._guest is not None
        return self._guest.over

    def check(self) -> None:
        """Raise :class:`Misuse` unless this is the loop of a runtime that runs."""
        if self._guest is None:
            raise Misuse("this Runtime does not run yet: enter it, with `async with Runtime(...) as runtime`")
        if self._guest.is_over:
            failed = f"; it had failed: {self.host.defects[-1]}" if self.host.defects else ""
            raise Misuse(f"this Runtime is closed: its block was left, or its loop was closed{failed}")
        if not self._guest.is_here:
            raise Misuse(
                "a Runtime is called from the asyncio loop in which it was entered, and from no other loop or thread; "
                "from a thread of yours: loop.call_soon_threadsafe, or asyncio.run_coroutine_threadsafe"
            )

    async def wait(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run a wait of the host to its end, in a task of trio; given up, the wait is, too."""
        self.check()
        wait = Wait()
        self.host.spawn(lambda: wait.carry(work), wait.failed)
        try:
            await wait.done
        finally:
            wait.scope.cancel()

    async def _claimed(self, claim: Claim) -> Session:
        generation = await Landing(claim).take()
        return Session(claim.driver, generation, claim.offer.dialect, self)

    async def _main(self, started: asyncio.Future[None]) -> None:
        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(self.host.run)
                if self._trace is not None:
                    nursery.start_soon(self._trace.run)
                if not started.done():
                    started.set_result(None)
                await self.host.wait_stopped()
                nursery.cancel_scope.cancel()
        finally:
            if self._trace is not None:
                self._trace.close()
