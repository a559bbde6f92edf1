"""From an accepted interrupt: until the last stale frame can leave, and until the memory of what was said is back.

* ``host``: a real host over a worker process with the seeded language model. 32 sessions are answered at once; each is
  interrupted in mid-reply. What a transport is handed from then on is looked at, frame by frame: a delta of the old
  epoch would be stale. (One write may be inside the transport already; it is counted apart.) And how long it takes
  until the worker's confirmation has released the request.
* ``worker``: the loop and the stage alone, where steps can be counted: launched between the abort and its
  confirmation, for each of many aborts at random moments. On a GPU two steps may be on their way.

Targets: no stale frame leaves; memory is back within two steps.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import trio

from interlock.runtime.host import open_host
from interlock.runtime.ports import Aborted
from interlock.runtime.talk import Session
from interlock.session.settings import Settings
from interlock.transport.memory import MemoryTransport
from interlock.workers.core import StageSpec
from interlock.workers.fleet import StageFleet
from interlock.workers.loop import StageLoop
from interlock.workers.protocol import Abort, Report, Submit
from interlock.workers.torch_stage.language import seeded
from interlock.workers.torch_stage.stage import TorchStage

RESULTS = Path(__file__).parent / "results"
SIZE: dict[str, Any] = {"width": 192, "layers": 3, "heads": 6}
SESSIONS, ROUNDS, ABORTS = 32, 4, 300
TARGET_STEPS = 2


class Ears:
    """A stage model that hears ``hello`` in every committed turn."""

    capacity = 1_000

    def __init__(self) -> None:
        from interlock.workers.stage import StageOutput

        self._output = StageOutput
        self._made: list[Any] = []

    def open(self, request: Any) -> None: ...

    def append(self, request_id: str, payload: bytes, now: float) -> None: ...

    def finish(self, request_id: str, now: float) -> None:
        self._made.append(self._output(request_id, "transcript", b"hello", reason="commit"))

    def step(self, now: float) -> Sequence[Any]:
        made, self._made = self._made, []
        return made

    def due(self, now: float) -> float | None:
        return 0.0 if self._made else None

    def close(self, request_id: str) -> None: ...

    def held(self) -> Mapping[str, int]:
        return {"slots": 0, "bytes": 0}


class Talk:
    """Implements Pipeline: ears, and a mind that goes on until it is interrupted."""

    listen, answer = "ears", ("mind",)

    def check(self, config: Mapping[str, Any]) -> None: ...

    async def prepare(self, config: Mapping[str, Any]) -> None: ...

    def params(self, stage: str, config: Mapping[str, Any], text: str) -> Mapping[str, Any]:
        return {"text": text, "temperature": 1.0, "max_tokens": 200} if stage == "mind" else {}


class Interrupted(NamedTuple):
    """What came of one interrupt: deltas handed over after it, deltas that were in the transport already, seconds."""

    stale: int
    inside: int
    seconds: float


async def interrupted(session: Session, transport: MemoryTransport) -> Interrupted:
    """Speak, be answered, interrupt, and look at all that leaves from then on, until the request is released."""
    session.append(b"\x01\x00" * 160)
    session.commit()
    await until(transport, "response.output_audio_transcript.delta")
    await trio.sleep(random.random() * 0.1)
    driver = session._driver
    before, epoch, began = len(transport.frames), driver.value.epoch, time.perf_counter()
    handed = driver.value.journal.handed
    session.barge_in()
    await driver.room.wait_for(lambda: not any(_is_mind(cell) for cell in driver.value.cells.items()))
    seconds = time.perf_counter() - began
    await trio.sleep(0.05)
    later = [event["server_event_seq"] for event in transport.events[before:] if event["type"].endswith(".delta")]
    transport.frames.clear()
    assert driver.value.epoch == epoch + 1
    return Interrupted(sum(seq > handed for seq in later), sum(seq <= handed for seq in later), seconds)


def _is_mind(entry: tuple[Any, Any]) -> bool:
    (machine, _), cell = entry
    return bool(machine == "request" and cell.data.stage == "mind")


async def until(transport: MemoryTransport, kind: str) -> None:
    while kind not in transport.types:
        await transport._changed.wait()


async def over_a_host(device: str, times: list[float]) -> dict[str, float]:
    """Interrupt every session, several times, each while the others go on; ``times`` gets ms until each release."""
    args = SIZE | {"capacity": 2 * SESSIONS, "max_batch": SESSIONS, "device": device, "threads": 1, "positions": 256}
    stages = [
        StageSpec("ears", "barge_in:Ears", carrier="thread"),
        StageSpec("mind", "interlock.workers.torch_stage.language:seeded", args),
    ]
    found: list[Interrupted] = []

    async def one(session: Session, transport: MemoryTransport) -> None:
        for _ in range(ROUNDS):
            found.append(await interrupted(session, transport))

    async with open_host(Talk(), StageFleet(stages), Settings(max_sessions=SESSIONS)) as host:
        await host.wait_ready("ears", "mind")
        opened = [(t, await host.open(t, {})) for t in [MemoryTransport() for _ in range(SESSIONS)]]
        async with trio.open_nursery() as nursery:
            for transport, session in opened:
                nursery.start_soon(one, session, transport)
    times += sorted(1000 * each.seconds for each in found)
    return {
        "interrupts": len(found),
        "stale_frames": sum(each.stale for each in found),
        "inside_the_transport_most": max(each.inside for each in found),
        "released_ms_median": round(statistics.median(times), 2),
        "released_ms_p99": round(times[int(0.99 * len(times))], 2),
    }


def in_the_worker(device: str) -> dict[str, float]:
    """Abort at random moments of a full batch; count steps and milliseconds until the clean-up is confirmed."""
    limits = {"capacity": SESSIONS, "max_batch": SESSIONS, "positions": 160, "max_tokens": 100}
    stage = seeded(**SIZE, **limits, device=device, threads=1)
    said, chance = list[Report](), random.Random(0)
    loop = StageLoop(stage, said.append, beat_s=60.0)
    steps, times, number = list[int](), list[float](), 0
    for _ in range(ABORTS):
        while len(loop.known) < SESSIONS:
            number += 1
            loop.take(Submit(str(number), 1, {"text": "hello", "seed": number, "temperature": 1.0}), 0.0)
        turns(loop, chance.randint(1, 6))
        victim = chance.choice(sorted(loop.known))
        said.clear()
        first, began = stage.steps, time.perf_counter()
        loop.take(Abort([victim]), 0.0)
        while Aborted(victim) not in said:
            turns(loop, 1)
        steps.append(stage.steps - first)
        times.append(1000 * (time.perf_counter() - began))
    return {
        "aborts": ABORTS,
        "steps_most": max(steps),
        "steps_mean": round(statistics.mean(steps), 3),
        "step_ms": round(step_ms(loop, stage), 2),
        "back_ms_median": round(statistics.median(times), 4),
        "back_ms_most": round(max(times), 3),
    }


def turns(loop: StageLoop, count: int) -> None:
    for _ in range(count):
        loop.advance(0.0)


def step_ms(loop: StageLoop, stage: TorchStage, count: int = 30) -> float:
    """Return how long a step of the full batch takes."""
    first, began = stage.steps, time.perf_counter()
    while stage.steps < first + count:
        loop.advance(0.0)
    return 1000 * (time.perf_counter() - began) / (stage.steps - first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    device = parser.parse_args().device
    times: list[float] = []
    rows: dict[str, Any] = {"worker": in_the_worker(device), "host": trio.run(over_a_host, device, times)}
    for name, row in rows.items():
        print(f"{name}: " + ", ".join(f"{key} {value:g}" for key, value in row.items()))
    print(f"targets: no stale frame ({rows['host']['stale_frames']}); two steps ({rows['worker']['steps_most']})")
    RESULTS.mkdir(exist_ok=True)
    where = {"python": platform.python_version(), "torch": torch.__version__, "device": device}
    path = RESULTS / f"barge_in.{device}.json"
    path.write_text(json.dumps({"where": where, "rows": rows}, indent=2) + "\n")
    plot(times, rows["worker"]["step_ms"], path.with_suffix(".svg"))


def plot(times: Sequence[float], step_ms: float, path: Path) -> None:
    """Draw which share of the requests is released how soon; without matplotlib there is no picture."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(6, 3.2))
    axes = figure.subplots()
    axes.step(times, [(index + 1) / len(times) for index in range(len(times))], where="post")
    axes.axvline(2 * step_ms, color="grey", linestyle=":", label=f"two steps of the full batch, {2 * step_ms:.1f} ms")
    axes.set(xlabel="from the interrupt to the release, ms", ylabel="share of requests", ylim=(0, 1))
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    main()
