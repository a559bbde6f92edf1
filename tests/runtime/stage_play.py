"""A host over scripted stages and transports in memory: the world that the runtime's tests act in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import trio
import trio.testing

from interlock.observe.trace import Trace
from interlock.runtime.driver import Driver
from interlock.runtime.host import Host, open_host
from interlock.runtime.ports import Pipeline, Recorder
from interlock.runtime.talk import Session
from interlock.session.settings import Settings
from interlock.transport.memory import MemoryTransport
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.scripted import Script, ScriptedFleet

LOUD = b"\x01\x00" * 160


@dataclass
class Play:
    """One host, its stages, and every transport that was ever offered to it."""

    host: Host
    fleet: ScriptedFleet
    trace: Trace
    transports: list[MemoryTransport] = field(default_factory=list)

    def transport(self, accepts: float = float("inf")) -> MemoryTransport:
        """Make a transport; the last checks of the play look at all of them."""
        made = MemoryTransport(accepts)
        self.transports.append(made)
        return made

    async def open(self, **config: Any) -> tuple[Session, MemoryTransport]:
        """Open a session."""
        transport = self.transport()
        return await self.host.open(transport, config), transport

    def driver(self, session: Session) -> Driver:
        """Return what drives a session."""
        return session._driver

    async def speak(self, session: Session) -> None:
        """Say something, and return when the whole reply is in the journal."""
        session.append(LOUD)
        session.commit()
        await self.until(session, lambda driver: any(entry.ended for entry in driver.value.playback))

    async def until(self, session: Session, holds: Any) -> None:
        """Return when something holds of a session's driver."""
        driver = self.driver(session)
        await driver.room.wait_for(lambda: holds(driver))


def state(session: Session, machine: str, key: str | int | None = None) -> str:
    """Return the state of one machine of a session."""
    return session._driver.value.state(machine, key)


async def speak_up_to(scene: Play, session: Session, kind: str) -> str:
    """Say something until a response has got so far; return its id."""
    session.append(LOUD)
    session.commit()
    await scene.until(session, lambda d: any(name == kind for name, _ in d.value.cells))
    return str(next(key for name, key in scene.driver(session).value.cells if name == kind))


@asynccontextmanager
async def play(
    frames: int = 10,
    *,
    pipeline: Pipeline | None = None,
    record: Recorder | None = None,
    defects: int = 0,
    **settings: Any,
) -> AsyncIterator[Play]:
    """Run a play; when it is over nothing may be owed, and no more defects have been met than it is about."""
    chosen = pipeline or EchoPipeline()
    fleet = ScriptedFleet(chosen.listen, *chosen.answer)
    fleet[EARS].script = Script(transcript="hello")
    fleet[MIND].script = Script(texts=("You said: ", "hello."))
    fleet[VOICE].script = Script(frames=frames, ahead=frames, begins="input")
    trace = Trace()
    async with open_host(chosen, fleet, Settings(**settings), record or trace) as host:
        played = Play(host, fleet, trace)
        await trio.testing.wait_all_tasks_blocked()
        yield played
    assert len(host.defects) == defects, host.defects
    assert host.owed() == []
    assert host.slots == 0
    assert host.deadlines.armed == ()
    assert fleet.held == 0
    assert all(len(made.closings) + len(made.aborts) <= 1 for made in played.transports)
