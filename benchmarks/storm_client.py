"""The client's side of a storm: many sessions in one asyncio process, and every number that each of them reads.

A client here does what a real one does to the server, and little else: it sends a frame twice a second, reads
everything, acks now and then, loses its connection at random, comes back with its token and its position, and checks
that each event has the number after the one before. It parses no JSON that it does not need.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import struct
import time
from collections import Counter
from collections.abc import Callable

FRAME = json.dumps({"type": "input_audio_buffer.append", "audio": base64.b64encode(bytes(3072)).decode()})
"""4 KB of base64, all silence: a client that spoke would interrupt the answer that is checked."""
LOUD = json.dumps({"type": "input_audio_buffer.append", "audio": base64.b64encode(b"\1\0" * 64).decode()})
COMMIT = '{"type":"input_audio_buffer.commit"}'
UPGRADE = (
    "GET /v1/realtime?duplex=1 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
SEQ, EVENT_AT = b'"server_event_seq":', 400
ACK_EVERY, RETRY_S = 4, 0.5


def framed(text: str) -> bytes:
    """Return a client's frame; a mask of zeros leaves the text as it is."""
    data = text.encode()
    size = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + struct.pack("!H", len(data))
    return b"\x81" + size + bytes(4) + data


FRAMED, FIRST = framed(FRAME), framed(LOUD) + framed(COMMIT)


class Client:
    """One session over all of its connections."""

    def __init__(self, storm: Storm, number: int) -> None:
        self.storm = storm
        self.number = number
        self.line: Line | None = None
        self.session_id = self.token = ""
        self.position = 0
        self.since_ack = 0
        self.opened = asyncio.Event()
        """This connection has its session."""
        self.answered = asyncio.Event()
        """It has, or it was lost first."""
        self.ended = asyncio.Event()

    async def connect(self) -> None:
        """Dial, and open the session or resume it; again, when the line is lost before it is told which."""
        self.opened = asyncio.Event()
        while not self.opened.is_set():
            self.answered = asyncio.Event()
            try:
                await asyncio.get_running_loop().create_connection(lambda: Line(self), "127.0.0.1", self.storm.port)
                await self.answered.wait()
            except OSError:
                self.storm.told["retries"] += 1
                await asyncio.sleep(RETRY_S)

    def hello(self) -> str:
        if not self.token:
            return '{"type":"session.update","session":{}}'
        claim = {"session_id": self.session_id, "resume_token": self.token}
        return json.dumps({"type": "session.resume", **claim, "last_received_server_event_seq": self.position})

    def hear(self, line: Line, event: bytes) -> None:
        """Take one event: everything that has a number has the next one."""
        if line is not self.line:
            return  # what arrives on a connection that was given up is nothing to us
        at = event.rfind(SEQ, 0, EVENT_AT) if len(event) > 4096 else event.rfind(SEQ)
        if at < 0:
            self.credentials(event)
            return
        seq = int(event[at + len(SEQ) : event.index(b"," if b"," in event[at : at + 40] else b"}", at)])
        wanted, self.position = self.position + 1, max(seq, self.position)
        told = self.storm.told
        told["events"] += 1
        if len(event) > 4096:
            told["frames"] += 1
        if seq != wanted:
            told["lost" if seq > wanted else "repeated_or_late"] += 1
        self.since_ack += 1
        if self.since_ack >= ACK_EVERY:
            self.ack()
        if b'"type":"session.closed"' in event or b'"type":"session.expired"' in event:
            self.storm.told["terminals"] += 1
            self.ended.set()

    def credentials(self, event: bytes) -> None:
        """Take what belongs to one connection: credentials, or an error, which is one too many."""
        kind = json.loads(event)
        if kind["type"] not in ("session.created", "session.resumed"):
            if kind["type"] != "session.updated":
                self.storm.told["errors"] += 1
                self.storm.said.append(kind)
            return
        is_new = not self.token
        self.session_id, self.token = kind["session_id"], kind["resume_token"]
        self.storm.told["opened" if is_new else "resumed"] += 1
        self.opened.set()
        self.answered.set()
        if not is_new:
            self.ack(kind["attachment_generation"])

    def ack(self, generation: int = 0) -> None:
        self.since_ack = 0
        proof = {"attachment_generation": generation} if generation else {}
        self.say(framed(json.dumps({"type": "session.event_ack", "server_event_seq": self.position, **proof})))

    def say(self, data: bytes) -> None:
        if self.line is not None:
            self.line.transport.write(data)

    def drop(self) -> None:
        """Lose the connection, as a network does: a reset, and nothing more of what is on its way."""
        line, self.line = self.line, None
        if line is not None:
            self.storm.told["drops"] += 1
            line.transport.abort()


class Line(asyncio.Protocol):
    """One connection: bytes become events."""

    transport: asyncio.Transport

    def __init__(self, client: Client) -> None:
        self.client = client
        self.rest = b""
        self.shaken = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.client.line = self
        transport.write(UPGRADE.format(port=self.client.storm.port).encode() + framed(self.client.hello()))

    def data_received(self, data: bytes) -> None:
        data = self.rest + data if self.rest else data
        at = 0
        if not self.shaken:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self.rest = data
                return
            assert b" 101 " in data[:32], data[:200]
            self.shaken, at = True, end + 4
        while len(data) - at >= 4:
            size, start = data[at + 1], at + 2
            if size == 126:
                size, start = int.from_bytes(data[at + 2 : at + 4], "big"), at + 4
            elif size == 127:
                size, start = int.from_bytes(data[at + 2 : at + 10], "big"), at + 10
            if len(data) < start + size:
                break
            if data[at] == 0x81:
                self.client.hear(self, data[start : start + size])
            at = start + size
        self.rest = data[at:]

    def connection_lost(self, exc: Exception | None) -> None:
        if self.client.line is self and not self.client.ended.is_set():
            self.client.line = None
            self.client.storm.told["hung_up_on" if self.client.opened.is_set() else "retries"] += 1
            self.client.answered.set()


class Storm:
    """All clients of one process. ``told`` counts what happened; ``lost`` and ``repeated_or_late`` stay zero."""

    def __init__(self, port: int, count: int, *, pace_s: float = 0.5, seed: int = 1) -> None:
        self.port = port
        self.pace_s = pace_s
        self.told: Counter[str] = Counter()
        self.said: list[dict[str, object]] = []
        """Whatever a server should not have had to say."""
        self.clients = [Client(self, number) for number in range(count)]
        self.chance = random.Random(seed)
        self.latest = 0.0

    async def open(self, at_once: int = 50) -> None:
        """Open every session, a few at a time, and have each ask for its answer."""
        for start in range(0, len(self.clients), at_once):
            await asyncio.gather(*(client.connect() for client in self.clients[start : start + at_once]))

    async def begin(self) -> None:
        """Ask for the answers, spread over one pace: nothing is gained where all speak in the same millisecond."""
        for client in self.clients:
            client.say(FIRST)
            await asyncio.sleep(self.pace_s / len(self.clients))

    async def talk(self, seconds: float, every_s: float, away_s: float, look: Callable[[], None]) -> None:
        """Send at the pace, and drop each client about once in ``every_s``, for up to ``away_s``; all come back."""
        ends = time.monotonic() + seconds
        away = [asyncio.create_task(self._lose(client, ends, every_s, away_s)) for client in self.clients]
        looking = asyncio.create_task(self._look(look))
        await self._speak(ends)
        await asyncio.gather(*away)
        looking.cancel()

    async def _speak(self, ends: float) -> None:
        """Send a frame for each client that is there, each in its own place of the pace."""
        due, places = time.monotonic(), 50
        while due < ends:
            for place in range(places):
                for client in self.clients[place::places]:
                    if client.line is not None and client.opened.is_set():
                        client.say(FRAMED)
                        self.told["sent"] += 1
                due += self.pace_s / places
                self.latest = max(self.latest, time.monotonic() - due)
                await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def _lose(self, client: Client, ends: float, every_s: float, away_s: float) -> None:
        while True:
            pause = self.chance.expovariate(1 / every_s)
            if time.monotonic() + pause + away_s >= ends:
                return
            await asyncio.sleep(pause)
            client.drop()
            await asyncio.sleep(self.chance.uniform(0, away_s))
            await client.connect()

    async def _look(self, look: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(1.0)
            look()

    async def close(self) -> None:
        """End every session, and wait for the terminal event of each."""
        for client in self.clients:
            client.say(framed('{"type":"session.close"}'))
            await asyncio.sleep(0)
        await asyncio.wait_for(asyncio.gather(*(client.ended.wait() for client in self.clients)), 60)
