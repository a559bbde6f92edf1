"""The event path without a socket: number, journal, take, and replay; ours and the incumbent's, in the same process.

Ours is the whole of it: a stage's reply enters at the host, goes through ``decide``, is encoded, base64 and all, held,
taken by the real writer of a real attachment and handed to a transport that does nothing; every ``BATCH`` events the
loop has a turn and the client acks. Theirs is handed base64 that is ready, and sends through starlette to a server
that does nothing.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import event_path_peer as peer
import trio
from starlette.websockets import WebSocket

from interlock.runtime.driver import Driver
from interlock.runtime.host import Host, open_host
from interlock.runtime.ports import Output, TransportClosed
from interlock.runtime.talk import Session
from interlock.session.settings import Settings
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.scripted import Script, ScriptedFleet

PCM = os.urandom(3072)
"""64 ms at 24 kHz: 4 KB of base64, and a frame of 4.3 KB."""
TEXT = base64.b64encode(PCM).decode()
BATCH, EVENTS, RETAINED = 10, 2000, 1000


class Sample(NamedTuple):
    """Seconds of one event, and of one ``json.dumps`` of the same event directly before and after."""

    event_s: float
    unit_s: float

    @property
    def ratio(self) -> float:
        return self.event_s / self.unit_s


def unit(count: int = 200) -> float:
    """Return the seconds of one compact ``json.dumps`` of the event: the unit of every ratio here."""
    event = peer.delta(1, TEXT) | {"server_event_seq": 1}
    began = time.thread_time()
    for _ in range(count):
        json.dumps(event, separators=(",", ":")).encode()
    return (time.thread_time() - began) / count


def beside(measure: Callable[[], float]) -> Sample:
    before = unit()
    event_s = measure()
    return Sample(event_s, (before + unit()) / 2)


class Sink:
    """A transport that takes everything and does nothing."""

    def __init__(self) -> None:
        self.frames = 0
        self.writes = 0
        self.hello = b""
        self.closed = trio.Event()

    def write_now(self, frames: Sequence[bytes]) -> bool:
        self.hello = self.hello or frames[0]
        self.frames += len(frames)
        self.writes += 1
        return True

    async def send(self, frames: Sequence[bytes]) -> None:
        self.write_now(frames)

    async def drain(self) -> None: ...

    async def close(self, code: int, reason: str) -> None:
        raise TransportClosed(reason)

    def abort(self, reason: str) -> None:
        self.closed.set()


class Ours:
    """A host with one session whose voice stage is us."""

    def __init__(self, host: Host, session: Session, sink: Sink, request_id: str) -> None:
        self.host = host
        self.session = session
        self.sink = sink
        self.driver: Driver = host.drivers[session.session_id]
        self.output = Output(request_id, self.driver.value.epoch, "audio", PCM)

    async def live(self, events: int, batch: int) -> float:
        """Return the seconds of one event: reply, decide, encode, hold, take, hand over, and one ack a batch."""
        began = time.thread_time()
        for _ in range(0, events, batch):
            self.host.reply(VOICE, 1, *[self.output] * batch)
            await trio.lowlevel.checkpoint()
            self.session.ack(self.driver.value.journal.handed)
        return (time.thread_time() - began) / events

    async def replay(self) -> float:
        """Return the seconds of one event of a resume that replays all that is retained."""
        events = json.loads(self.sink.hello)
        for _ in range(RETAINED):
            self.host.reply(VOICE, 1, self.output)
        self.session.detach()
        sink, position = Sink(), self.driver.value.journal.trimmed
        await self.sink.closed.wait()
        missed = self.driver.value.journal.head - position
        began = time.thread_time()
        self.session = await self.host.resume(events["session"]["id"], events["resume_token"], position, sink)
        spent = time.thread_time() - began
        assert sink.frames == missed + 1, (sink.frames, missed)
        self.sink = sink
        self.session.ack(self.driver.value.journal.handed, self.session.generation)
        return spent / missed


@asynccontextmanager
async def ours() -> AsyncIterator[Ours]:
    fleet = ScriptedFleet(EARS, MIND, VOICE, record=False)
    fleet[EARS].script = Script(transcript="go on")
    fleet[MIND].script = Script(texts=("on",), ends=False)
    async with open_host(EchoPipeline(), fleet, Settings()) as host:
        sink = Sink()
        session = await host.open(sink)
        session.append(b"\1\0" * 320)
        session.commit()
        driver = host.drivers[session.session_id]
        await driver.room.wait_for(lambda: bool(running(driver)))
        yield Ours(host, session, sink, running(driver))


def running(driver: Driver) -> str:
    """Return the request of the voice stage, once it runs."""
    return next((str(key) for key in fleet_keys(driver) if driver.value.state("request", key) == "RUNNING"), "")


def fleet_keys(driver: Driver) -> list[Any]:
    cells = driver.value.cells.items()
    return [key for (machine, key), cell in cells if machine == "request" and cell.data.stage == VOICE]


async def theirs_live(events: int) -> float:
    """Return the seconds of one event: number, encode, record, send; and one ack for every ``BATCH``."""
    registry, send = peer.Registry(), await through_starlette()
    await registry.create("s", send)
    made = [peer.delta(seq, TEXT) for seq in range(1, events + 1)]
    began = time.thread_time()
    for seq, event in enumerate(made, 1):
        await registry.send_event("s", event)
        if seq % BATCH == 0:
            await registry.acknowledge("s", seq)
    return (time.thread_time() - began) / events


async def theirs_replay() -> float:
    registry, send = peer.Registry(), await through_starlette()
    token = await registry.create("s", send)
    await registry.detach("s")
    for seq in range(1, RETAINED + 1):
        await registry.send_event("s", peer.delta(seq, TEXT))
    began = time.thread_time()
    await registry.resume("s", token, 0, send)
    return (time.thread_time() - began) / RETAINED


async def through_starlette() -> peer.Send:
    """Return the ``send_text`` of an accepted WebSocket whose server does nothing."""

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def nothing(message: Any) -> None: ...

    websocket = WebSocket({"type": "websocket"}, receive, nothing)
    await websocket.accept()
    return websocket.send_text


async def _measure(rounds: int) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    async with ours() as each:
        await each.live(EVENTS, BATCH)
        for _ in range(rounds):
            for name, measure in {
                "live": lambda: each.live(EVENTS, BATCH),
                "alone": lambda: each.live(EVENTS // 2, 1),
                "replay": each.replay,
            }.items():
                before = unit()
                event_s = await measure()
                found.setdefault(name, []).append(Sample(event_s, (before + unit()) / 2))
            found.setdefault("their live", []).append(beside(lambda: _aside(theirs_live(EVENTS))))
            found.setdefault("their replay", []).append(beside(lambda: _aside(theirs_replay())))
    return found


def _aside(work: Any) -> float:
    """Run an asyncio loop of its own while trio's waits: nothing of ours is due meanwhile."""
    return asyncio.run(work)


def measure(rounds: int) -> dict[str, list[Sample]]:
    """Return samples by name, taken in turns."""
    return trio.run(_measure, rounds)
