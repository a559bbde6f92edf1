"""What the link to a worker process costs for each frame of 4 KB, beside a bare pipe and pyzmq, in the same run.

* ``link``: :class:`ProcessCarrier`, an ``Append`` there and an ``Output`` back, with the loop in between;
* ``pipe``: two pipes to a child that echoes, a length before each frame, trio on this side;
* ``zmq``: DEALER to DEALER over ipc, waited for through ``zmq.FD``, the way trio can.

Two questions: a round trip alone, and frames a second with 64 on their way.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from interlock.runtime.ports import Output, Reply
from interlock.workers.core import StageSpec, WorkerSettings
from interlock.workers.fleet import StageFleet

HERE = Path(__file__).parent
RESULTS = HERE / "results"
FRAME = bytes(4096)
TRIPS, FLOOD, WINDOW, ROUNDS = 200, 2000, 64, 21

Trip = Callable[[int, int], Awaitable[None]]
"""(frames, how many may be on their way): returns when all have come back."""


class Sink:
    """Counts what comes back from a worker."""

    def __init__(self) -> None:
        self.back = 0
        self.changed = trio.Event()
        self.ready = trio.Event()

    def worker_ready(self, stage: str, incarnation: int) -> None:
        self.ready.set()

    def worker_lost(self, stage: str, incarnation: int) -> None: ...

    def worker_gone(self, stage: str, incarnation: int) -> None: ...

    def reply(self, stage: str, incarnation: int, *replies: Reply) -> None:
        self.back += sum(isinstance(reply, Output) for reply in replies)
        self.changed.set()


@asynccontextmanager
async def link() -> AsyncIterator[Trip]:
    fleet, sink = StageFleet([StageSpec("echo", "link_peers:Echo")], WorkerSettings()), Sink()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fleet.run, sink)
        await sink.ready.wait()
        worker = fleet.link("echo")
        assert worker is not None
        worker.submit("r", 1, {})

        async def trip(frames: int, window: int) -> None:
            sink.back = sent = 0
            while sink.back < frames:
                while sent < frames and sent - sink.back < window:
                    worker.append("r", FRAME)
                    sent += 1
                sink.changed = trio.Event()
                await sink.changed.wait()

        yield trip
        fleet.stop()


@asynccontextmanager
async def pipe() -> AsyncIterator[Trip]:
    command = [sys.executable, str(HERE / "link_peers.py"), "pipe"]
    process = await trio.lowlevel.open_process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout, whole = process.stdin, process.stdout, len(FRAME).to_bytes(4, "big") + FRAME

    async def send(frames: int) -> None:
        for _ in range(0, frames, 16):
            await stdin.send_all(whole * 16)

    async def trip(frames: int, window: int) -> None:
        """Alone: send, then read. In a flood the pipes themselves are the window, and one task sends, one reads."""
        if window > 1:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(send, frames)
                await read(frames)
        else:
            for _ in range(frames):
                await stdin.send_all(whole)
                await read(1)

    async def read(frames: int) -> None:
        left = frames * len(whole)
        while left > 0:
            left -= len(await stdout.receive_some())

    yield trip
    process.kill()
    await process.wait()


@asynccontextmanager
async def zmq() -> AsyncIterator[Trip]:
    import zmq as library

    with tempfile.TemporaryDirectory() as folder:
        address = f"ipc://{folder}/link"
        socket = library.Context.instance().socket(library.DEALER)
        socket.bind(address)
        process = await trio.lowlevel.open_process([sys.executable, str(HERE / "link_peers.py"), "zmq", address])

        async def trip(frames: int, window: int) -> None:
            back = sent = 0
            while back < frames:
                while sent < frames and sent - back < window:
                    socket.send(FRAME, copy=False)
                    sent += 1
                while not socket.getsockopt(library.EVENTS) & library.POLLIN:
                    await trio.lowlevel.wait_readable(socket.getsockopt(library.FD))
                while socket.getsockopt(library.EVENTS) & library.POLLIN:
                    socket.recv()
                    back += 1

        yield trip
        process.kill()
        await process.wait()
        socket.close(linger=0)


async def measure(trip: Trip) -> dict[str, float]:
    """Microseconds of one round trip, and of one frame of a flood."""
    began = time.perf_counter()
    await trip(TRIPS, 1)
    alone = (time.perf_counter() - began) / TRIPS
    began = time.perf_counter()
    await trip(FLOOD, WINDOW)
    return {"trip_us": 1e6 * alone, "flood_us": 1e6 * (time.perf_counter() - began) / FLOOD}


async def run() -> dict[str, dict[str, float]]:
    """The best of many rounds in turns: a round trip needs two processes awake, and others want the cores as well."""
    found: dict[str, dict[str, list[float]]] = {}
    async with link() as ours, pipe() as bare, zmq() as theirs:
        trips: Mapping[str, Trip] = {"link": ours, "pipe": bare, "zmq": theirs}
        for each in trips.values():
            await each(320, WINDOW)
        for _ in range(ROUNDS):
            for name, trip in trips.items():
                for key, value in (await measure(trip)).items():
                    found.setdefault(name, {}).setdefault(key, []).append(value)
    rows = {name: {key: min(values) for key, values in each.items()} for name, each in found.items()}
    for name, each in found.items():
        for key in ("trip_us", "flood_us"):
            rows[name][key.replace("_us", "_ratio")] = rows[name][key] / min(found["pipe"][key])
            rows[name][key.replace("_us", "_us_median")] = statistics.median(each[key])
    return {name: {key: round(value, 2) for key, value in row.items()} for name, row in rows.items()}


def main() -> None:
    os.environ["PYTHONPATH"] = str(HERE)
    sys.path.insert(0, str(HERE))
    rows: dict[str, Any] = trio.run(run)
    print(f"{'4 KB frames':12}{'trip us':>10}{'of pipe':>9}{'flood us':>10}{'of pipe':>9}")
    for name, row in rows.items():
        print(
            f"{name:12}{row['trip_us']:10.0f}{row['trip_ratio']:9.2f}{row['flood_us']:10.1f}{row['flood_ratio']:9.2f}"
        )
    RESULTS.mkdir(exist_ok=True)
    where = {"python": platform.python_version(), "trio": trio.__version__, "machine": platform.machine()}
    (RESULTS / "link.json").write_text(json.dumps({"where": where, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
