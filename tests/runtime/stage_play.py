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


@asynccontextmanager
async def play(frames: int = 10, **settings: Any) -> AsyncIterator[Play]:
    """Run a play; when it is over nothing may be owed, and no defect may have been met."""
    fleet = ScriptedFleet(EARS, MIND, VOICE)
    fleet[EARS].script = Script(transcript="hello")
    fleet[MIND].script = Script(texts=("You said: ", "hello."))
    fleet[VOICE].script = Script(frames=frames, ahead=frames, begins="input")
    trace = Trace()
    async with open_host(EchoPipeline(), fleet, Settings(**settings), trace) as host:
        played = Play(host, fleet, trace)
        await trio.testing.wait_all_tasks_blocked()
        yield played
    assert host.defects == []
    assert host.owed() == []
    assert host.slots == 0
    assert fleet.held == 0
    assert all(len(made.closings) + len(made.aborts) <= 1 for made in played.transports)
