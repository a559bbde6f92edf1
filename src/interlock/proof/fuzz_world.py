"""The world that a schedule happens in: a real host, scripted stages, clients in memory, and a clock that we move.

One run is one ``trio.run``, deterministic to the step: time moves only where an event says so, and trio's choice among
runnable tasks follows the schedule's ``order``. Everything is judged at rest, which is when every task waits; a run
that never rests, or whose end never comes, has found something as well.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import trio
import trio.testing

from interlock.errors import ClientError
from interlock.proof.fuzz_rest import wrong_at_rest, wrong_at_the_end
from interlock.proof.fuzz_schedule import Event, Schedule
from interlock.proof.fuzz_story import Ledger, Link, Story
from interlock.proof.trio_internals import fell
from interlock.runtime.acts import ClaimLost
from interlock.runtime.driver import Driver
from interlock.runtime.host import Host
from interlock.runtime.talk import Session
from interlock.session.settings import Settings
from interlock.session.value import Value
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.scripted import Script, ScriptedFleet

JUMPS: Final = 2_000
"""Deadlines that may pass while the host shuts down."""

SHORT: Final[dict[str, Any]] = {"write_bytes": 4096, "grace_s": 10.0, "cleanup_s": 4.0, "shutdown_s": 8.0}
TIGHT: Final[dict[str, Any]] = {"max_requests": 4, "max_fences": 2, "max_evicting": 1, "max_notices": 2, "max_turns": 1}

VARIANTS: Final = (
    Settings(**SHORT),
    Settings(**SHORT, **TIGHT, max_sessions=2),
    Settings(**SHORT, journal_bytes=64 * 1024, overflow="drop_oldest", journal_age_s=30.0),
    Settings(**SHORT, journal_bytes=64 * 1024, overflow="close", max_responses=1, idle_s=20.0),
)
"""The settings of a run: as usual, tight limits, and a small journal of either kind."""


@dataclass
class Client:
    """One user, on however many devices: what they have received is one knowledge."""

    links: list[Link] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)

    @property
    def session_id(self) -> str:
        """The session that this client has been told of."""
        return next((link.session_id for link in self.links if link.session_id), "")

    @property
    def story(self) -> Story | None:
        """What was heard of it."""
        return next((link.story for link in self.links if link.story), None)

    @property
    def link(self) -> Link:
        """The connection that it made last."""
        return self.links[-1]

    @property
    def position(self) -> int:
        """The highest number that arrived on any of its connections."""
        story = self.story
        return max(story.heard, default=0) if story is not None else 0


@dataclass
class Call:
    """One call of ``open`` or ``resume`` that was made for a client."""

    client: Client
    link: Link
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    outcome: str = ""
    """Empty while it waits; then ``returned``, ``cancelled``, or the reason of what it raised."""


FACE: Final = "face"
"""A third stage that answers: it has something to show when the voice has finished."""

CHAINS: Final = ((MIND, VOICE), (MIND, VOICE), (MIND,), (MIND, VOICE, FACE))
"""The stages that answer, for each of the variants."""


class FuzzedPipeline(EchoPipeline):
    """A pipeline that may take its time, or refuse."""

    def __init__(self, answer: tuple[str, ...]) -> None:
        self.answer = answer
        self.prepare_s = 0.0
        self.refuses = False

    async def prepare(self, config: Mapping[str, Any]) -> None:
        """Prepare, as long as it takes."""
        if self.prepare_s:
            await trio.sleep(self.prepare_s)
        if self.refuses:
            raise ClientError("engine_error", "the pipeline refuses")


class World:
    """One run. ``broken`` has every sentence that an oracle has said."""

    def __init__(self, schedule: Schedule, watch: Callable[[World, Event], None] | None = None) -> None:
        self.schedule = schedule
        self.clock = trio.testing.MockClock()
        self.ledger = Ledger()
        variant = schedule.variant % len(VARIANTS)
        self.pipeline = FuzzedPipeline(CHAINS[variant])
        self.fleet = fleet()
        self.host = Host(self.pipeline, self.fleet, VARIANTS[variant], self.ledger)
        self.host_scope = trio.CancelScope()
        self.host_over = False
        self.links: list[Link] = []
        self.clients: list[Client] = []
        self.calls: list[Call] = []
        self._watch = watch
        self.judged: dict[str, Value] = {}
        """The value of each session, as it was last looked at in rest."""
        self._decisions = -1
        self._rested = False

    @property
    def broken(self) -> list[str]:
        """Everything that was found so far."""
        return self.ledger.broken

    # --- what acts do

    def client(self, pick: int) -> Client | None:
        """Choose a client, if there is one."""
        return self.clients[pick % len(self.clients)] if self.clients else None

    def link(self, accepts: float, client: Client, position: int = 0) -> Link:
        """Connect a client once more."""
        made = Link(accepts, client.story, position)
        self.links.append(made)
        client.links.append(made)
        return made

    def call(self, call: Call, operation: Callable[[], Any]) -> None:
        """Begin a call of a client, in a task of its own."""
        self.calls.append(call)
        self.nursery.start_soon(self._call, call, operation)

    def say(self, session: Session | None, what: Callable[[Session], object]) -> None:
        """Let a client say something; being refused is nothing."""
        if session is None:
            return
        try:
            what(session)
        except ClientError:
            return

    async def _call(self, call: Call, operation: Callable[[], Any]) -> None:
        with call.scope:
            try:
                call.client.sessions.append(await operation())
                call.outcome = "returned"
            except (ClientError, ClaimLost) as error:
                call.outcome = str(error)
        call.outcome = call.outcome or "cancelled"

    # --- its course

    async def live(self, acts: Mapping[str, Act]) -> None:
        """Let everything happen, then bring it all to its end. What has none is felled."""
        async with trio.open_nursery() as self.nursery:
            try:
                await self._happen(acts)
            finally:
                for task in () if self.host_over else list(_tasks(self.nursery)):
                    fell(task)
            self.nursery.cancel_scope.cancel()

    async def _happen(self, acts: Mapping[str, Act]) -> None:
        await self.nursery.start(self._hosted)
        await self.rest()
        async for event in self.events():
            act = acts.get(event.act)
            seconds = act(self, event.pick) if act is not None else None
            await self._after(event, seconds or 0.0)
            if self._watch is not None:
                self._watch(self, event)
        await self._finish()

    async def events(self) -> AsyncIterator[Event]:
        """Yield what happens. Whoever steps a world from outside has another source."""
        for event in self.schedule.events:
            yield event

    async def _after(self, event: Event, seconds: float) -> None:
        if seconds:
            await self.pass_time(seconds)
        elif event.haste == 0:
            await self.rest()
        elif event.haste > 1:
            self._rested = False  # from here on, others may run in the same breath as we do
            for _ in range(1 if event.haste == 2 else 3):
                await trio.lowlevel.checkpoint()

    async def rest(self, *, whole: bool = False) -> None:
        """Let everything run until all wait, and ask."""
        now = trio.lowlevel.current_statistics()
        if not self._rested or now.tasks_runnable or now.seconds_to_next_deadline <= 0:
            await trio.testing.wait_all_tasks_blocked()
            self._rested = True
        elif self.ledger.decisions == self._decisions and not whole:
            return  # the act was nothing
        self._decisions = self.ledger.decisions
        self.broken.extend(wrong_at_rest(self, whole=whole))

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, from deadline to deadline."""
        until = trio.current_time() + seconds
        while trio.current_time() + (gap := await self._gap()) < until:
            self.clock.jump(gap + 1e-9)
        self.clock.jump(max(until - trio.current_time(), 0.0))
        await self.rest()

    async def _gap(self) -> float:
        await trio.testing.wait_all_tasks_blocked()
        return max(trio.lowlevel.current_statistics().seconds_to_next_deadline, 0.0)

    async def _finish(self) -> None:
        await self.rest(whole=True)
        await self._recover()
        for name, stage in self.fleet.stages.items():
            if stage.condition == "lost":
                self.fleet.gone(name)
        self.host.stop()
        for _ in range(JUMPS):
            gap = await self._gap()
            if self.host_over or gap == float("inf"):
                break
            self.clock.jump(gap + 1e-9)
        await self.rest()
        self.broken.extend(wrong_at_the_end(self))

    async def _recover(self) -> None:
        """Promise 3, asked as a client would: a token that was received opens the session, while it is open."""
        for driver in list(self.host.drivers.values()):
            if self.host.is_stopping or driver.value.state("session") != "OPEN" or driver.offers:
                continue
            story = self.ledger.story(driver.session_id)
            client = next((each for each in self.clients if each.story is story), None)
            if client is not None and not await self._opens(driver, client, story):
                self.broken.append(f"promise 3: no token that the client has received opens {driver.session_id}")

    async def _opens(self, driver: Driver, client: Client, story: Story) -> bool:
        for token in dict.fromkeys(reversed(story.tokens)):
            position = max(client.position, driver.value.journal.trimmed)
            call = Call(client, self.link(float("inf"), client, position))
            self.call(call, _resuming(self.host, driver.session_id, token, position, call.link))
            await self.rest()
            if call.outcome == "returned" or driver.value.state("session") != "OPEN":
                return True
        return False

    async def _hosted(self, *, task_status: trio.TaskStatus[Host]) -> None:
        try:
            with self.host_scope:
                await self.host.run(task_status=task_status)
        finally:
            self.host_over = True


Act: TypeAlias = Callable[[World, int], float | None]
"""Something that happens; it returns seconds where so much time is to pass."""


def fleet() -> ScriptedFleet:
    """Return stages that hear, think at once, and speak for 0.32 s: a response is live until time passes."""
    made = ScriptedFleet(EARS, MIND, VOICE, FACE)
    made[EARS].script = Script(transcript="hello")
    made[MIND].script = Script(texts=("You said: ", "hello."))
    made[VOICE].script = Script(frames=8, ahead=2, begins="input")
    made[FACE].script = Script(frames=2, begins="finish")
    return made


def _resuming(host: Host, session_id: str, token: str, position: int, link: Link) -> Callable[[], Any]:
    return lambda: host.resume(session_id, token, position, link)


def _tasks(nursery: trio.Nursery) -> Iterator[trio.lowlevel.Task]:
    for task in nursery.child_tasks:
        yield task
        for inner in task.child_nurseries:
            yield from _tasks(inner)
