"""The world that our own scenarios are swept in: a real host, scripted stages, and transports that can be cut.

The host runs in a scope that is shown to the sweep as ``host``; the writer of the transport that the operation brings
along is shown as ``delivery``; preparation and transport are ports whose awaits fail, hang and are cancelled. A
:class:`interlock.proof.promises.Witness` looks at every commit, and at everything beside the value when all is at rest.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio
import trio.testing

from interlock.errors import ClientError, WorldError
from interlock.proof.play_state import Eye
from interlock.proof.promises import CLAIMED, Witness
from interlock.proof.trial import Trial
from interlock.runtime.acts import ClaimLost
from interlock.runtime.driver import Driver
from interlock.runtime.host import Host
from interlock.runtime.ports import TransportClosed
from interlock.runtime.talk import Session
from interlock.runtime.writer import TrioWriter
from interlock.session.settings import Settings
from interlock.transport.memory import MemoryTransport
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.scripted import Script, ScriptedFleet

GRACE_S = 10.0
LOUD = b"\x01\x00" * 160
FOREIGN = (ClientError, ClaimLost, TransportClosed)
"""What an operation may raise when the world does what the world does."""


class Fault(enum.StrEnum):
    """What the answering stage does while the operation runs."""

    PLAIN = "plain"
    FAILS = "fails"
    HANGS = "hangs"
    LATE = "late"
    DIES = "dies"


class Shown(MemoryTransport):
    """A transport whose writer's scope is shown to the sweep when it first writes."""

    def __init__(self, trial: Trial, driver_of: Callable[[MemoryTransport], trio.CancelScope | None]) -> None:
        super().__init__()
        self._show: Callable[[], None] | None = lambda: self._expose(trial, driver_of)

    async def send(self, frames: Sequence[bytes]) -> None:
        """Write, and be seen."""
        if self._show is not None:
            show, self._show = self._show, None
            show()
        await super().send(frames)

    def _expose(self, trial: Trial, driver_of: Callable[[MemoryTransport], trio.CancelScope | None]) -> None:
        scope = driver_of(self)
        if scope is not None:
            trial.expose("delivery", scope)


class Play:
    """One host with its world. ``subject`` is the session that the operation is about, once there is one."""

    def __init__(self, trial: Trial, host: Host, fleet: ScriptedFleet, witness: Witness, fault: Fault) -> None:
        self.trial = trial
        self.host = host
        self.fleet = fleet
        self.witness = witness
        self.fault = fault
        self.transports: list[MemoryTransport] = []
        self.session: Session | None = None
        self.first: MemoryTransport | None = None

    @property
    def subject(self) -> Session:
        """The session of the set-up."""
        assert self.session is not None
        return self.session

    @property
    def driver(self) -> Driver:
        """What drives it."""
        return self.subject._driver

    def transport(self) -> MemoryTransport:
        """Return a transport that nothing happens to."""
        self.transports.append(MemoryTransport())
        return self.transports[-1]

    def cut_transport(self) -> MemoryTransport:
        """Return the transport of the operation: its writer can be cancelled, and each of its awaits can fail."""
        shown = Shown(self.trial, self._scope_of)
        self.transports.append(shown)
        return self.trial.port(shown, "transport", error=lambda: TransportClosed("reset"))

    async def open(self) -> None:
        """Open the session that the operation is about."""
        self.first = self.transport()
        self.session = await self.host.open(self.first)

    @property
    def is_honest(self) -> bool:
        """Whether no clock was torn and no transport was made to fail, so that whoever reads is told."""
        return set(self.trial.injected) <= {"op", "host", "pipeline.prepare"}

    async def let_evictions_pass(self) -> None:
        """Whoever was superseded or dropped is closed within the time that it has, whether it reads or not."""
        await trio.sleep(self.host.settings.evict_s + 0.1)
        closing = [driver.value.closing for driver in self.host.drivers.values() if not driver.ended.is_set()]
        assert not any(closing), f"promise 1: past evict_s, transports {closing} are not closed"

    def look(self) -> None:
        """Ask at rest whether the promises hold, and whether the books know all that the stages hold."""
        booked = {key for driver in self.host.drivers.values() for _, key in driver.value.cells}
        held = {request_id for stage in self.fleet.stages.values() for request_id in stage.held}
        assert held <= booked, f"promise 4: stages hold {sorted(held - booked)}, and no books say so"
        self.witness.verdict(self.host)
        for driver in self.host.drivers.values():
            numbers = [frame.seq for frame in driver.frames.live]
            assert numbers == sorted(set(numbers)), f"promise 3: frames are kept as {numbers}"
        for transport in self.transports:
            assert transport.numbers == sorted(set(transport.numbers)), f"promise 3: sent as {transport.numbers}"

    async def speak(self, *, whole: bool) -> None:
        """Say something, and return when the reply is whole, or when it has begun."""
        self.subject.append(LOUD)
        self.subject.commit()
        ended = any if whole else lambda _: bool(self.driver.value.playback)
        await self.driver.room.wait_for(lambda: ended([entry.ended for entry in self.driver.value.playback]))
        await trio.testing.wait_all_tasks_blocked()

    def stir(self) -> None:
        """Let the answering stage do what its fault says, while the operation runs."""
        if self.fault is Fault.DIES and self.fleet[VOICE].condition == "ready":
            self.fleet.lose(VOICE)

    def let_go(self) -> None:
        """Let the stage that died be gone, so that what it held is free."""
        if self.fleet[VOICE].condition == "lost":
            self.fleet.gone(VOICE)

    def _scope_of(self, transport: MemoryTransport) -> trio.CancelScope | None:
        for driver in self.host.drivers.values():
            for delivery in driver.deliveries.values():
                if getattr(delivery.transport, "_port", delivery.transport) is transport:
                    assert isinstance(delivery, TrioWriter)
                    return delivery.scope
        return None


class CutPipeline(EchoPipeline):
    """A pipeline whose preparation takes a few steps."""

    def __init__(self, steps: int = 2) -> None:
        self._steps = steps

    async def prepare(self, config: Mapping[str, Any]) -> None:
        """Take a while."""
        for _ in range(self._steps):
            await trio.lowlevel.checkpoint()
        await super().prepare(config)


def scripted(fault: Fault, *, whole: bool) -> ScriptedFleet:
    """Return stages of which the answering one has a fault. ``whole``: replies end by themselves."""
    fleet = ScriptedFleet(EARS, MIND, VOICE, record=False)
    fleet[EARS].script = Script(transcript="hello")
    fleet[MIND].script = Script(texts=("You said: ", "hello."))
    fleet[VOICE].script = Script(frames=4, ahead=4, begins="input", ends=whole)
    if fault is Fault.FAILS:
        fleet[VOICE].script.abort_failures = 2
    elif fault is Fault.HANGS:
        fleet[VOICE].script.abort = "hang"
        fleet[VOICE].script.frames = 8  # it goes on with what nobody wants any more
    elif fault is Fault.LATE:
        fleet[VOICE].script.delay_s = 0.7
    return fleet


@asynccontextmanager
async def playing(trial: Trial, fault: Fault, *, whole: bool, prepare_steps: int = 2) -> AsyncIterator[Play]:
    """Run a play; when it is over nothing may be held by anybody, and every transport was closed once."""
    fleet, witness = scripted(fault, whole=whole), Witness()
    pipeline = trial.port(CutPipeline(prepare_steps), "pipeline", error=lambda: WorldError("the pipeline has failed"))
    settings = Settings(write_bytes=2048, grace_s=GRACE_S, cleanup_s=2.0, shutdown_s=8.0, abort_s=1.0)
    host = Host(pipeline, fleet, settings, witness)
    async with trio.open_nursery() as nursery:
        await nursery.start(_hosted, trial, host)
        await trio.testing.wait_all_tasks_blocked()
        play = Play(trial, host, fleet, witness, fault)
        trial.reveal(Eye(play))
        yield play
        play.look()
        await play.let_evictions_pass()
        play.let_go()
        host.stop()
    witness.verdict(host)
    assert_all_is_free(play)


async def _hosted(trial: Trial, host: Host, *, task_status: trio.TaskStatus[Host]) -> None:
    with trial.expose("host", trio.CancelScope()):
        await host.run(task_status=task_status)


def assert_all_is_free(play: Play) -> None:
    """After the end all is zero: promise 4."""
    host = play.host
    assert host.owed() == [], host.owed()
    assert (host.slots, len(host.drivers), len(host.deadlines)) == (0, 0, 0)
    assert play.fleet.held == 0, "a stage still holds a request"
    for number, transport in enumerate(play.transports):
        endings = [*transport.closings, *transport.aborts]
        assert len(endings) <= 1, f"transport {number} was closed as {endings}"
        told = not play.is_honest or is_stalled(transport) or "server_shutdown" not in transport.aborts
        assert told, f"promise 5: transport {number} reads, and was aborted before its terminal event"


def is_stalled(transport: MemoryTransport) -> bool:
    """Say whether the peer takes nothing now."""
    return transport._accepts < 1


def claims(play: Play, transport: MemoryTransport) -> bool:
    """Say whether a transport carries a session now."""
    return any(
        getattr(delivery.transport, "_port", delivery.transport) is transport
        and delivery.generation == driver.value.generation
        and driver.value.state("attachment") in CLAIMED
        for driver in play.host.drivers.values()
        for delivery in driver.deliveries.values()
    )
