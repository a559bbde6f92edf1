"""What a message costs on its way through a session that is embedded in a FastAPI app, beside the same echo without us.

One client sends 4 KB of base64 audio and waits until it has come back, in turns on three WebSockets of one uvicorn
server: ``bare`` echoes the text as it is; ``decoded`` parses the JSON, decodes the audio, and encodes both anew, as any
server of audio must; ``session`` is the whole of an Interlock session: the input is booked and handed to a stage on the
same loop, its audio is sequenced, journaled, encoded, and written. ``added`` is the difference to ``bare``, at p50 that
of the same turn. Each figure is the median of 15 rounds of 400 turns. On asyncio, then on uvloop.

    python benchmarks/embed.py
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import trio
import uvicorn
from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from websockets.sync.client import ClientConnection, connect

from interlock.embed import EmbedLimits, Runtime
from interlock.runtime.ports import Aborted, Accepted, Consumed, Finished, FleetSink, Output
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline

RESULTS = Path(__file__).parent / "results"
AUDIO = base64.b64encode(os.urandom(3072)).decode()
MESSAGE = json.dumps({"type": "input_audio_buffer.append", "audio": AUDIO}, separators=(",", ":"))
TURNS, WARM, ACK, ROUNDS = 6000, 500, 64, 15


class Mirror:
    """The worker of every stage: ears whose input the voice says back at once, in the answer to the first commit."""

    incarnation = 1

    def __init__(self, stage: str, fleet: Mirrors) -> None:
        self.stage = stage
        self._fleet = fleet

    def submit(self, request_id: str, epoch: int, params: Mapping[str, Any]) -> None:
        self._say(Accepted(request_id))
        if self.stage == MIND:
            self._say(Output(request_id, epoch, "text", b"whatever you say"), Finished(request_id))
        elif self.stage == VOICE:
            self._fleet.speaking = request_id, epoch

    def append(self, request_id: str, payload: bytes) -> None:
        self._say(Consumed(request_id, len(payload)))
        if self.stage == EARS and self._fleet.speaking is not None:
            speaking, epoch = self._fleet.speaking
            self._fleet.links[VOICE]._say(Output(speaking, epoch, "audio", payload))

    def finish(self, request_id: str) -> None:
        if self.stage == EARS:
            self._say(Output(request_id, 0, "transcript", b"begin", reason="commit"))

    def abort(self, request_ids: Sequence[str]) -> None:
        self._say(*(Aborted(request_id) for request_id in request_ids))

    def _say(self, *replies: Any) -> None:
        assert self._fleet.sink is not None
        for reply in replies:
            self._fleet.sink.reply(self.stage, self.incarnation, reply)


class Mirrors:
    """Satisfies :class:`interlock.runtime.ports.Fleet`, without a worker and without a clock."""

    def __init__(self) -> None:
        self.sink: FleetSink | None = None
        self.speaking: tuple[str, int] | None = None
        self.links = {stage: Mirror(stage, self) for stage in (EARS, MIND, VOICE)}
        self._stopping = trio.Event()

    async def run(self, sink: FleetSink) -> None:
        self.sink = sink
        for stage in self.links:
            sink.worker_ready(stage, 1)
        await self._stopping.wait()
        for stage in self.links:
            sink.worker_gone(stage, 1)

    def link(self, stage: str) -> Mirror | None:
        return self.links[stage] if self.sink is not None else None

    def stop(self) -> None:
        self._stopping.set()

    def owed(self) -> Sequence[Mapping[str, Any]]:
        return ()


def serve(loop: str) -> None:
    """Serve the three, until interrupted."""
    unlimited = EmbedLimits(messages_per_s=math.inf, bytes_per_s=math.inf)
    runtime = Runtime(EchoPipeline(), Mirrors(), limits=unlimited)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with runtime:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.websocket("/bare")
    async def bare(socket: WebSocket) -> None:
        await socket.accept()
        try:
            while True:
                await socket.send_text(await socket.receive_text())
        except WebSocketDisconnect:
            return

    @app.websocket("/decoded")
    async def decoded(socket: WebSocket) -> None:
        await socket.accept()
        try:
            while True:
                event = json.loads(await socket.receive_text())
                audio = base64.b64encode(base64.b64decode(event["audio"])).decode()
                await socket.send_text(json.dumps({**event, "audio": audio}))
        except WebSocketDisconnect:
            return

    app.mount("/v1", runtime.asgi())
    options: dict[str, Any] = {"loop": loop, "port": 0, "ws_per_message_deflate": False}
    uvicorn.run(app, **options)


@contextmanager
def server(loop: str) -> Iterator[str]:
    """Run a server in a process of its own; give its address."""
    command = [sys.executable, __file__, "--serve", loop]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"running on http://(\S+)", line):
                yield f"ws://{found[1]}"
                break
    finally:
        process.terminate()
        process.communicate()


def opened(session: ClientConnection) -> None:
    """Open a session, and let its answer begin."""
    session.send('{"type":"session.update","session":{}}')
    session.send(MESSAGE)
    session.send('{"type":"input_audio_buffer.commit"}')
    while '"response.output_audio_transcript.delta"' not in str(session.recv()):
        pass


def trip(socket: ClientConnection) -> float:
    """Return the microseconds of one round trip."""
    began = time.perf_counter_ns()
    socket.send(MESSAGE)
    reply = socket.recv()
    took = (time.perf_counter_ns() - began) / 1000
    assert AUDIO[:64] in str(reply)
    return took


def measure(loop: str, turns: int) -> dict[str, list[float]]:
    """Return the microseconds of every trip, by where it went."""
    taken: dict[str, list[float]] = {"bare": [], "decoded": [], "session": []}
    with server(loop) as url, ExitStack() as stack:
        paths = {"bare": "/bare", "decoded": "/decoded", "session": "/v1/duplex?duplex=1"}
        sockets = {
            name: stack.enter_context(connect(url + path, compression=None, max_size=None))
            for name, path in paths.items()
        }
        opened(sockets["session"])
        names = deque(sockets)
        for turn in range(WARM + turns):
            names.rotate()
            for name in names:
                took = trip(sockets[name])
                if turn >= WARM:
                    taken[name].append(took)
            if turn % ACK == 0:
                sockets["session"].send(json.dumps({"type": "session.event_ack", "server_event_seq": turn + 1}))
    return taken


def at(share: float) -> Callable[[list[float]], float]:
    """Return what takes this percentile of a sample."""
    return lambda sample: statistics.quantiles(sample, n=100)[round(share * 100) - 1]


def rows_of(loop: str, taken: Mapping[str, list[float]]) -> dict[str, dict[str, float]]:
    """Return p50 and p99 of each way, and what it added to the bare one: the median of so many rounds."""
    rows = {}
    for name, sample in taken.items():
        size = len(sample) // ROUNDS
        rounds = [row_of(sample[at : at + size], taken["bare"][at : at + size]) for at in range(0, size * ROUNDS, size)]
        row = {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}
        rows[f"{name}, {loop}"] = {key: round(value, 2) for key, value in row.items()}
    return rows


def row_of(sample: list[float], bare: list[float]) -> dict[str, float]:
    """Return the figures of one round."""
    p50, p99 = at(0.5)(sample), at(0.99)(sample)
    added = statistics.median(ours - theirs for ours, theirs in zip(sample, bare, strict=True))
    row = {"p50_us": p50, "p99_us": p99, "added_p50_us": added, "added_p99_us": p99 - at(0.99)(bare)}
    return row | {"p50_ratio": p50 / at(0.5)(bare)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", choices=("asyncio", "uvloop"))
    parser.add_argument("--turns", type=int, default=TURNS)
    args = parser.parse_args()
    if args.serve:
        serve(args.serve)
        return
    rows: dict[str, dict[str, float]] = {}
    for loop in ("asyncio", "uvloop"):
        print(f"{3 * (args.turns + WARM)} round trips on {loop} ...", flush=True)
        rows |= rows_of(loop, measure(loop, args.turns))
    for name, row in rows.items():
        print(f"{name:20}" + "".join(f"{key} {value:8.1f}  " for key, value in row.items()))
    RESULTS.mkdir(exist_ok=True)
    where = {"python": platform.python_version(), "machine": platform.machine()}
    where |= {name: version(name) for name in ("uvicorn", "fastapi", "uvloop", "trio")}
    (RESULTS / "embed.json").write_text(json.dumps({"where": where, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
