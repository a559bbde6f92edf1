"""A host with scripted stages behind a real socket, in the test's own process and on the real clock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import trio

from interlock.runtime.host import Host, open_host
from interlock.session.settings import Settings
from interlock.transport.converse import converse
from interlock.transport.dial import dial
from interlock.transport.endpoint import serve_websockets
from interlock.transport.limits import SocketLimits
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.scripted import Script, ScriptedFleet
from tests.serve.wire import Wire, resume

LOUD = "AQABAAEAAQABAAEA"


class Door:
    """A served host. Every connection that a test makes is freed with it."""

    def __init__(self, host: Host, fleet: ScriptedFleet, port: int, wires: list[Wire]) -> None:
        self.host = host
        self.fleet = fleet
        self.url = f"ws://127.0.0.1:{port}/v1/duplex"
        self.wires = wires

    async def dial(self, query: str = "", url: str = "") -> Wire:
        """Connect, to the duplex path where no other is given."""
        self.wires.append(Wire(await dial((url or self.url) + query, SocketLimits())))
        return self.wires[-1]

    async def open(self, **session: Any) -> tuple[Wire, str, str]:
        """Connect and open a session; return the connection, the session's id and its token."""
        wire = await self.dial()
        await wire.say("session.update", session=session)
        created = await wire.until("session.created")
        return wire, created["session"]["id"], created["resume_token"]

    async def resume(self, session_id: str, token: str, position: int = 0) -> tuple[Wire, dict[str, Any]]:
        """Connect and resume; return the connection and its first event."""
        wire = await self.dial()
        await resume(wire, session_id, token, position)
        first = await wire.next()
        assert first is not None
        return wire, first

    async def until(self, holds: Any) -> None:
        """Return when something holds of the host."""
        await self.host.room.wait_for(lambda: holds(self.host))


async def speak(wire: Wire) -> None:
    """Say something."""
    await wire.say("input_audio_buffer.append", audio=LOUD)
    await wire.say("input_audio_buffer.commit")


async def alive(wire: Wire) -> None:
    """Ask a connection whether its session is there, and expect that it is."""
    await wire.say("session.heartbeat")
    await wire.until("session.heartbeat_ack")


@asynccontextmanager
async def door(frames: int = 3, limits: SocketLimits | None = None, **settings: Any) -> AsyncIterator[Door]:
    """Serve until the block ends; then everything has to be given back."""
    fleet = ScriptedFleet(EARS, MIND, VOICE, record=False)
    fleet[EARS].script = Script(transcript="hello")
    fleet[MIND].script = Script(texts=("hello.",))
    fleet[VOICE].script = Script(frames=frames, ahead=frames, begins="input")
    chosen = Settings(**settings)
    socket = limits or SocketLimits(frame_bytes=chosen.frame_bytes)
    wires: list[Wire] = []
    try:
        async with trio.open_nursery() as nursery:
            async with open_host(EchoPipeline(), fleet, chosen) as host:
                serve = partial(serve_websockets, partial(converse, host), limits=socket)
                port = await nursery.start(serve)
                await host.wait_ready(EARS, MIND, VOICE)
                yield Door(host, fleet, port, wires)
            assert (host.owed(), host.slots, host.defects, fleet.held) == ([], 0, [], 0)
            nursery.cancel_scope.cancel()
    finally:
        for wire in wires:
            wire.tear()
