"""A runtime over scripted stages and transports in memory, in a loop of asyncio: the world that its tests act in."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from interlock.embed import Runtime, Session
from interlock.proof.promises import Witness
from interlock.runtime.driver import Driver
from interlock.runtime.ports import Pipeline, TransportClosed
from interlock.session.settings import Settings
from interlock.transport.memory import Received
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.scripted import Script, ScriptedFleet

LOUD = b"\x01\x00" * 160

Run: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]


class Wire(Received):
    """A transport in memory on asyncio. It takes ``accepts`` frames, then ``send`` blocks, as if nobody read."""

    def __init__(self, accepts: float = math.inf) -> None:
        super().__init__()
        self.stalled = asyncio.Event()
        self.over = asyncio.Event()
        self._accepts = accepts
        self._changed = asyncio.Event()

    async def send(self, frames: Sequence[bytes]) -> None:
        """Take frames one by one, each in a step of its own, as far as the peer accepts them."""
        for frame in frames:
            await asyncio.sleep(0)
            await self._room()
            self._accepts -= 1
            self.frames.append(frame)

    async def close(self, code: int, reason: str) -> None:
        """Say goodbye, if the peer still accepts anything."""
        await asyncio.sleep(0)
        await self._room()
        self.closings.append((code, reason))
        self.over.set()

    def abort(self, reason: str) -> None:
        """Free the transport."""
        if not self.closings and not self.aborts:
            self.aborts.append(reason)
        self.over.set()
        self._changed.set()

    async def _room(self) -> None:
        while self._accepts < 1 and not self.over.is_set():
            self.stalled.set()
            await self._changed.wait()
        if self.over.is_set():
            raise TransportClosed("the peer is gone")


class EagerWire(Wire):
    """One that also writes without waiting, a frame at a time: the others wait until somebody drains it."""

    def __init__(self, accepts: float = math.inf) -> None:
        super().__init__(accepts)
        self._left: deque[bytes] = deque()

    def write_now(self, frames: Sequence[bytes]) -> bool:
        """Take the first frame, if the peer accepts it; say whether that was all."""
        if self.over.is_set():
            raise TransportClosed("the peer is gone")
        self._left.extend(frames)
        if self._left and self._accepts >= 1:
            self._accepts -= 1
            self.frames.append(self._left.popleft())
        return not self._left

    async def drain(self) -> None:
        """Take what is left."""
        frames, self._left = list(self._left), deque()
        await Wire.send(self, frames)

    async def send(self, frames: Sequence[bytes]) -> None:
        """Take all of it."""
        if not self.write_now(frames):
            await self.drain()


@dataclass
class Scene:
    """One runtime, its stages, and every transport that was ever offered to it."""

    runtime: Runtime
    fleet: ScriptedFleet
    witness: Witness
    wires: list[Wire] = field(default_factory=list)
    kind: type[Wire] = Wire

    def wire(self, accepts: float = math.inf) -> Wire:
        """Make a transport; the last checks of the scene look at all of them."""
        self.wires.append(self.kind(accepts))
        return self.wires[-1]

    async def open(self) -> tuple[Session, Wire]:
        """Open a session."""
        wire = self.wire()
        return await self.runtime.open(wire), wire

    async def spoken(self) -> tuple[Session, Wire]:
        """Open a session, and say something; the whole reply is in the journal, and on the wire."""
        session, wire = await self.open()
        session.append(LOUD)
        session.commit()
        await self.until(session, lambda driver: any(entry.ended for entry in driver.value.playback))
        driver = session._driver
        await self.until(session, lambda _: driver.value.journal.handed == driver.value.journal.head)
        return session, wire

    async def until(self, session: Session, holds: Callable[[Driver], bool]) -> None:
        """Return when something holds of a session's driver."""
        driver = session._driver
        await self.runtime.wait(lambda: driver.room.wait_for(lambda: holds(driver)))


def state(session: Session, machine: str) -> str:
    """Return the state of one machine of a session."""
    return session._driver.value.state(machine)


def claims(scene: Scene, wire: Wire) -> bool:
    """Say whether a transport carries a session now, or is owed a close."""
    return any(
        delivery.transport is wire
        for driver in scene.runtime.host.drivers.values()
        for delivery in driver.deliveries.values()
    )


def scripted(frames: int = 10) -> ScriptedFleet:
    """Make stages that answer a turn with so many frames of audio, at once."""
    fleet = ScriptedFleet(EARS, MIND, VOICE)
    fleet[EARS].script = Script(transcript="hello")
    fleet[MIND].script = Script(texts=("You said: ", "hello."))
    fleet[VOICE].script = Script(frames=frames, ahead=frames, begins="input")
    return fleet


@asynccontextmanager
async def scene(
    frames: int = 10,
    *,
    pipeline: Pipeline | None = None,
    defects: int = 0,
    kind: type[Wire] = Wire,
    **settings: Any,
) -> AsyncIterator[Scene]:
    """Run a scene; no promise may be broken in it, and when it is over nothing may be owed."""
    fleet, witness = scripted(frames), Witness()
    async with Runtime(pipeline or EchoPipeline(), fleet, Settings(**settings), record=witness) as runtime:
        await runtime.wait_ready(EARS, MIND, VOICE)
        played = Scene(runtime, fleet, witness, kind=kind)
        yield played
        if not runtime.is_over:
            witness.verdict(runtime.host)
    host = runtime.host
    assert (runtime.owed(), host.slots, len(host.defects), fleet.held) == ([], 0, defects, 0), host.defects
    assert host.deadlines.armed == ()
    assert runtime.is_over
    assert all(len(wire.closings) + len(wire.aborts) == 1 for wire in played.wires if wire.frames)
    assert all(len(wire.closings) + len(wire.aborts) <= 1 for wire in played.wires)
