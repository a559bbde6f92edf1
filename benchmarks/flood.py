"""A flood from some clients while another one listens: does its audio keep its pace?

One `interlock serve` process with its default limits; its stages are scripted and paced, a frame each 40 ms. A client
listens to whole answers: first alone, then beside two that flood. Each of those opens a session and sends heartbeats
and pings as fast as the socket takes them, until it is told `rate_limit_exceeded` and closed with 1008; then it comes
back at once. Measured is the gap between two frames of audio as the listener has them; the peer is the same server
without a flood, in alternating rounds of one run.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import trio

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.serve.server import Server, server
from tests.serve.wire import Wire
from tests.transport.served import UPGRADE, frame, raw, rest

RESULTS = Path(__file__).parent / "results"
FRAMES = 150
ROUNDS = 3
FLOODERS = 2
MESSAGES = frame(1, b'{"type":"session.heartbeat"}') * 500 + frame(9, b"") * 500
OPTIONS = ("--scripted", str(FRAMES), "--ahead", "1", "--set", "access.hosts=x")


async def listened(running: Server) -> list[float]:
    """Let a session speak, and return the milliseconds between its frames."""
    wire = Wire(await running.dial())
    await wire.say("session.update", session={})
    await wire.until("session.created")
    await wire.say("input_audio_buffer.append", audio="AQABAAEAAQABAAEA")
    await wire.say("input_audio_buffer.commit")
    times: list[float] = []
    while (event := await wire.next()) is not None and event["type"] != "response.done":
        if event["type"] == "response.output_audio.delta":
            times.append(trio.current_time())
    assert len(times) == FRAMES
    await wire.say("session.close")
    await wire.to_the_end()
    return [(after - before) * 1000 for before, after in pairwise(times)]


async def pour(stream: trio.SocketStream) -> None:
    """Send for as long as the socket takes it."""
    try:
        while True:
            await stream.send_all(MESSAGES)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return


async def beside_floods(running: Server, told: list[bool]) -> list[float]:
    """Listen while others flood."""

    async def flood() -> None:
        while True:
            stream = await raw(running.port, UPGRADE)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(pour, stream)
                answer = await rest(stream)
                nursery.cancel_scope.cancel()
            told.append(b"rate_limit_exceeded" in answer)

    async with trio.open_nursery() as nursery:
        for _ in range(FLOODERS):
            nursery.start_soon(flood)
        gaps = await listened(running)
        nursery.cancel_scope.cancel()
    return gaps


async def measure() -> tuple[dict[str, list[float]], list[bool]]:
    found: dict[str, list[float]] = {"alone": [], "beside a flood": []}
    told: list[bool] = []
    with TemporaryDirectory() as folder:
        async with server(Path(folder), *OPTIONS) as running:
            for _ in range(ROUNDS):
                found["alone"] += await listened(running)
                found["beside a flood"] += await beside_floods(running, told)
    assert running.process.returncode == 0
    assert all(told)
    return found, told


def main() -> None:
    found, told = trio.run(measure)
    print(f"{len(told)} floods, each told and closed\n\n{'gap of audio':18}{'p50':>10}{'p99':>10}")
    rows = {}
    for what, gaps in found.items():
        cuts = statistics.quantiles(gaps, n=100)
        rows[what] = {"p50_ms": round(cuts[49], 2), "p99_ms": round(cuts[98], 2)}
        print(f"{what:18}{cuts[49]:7.2f} ms{cuts[98]:7.2f} ms")
    where = {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}
    RESULTS.mkdir(exist_ok=True)
    result = {"where": where, "gap": rows, "floods": len(told)}
    (RESULTS / "flood.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
