"""What metrics cost a dispatch: the same events on the real driver, with nobody listening and with everything on.

Two events: one of the data plane (a lifecycle frame is sequenced, as an output delta is) and one that moves machines (a
barge-in: the epoch advances, its fence closes, another opens); the latter alone is timed. "On" is what `interlock
serve` has: the story, its counters, its log lines at `info`, and the clock of dispatches. In units of one `json.dumps`
of a 4 KB delta as well.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import trio

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from interlock.observe import log
from interlock.observe.metrics import Metrics
from interlock.observe.story import Story
from interlock.runtime.host import Host
from interlock.runtime.silent import Silent
from interlock.session.books import Sequenced
from tests.runtime.stage_play import play

RESULTS = Path(__file__).parent / "results"
ROUNDS = 41
DELTA = {"type": "response.output_audio.delta", "event_id": "event_1234", "server_event_seq": 1234, "delta": "A" * 4000}


def timed(function: Callable[[], object], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        function()
    return (time.perf_counter() - began) / times * 1e6


def listen(host: Host, metrics: Metrics | None) -> None:
    host.record = Silent() if metrics is None else Story(metrics.hear, log.write)
    host.timed = None if metrics is None else metrics.dispatch.observe


async def measure() -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {
        event: {"off": [], "on": []} for event in ("json.dumps", "data plane", "barge-in")
    }
    async with play() as scene:
        session, _ = await scene.open()
        driver = scene.driver(session)
        for _ in range(ROUNDS):
            for name, metrics in (("off", None), ("on", Metrics())):
                listen(scene.host, metrics)
                found["json.dumps"][name].append(timed(lambda: json.dumps(DELTA), 1_000))
                found["data plane"][name].append(timed(lambda: driver.dispatch(Sequenced()), 5_000))
                found["barge-in"][name].append(timed(session.barge_in, 1_000))
                assert metrics is None or metrics.dispatch.count == 1_000
    return found


def main() -> None:
    found = trio.run(measure)
    unit = statistics.median(found["json.dumps"]["off"])
    print(f"one json.dumps of a delta of 4 KB: {unit:.2f} us\n\n{'one dispatch':14}{'off':>10}{'on':>12}{'costs':>20}")
    rows = {}
    for event in ("data plane", "barge-in"):
        off, on = (statistics.median(found[event][name]) for name in ("off", "on"))
        pairs = [after - before for before, after in zip(found[event]["off"], found[event]["on"], strict=True)]
        cost = statistics.median(pairs)
        rows[event] = {"off_us": round(off, 2), "on_us": round(on, 2), "cost_us": round(cost, 2)}
        print(f"{event:14}{off:7.2f} us{on:9.2f} us{cost:9.2f} us{cost / unit:6.2f} dumps")
    where = {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}
    RESULTS.mkdir(exist_ok=True)
    result = {"where": where, "json_dumps_us": round(unit, 3), "dispatch": rows}
    (RESULTS / "metrics.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
