"""The host: every session of a process, the stages behind them, and the one place where anything is awaited for them.

It owns a nursery in a shielded scope of its own. A cancel from outside is not a cut: it becomes a shutdown with a
deadline, in which every session ends, gets its terminal and gives back what it holds; then the cancel goes on.
A session that nobody is attached to has no task; timers are one heap and one task for all.
"""

from __future__ import annotations

import itertools
import logging
import secrets
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio

from interlock.errors import ClientError, Defect, LimitReached
from interlock.machine import Message
from interlock.runtime.answering import NO_WISH, speech_of
from interlock.runtime.beside import Offer, Timer
from interlock.runtime.claim import Claim
from interlock.runtime.deadlines import Deadlines
from interlock.runtime.delivery import Delivery
from interlock.runtime.driver import Driver
from interlock.runtime.ledger import limits_of, note, owed_by
from interlock.runtime.perform import Failure, contain
from interlock.runtime.ports import Fleet, Pipeline, Recorder, Reply, Transport, WritingPipeline
from interlock.runtime.room import Room
from interlock.runtime.silent import Silent
from interlock.runtime.talk import Session
from interlock.runtime.tombs import Tombs
from interlock.runtime.waiter import Waiter
from interlock.runtime.writer import TrioWriter
from interlock.session.asked import Wish, check_config, check_kind, check_modalities, writes
from interlock.session.credential import digest_of
from interlock.session.settings import Settings
from interlock.tables import messages as m
from interlock.wire.dialect import DUPLEX, Dialect


class Host:
    """Opens, resumes and ends sessions. Use :func:`open_host`, or start :meth:`run` in a nursery of your own."""

    def __init__(
        self, pipeline: Pipeline, fleet: Fleet, settings: Settings | None = None, record: Recorder | None = None
    ) -> None:
        """Join a pipeline to its stages. ``record`` keeps the trace.

        ``timed``, where somebody sets it, is told the seconds of each dispatch to a machine; ``turned_away`` counts
        refused opens.
        """
        self.pipeline = pipeline
        self.fleet = fleet
        self.settings = settings or Settings()
        self.record: Recorder = record or Silent()
        self.deadlines: Deadlines[Timer] = Deadlines()
        self.drivers: dict[str, Driver] = {}
        self.tombs = Tombs(self.settings.max_tombstones, self.settings.grace_s)
        self.defects: list[str] = []
        self.stale = 0
        self.turned_away: Counter[str] = Counter()
        self.timed: Callable[[float], None] | None = None
        self.high_water: dict[str, int] = {}
        self.log = logging.getLogger("interlock")
        self._claims = itertools.count(1)
        self._routes: dict[str, Driver] = {}
        self._seeking: dict[str, dict[str, Driver]] = {}
        self._gone: dict[str, int] = {}
        self._nursery: trio.Nursery | None = None
        self._thread = 0
        self._stopping = trio.Event()
        self._stopped = trio.Event()
        self.room = Room()
        self._readied = Room()

    # --- what a caller may do

    async def open(
        self, transport: Transport, config: Mapping[str, Any] | None = None, dialect: Dialect = DUPLEX
    ) -> Session:
        """Open a session on ``transport``; return when its credentials were handed over and it is attached.

        Cancelled before the credentials were handed over, it ends the session; after that, the session stays, in grace.
        Raises :class:`LimitReached` when every slot is taken, :class:`ClientError` when the configuration is refused,
        and :class:`interlock.runtime.acts.ClaimLost` when the transport fails.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        claim = self.begin_open(transport, config or {}, dialect=dialect)
        generation = await claim.wait()
        return Session(claim.driver, generation, dialect)

    async def resume(
        self, session_id: str, token: str, position: int, transport: Transport, dialect: Dialect = DUPLEX
    ) -> Session:
        """Attach ``transport`` to a session, from ``position`` on; return when everything missed was handed over.

        A claim that is cut short, by a cancel or by the transport, lands in ROLLED_BACK: nothing is attached, a full
        grace runs, and ``token`` is still good. Raises :class:`ClientError` when the resume is refused, which moves
        nothing, and :class:`interlock.runtime.acts.ClaimLost` when the transport or the session is lost.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        claim = self.begin_resume(session_id, token, position, transport, dialect=dialect)
        generation = await claim.wait()
        return Session(claim.driver, generation, dialect)

    def begin_open(
        self,
        transport: Transport,
        config: Mapping[str, Any],
        writer: type[Delivery] = TrioWriter,
        dialect: Dialect = DUPLEX,
    ) -> Claim:
        """Begin what :meth:`open` waits for; ``writer`` writes on the loop of the transport."""
        driver = self._admit(config)
        offer = self._offer(driver, transport, 0, writer, dialect)
        driver.start()
        return Claim(driver, offer)

    def begin_resume(
        self,
        session_id: str,
        token: str,
        position: int,
        transport: Transport,
        writer: type[Delivery] = TrioWriter,
        dialect: Dialect = DUPLEX,
    ) -> Claim:
        """Begin what :meth:`resume` waits for; ``writer`` writes on the loop of the transport."""
        driver = self.drivers.get(session_id)
        if driver is None or driver.ended.is_set():
            raise self.tombs.error(session_id)
        offer = self._offer(driver, transport, position, writer, dialect)
        try:
            driver.dispatch(m.ResumeRequested(offer.claim, digest_of(token), position, digest_of(offer.token)))
        except ClientError:
            driver.offers.pop(offer.claim, None)
            raise
        return Claim(driver, offer)

    def stop(self) -> None:
        """Begin the shutdown: no new session, and every session is closing when this returns (AP-18). Idempotent."""
        self._stopping.set()
        self._readied.changed()
        self._end_sessions()

    async def shutdown(self) -> None:
        """Begin the shutdown and wait until it is over; giving up the wait undoes nothing."""
        self.stop()
        await self._stopped.wait()

    async def wait_stopped(self) -> None:
        """Wait until a shutdown that somebody began is over."""
        await self._stopped.wait()

    async def wait_ready(self, *stages: str) -> None:
        """Wait until each of these stages has a worker that takes requests, or the host stops."""
        await self._readied.wait_for(lambda: self.is_stopping or all(self.fleet.link(stage) for stage in stages))

    def owed(self) -> list[dict[str, Any]]:
        """List what somebody still owes: transports to close, stage requests to release, workers to end."""
        sessions = [entry for driver in self.drivers.values() for entry in owed_by(driver)]
        workers = [dict(entry, kind="worker") for entry in self.fleet.owed()]
        return [*sessions, *(w for w in workers if self.is_stopping or w["state"] not in {"STARTING", "READY"})]

    def limits(self) -> dict[str, dict[str, int]]:
        """Return every limit with what is used of it now, and the most that ever was."""
        return limits_of(self)

    @property
    def slots(self) -> int:
        """How many sessions hold a slot. Derived: a session that is not CLOSED holds one."""
        return sum(driver.value.holds_slot for driver in self.drivers.values())

    @property
    def is_stopping(self) -> bool:
        """Whether the shutdown has begun."""
        return self._stopping.is_set()

    # --- its life

    async def run(self, *, task_status: trio.TaskStatus[Host] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until stopped or cancelled; either way, return only when the shutdown is over."""
        self._thread = threading.get_ident()
        cancelled: trio.Cancelled | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._serve, task_status)
            try:
                await self._stopped.wait()
            except trio.Cancelled as error:
                cancelled = error  # raised again below, when all is over: the nursery would make a group of it
                self.stop()
        if cancelled is not None:
            raise cancelled

    async def _serve(self, task_status: trio.TaskStatus[Host]) -> None:
        try:
            with trio.CancelScope(shield=True):
                async with trio.open_nursery() as self._nursery:
                    await self._live(self._nursery, task_status)
                    self._nursery.cancel_scope.cancel()
        finally:
            self._stopped.set()

    async def _live(self, nursery: trio.Nursery, task_status: trio.TaskStatus[Host]) -> None:
        fleet_done = trio.Event()
        nursery.start_soon(self.deadlines.run, self._overdue)
        self.spawn(lambda: self._keep_fleet(fleet_done), lambda error: self._fleet_failed(error, fleet_done))
        task_status.started(self)
        await self._stopping.wait()
        await self._end_all(fleet_done)

    async def _keep_fleet(self, done: trio.Event) -> None:
        await self.fleet.run(self)
        done.set()

    def _fleet_failed(self, error: Exception, done: trio.Event) -> None:
        self.log.error("the stage workers have failed: %r; shutting down", error)
        self.defects.append(repr(error))
        done.set()
        self.stop()

    async def _end_all(self, fleet_done: trio.Event) -> None:
        """End every session, then the stages, all within ``shutdown_s``; what is not gone then is owed, and says so."""
        self._end_sessions()
        with trio.move_on_after(self.settings.shutdown_s):
            await self.room.wait_for(lambda: all(driver.is_quiet for driver in self.drivers.values()))
            self.fleet.stop()
            await fleet_done.wait()
            await self.room.wait_for(lambda: not self.drivers)
        self._end_overdue()
        self.fleet.stop()

    def _end_sessions(self) -> None:
        for driver in list(self.drivers.values()):
            driver.dispatch(m.EndRequested("server_shutdown"))

    def _end_overdue(self) -> None:
        """Past the deadline no timer is served any more: what still waits for its stages has waited long enough."""
        for driver in list(self.drivers.values()):
            if not driver.ended.is_set():
                driver.dispatch(m.CleanupOverdue())

    # --- what drivers need

    def spawn(self, work: Callable[[], Awaitable[None]], failed: Failure) -> None:
        """Start a task whose failure is an event of its own session."""
        assert self._nursery is not None, "the host is not running"
        self._nursery.start_soon(contain, work, failed)

    def now(self) -> float:
        """Return the clock of the host, in seconds."""
        return trio.current_time()

    def check_thread(self) -> None:
        """Raise :class:`Defect` on any thread but the host's."""
        if threading.get_ident() != self._thread:
            raise Defect("a session was used from a foreign thread; go through TrioToken.run_sync_soon")

    def seek_worker(self, driver: Driver, request_id: str, stage: str) -> None:
        """Assign a request to the stage's worker, now or when one is ready."""
        self._routes[request_id] = driver
        link = self.fleet.link(stage)
        if link is None:
            self._seeking.setdefault(stage, {})[request_id] = driver
        else:
            driver.dispatch(m.WorkerAssigned(request_id, link.incarnation))

    def forget(self, request_id: str) -> None:
        """A request is released; nobody looks for its worker any more."""
        self._routes.pop(request_id, None)
        for seeking in self._seeking.values():
            seeking.pop(request_id, None)

    def is_gone(self, stage: str, incarnation: int) -> bool:
        """Say whether this incarnation of a stage's worker is known to be gone."""
        return incarnation <= self._gone.get(stage, 0)

    def answer(self, driver: Driver, wish: Wish = NO_WISH) -> None:
        """Ask for a response to what was said last, or to what the wish names."""
        response_id = f"resp_{driver.session_id.removeprefix('sess_')}_{driver.value.answered + 1}"
        speech = speech_of(driver, wish)
        stages = self.pipeline.write if isinstance(self.pipeline, WritingPipeline) and speech.written else None
        driver.speak(response_id, speech, tuple(stages or self.pipeline.answer))

    def check(self, config: Mapping[str, Any]) -> None:
        """Refuse a configuration that no session here can have. Raises :class:`ClientError`."""
        check_config(config, self.settings)
        check_kind(config)
        check_modalities(config)
        if writes(config) and not isinstance(self.pipeline, WritingPipeline):
            text = "this pipeline answers in audio only"
            raise ClientError("invalid_session_config", text, param="output_modalities")

    def count_stale(self) -> None:
        """Count something that came for what is no more."""
        self.stale += 1

    def defect(self, driver: Driver, event: Message, error: Defect) -> None:
        """Be loud about a defect of ours, and end the one session that met it."""
        self.defects.append(f"{driver.session_id}: {error}")
        name = type(event).__name__
        self.log.error("%s: defect on %s: %s", driver.session_id, name, error, extra=driver.about)
        if driver.value.state("session") in {"OPENING", "OPEN"} and not isinstance(event, m.EndRequested):
            driver.dispatch(m.EndRequested("internal_error"))

    def mark(self, limit: str, used: int) -> None:
        """Raise the high-water mark of a limit."""
        if used > self.high_water.get(limit, 0):
            self.high_water[limit] = used

    def settled(self, driver: Driver) -> None:
        """Look at a session after a run: say that it has ended, and let go of it when nothing is left."""
        note(self, driver)
        state = driver.value.state("session")
        if state in {"QUARANTINED", "CLOSED"} and not driver.ended.is_set():
            driver.ended.set()
            self.tombs.bury(driver.session_id, driver.value.cells["session", None].data.reason, self.now())
        if driver.is_quiet:
            driver.frames.clear()
            if state == "CLOSED":
                self.drivers.pop(driver.session_id, None)
        self.room.changed()

    # --- what the fleet tells

    def worker_ready(self, stage: str, incarnation: int) -> None:
        """Assign every request that waits for the stage."""
        self._readied.changed()
        for request_id, driver in self._seeking.pop(stage, {}).items():
            driver.dispatch(m.WorkerAssigned(request_id, incarnation))

    def worker_lost(self, stage: str, incarnation: int) -> None:
        """Tell every session, each by a dispatch of its own."""
        for driver in list(self.drivers.values()):
            driver.dispatch(m.StageLost(stage, incarnation))

    def worker_gone(self, stage: str, incarnation: int) -> None:
        """Tell every session that what the worker held is free."""
        self._gone[stage] = max(incarnation, self._gone.get(stage, 0))
        for driver in list(self.drivers.values()):
            driver.dispatch(m.StageGone(stage, incarnation))

    def reply(self, stage: str, incarnation: int, *replies: Reply) -> None:
        """Route what a stage says to the session that owns the request; count what nobody owns."""
        driver = self._routes.get(replies[0].request_id)
        if driver is None:
            self.stale += len(replies)
        else:
            driver.reply(incarnation, *replies)

    def _overdue(self, timer: Timer) -> None:
        driver = self.drivers.get(timer.session_id)
        if driver is not None:
            driver.fire(timer)

    def _admit(self, config: Mapping[str, Any]) -> Driver:
        if self.is_stopping:
            self.turned_away["session_closed"] += 1
            raise ClientError("session_closed", "the server is shutting down", retryable=True)
        if self.slots >= self.settings.max_sessions:
            self.turned_away["resource_exhausted"] += 1
            raise LimitReached("max_sessions", self.settings.max_sessions)
        self.check(config)
        session_id = f"sess_{secrets.token_urlsafe(16)}"
        driver = self.drivers[session_id] = Driver(self, session_id, config)
        self.high_water["max_sessions"] = max(self.slots, self.high_water.get("max_sessions", 0))
        return driver

    def _offer(
        self, driver: Driver, transport: Transport, position: int, writer: type[Delivery], dialect: Dialect
    ) -> Offer:
        claim = next(self._claims)
        offer = Offer(claim, transport, secrets.token_urlsafe(32), position, Waiter(), writer, dialect)
        driver.offers[claim] = offer
        return offer


@asynccontextmanager
async def open_host(
    pipeline: Pipeline, fleet: Fleet, settings: Settings | None = None, record: Recorder | None = None
) -> AsyncIterator[Host]:
    """Run a host for as long as the block; leaving it, however, shuts it down within its deadlines."""
    host = Host(pipeline, fleet, settings, record)
    async with trio.open_nursery() as nursery:
        await nursery.start(host.run)
        try:
            yield host
        finally:
            host.stop()
