"""What the batching loop costs over a bare ``model(batch)`` loop, at batch 1, 8 and 32, for models of three sizes.

Both run the same steps of the same seeded decoder on the same device, in turns, in the same minute:

* ``bare``: ``model.step(batch)`` in a loop, over one batch that was made beforehand, and its outputs read;
* ``loop``: requests that were submitted to :class:`StageLoop` over :class:`TorchStage`, to their reports.

``share`` is the second way to ask, less at the mercy of other people's load: of one run of the loop, all the time but
the model's own, over the model's own. The size whose bare step at batch 32 takes 5 to 10 ms on the CPU is the one that
the target is about. With ``--device cuda`` the same on a GPU.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from interlock.workers.loop import StageLoop
from interlock.workers.protocol import Report, Submit
from interlock.workers.torch_stage.batch import Batch
from interlock.workers.torch_stage.decoder import DecoderConfig, SeededDecoder
from interlock.workers.torch_stage.device import Device, find_device
from interlock.workers.torch_stage.flight import Staging
from interlock.workers.torch_stage.language import SAY, LanguageLimits, LanguageModel
from interlock.workers.torch_stage.pool import SlotPool
from interlock.workers.torch_stage.stage import TorchStage
from interlock.workers.torch_stage.text import Bytes

RESULTS = Path(__file__).parent / "results"
BATCHES = (1, 8, 32)
SIZES = {"tiny": (64, 2, 4), "small": (192, 3, 6), "medium": (288, 4, 8)}
TARGET_SIZE, TARGET_BATCH, TARGET = "medium", 32, 1.10
STEPS, ROUNDS, WARM = 40, 9, 8


clock: Callable[[], float] = time.perf_counter
"""On a CPU, where one thread does all, the processor time of that thread: other people's load is not counted."""


class Timed(LanguageModel):
    """Counts the time that passes in the model's own step."""

    inside = 0.0

    def step(self, batch: Batch) -> Any:
        began = clock()
        made = super().step(batch)
        self.inside += clock() - began
        return made


def model_of(size: str, rows: int, device: Device) -> Timed:
    width, layers, heads = SIZES[size]
    decoder = SeededDecoder(DecoderConfig(width, layers, heads), device.place)
    limits = LanguageLimits(capacity=rows, max_batch=rows, positions=128, max_tokens=WARM + STEPS + 8)
    return Timed(decoder, Never(), limits)


class Never(Bytes):
    """No token ends an answer, so that every step has every row."""

    ends = frozenset()


def bare(size: str, rows: int, device: Device) -> float:
    """Return seconds a step of ``model.step(batch)``, at the position that the loop has on average."""
    model = model_of(size, rows, device)
    staging, pool = Staging(model, device), SlotPool(rows, model.state, device)
    opened = [model.open(_request(number)) for number in range(rows)]
    for index, row in enumerate(opened):
        row.length = WARM + STEPS // 2
        row.unread.clear()
        cells = staging.cells(index, pool.lend(str(index)))
        row.fill(cells)
    with device.stream(), torch.inference_mode():
        staging.send_up()
        batch = staging.batch(SAY, opened, 0, pool.tensors)
        for step in range(WARM + STEPS):
            if step == WARM:
                began = clock()
            made = model.step(batch)
            {name: tensor.tolist() for name, tensor in made.items()}
    return (clock() - began) / STEPS


def looped(size: str, rows: int, device: Device) -> tuple[float, float]:
    """Return seconds a step of the whole loop, and all the time but the model's over the model's."""
    model = model_of(size, rows, device)
    stage, said = TorchStage(model, device), list[Report]()
    loop = StageLoop(stage, said.append, beat_s=60.0)
    for number in range(rows):
        loop.take(Submit(str(number), 1, {"text": "", "temperature": 1.0, "seed": number}), 0.0)
    turn(loop, stage, 1 + WARM)
    said.clear()
    model.inside, began, first = 0.0, clock(), stage.steps
    turn(loop, stage, stage.steps + STEPS)
    seconds = clock() - began
    return seconds / (stage.steps - first), (seconds - model.inside) / model.inside


def turn(loop: StageLoop, stage: TorchStage, until: int) -> None:
    """Do what a worker does between two orders, until so many steps were launched."""
    while stage.steps < until:
        loop.rest(0.0)
        loop.advance(0.0)


def _request(number: int) -> Any:
    from interlock.workers.stage import StageRequest

    return StageRequest(str(number), 1, {"text": "", "temperature": 1.0, "seed": number})


def measure(size: str, rows: int, device: Device) -> dict[str, float]:
    """Medians over rounds in which the two loops take turns."""
    alone, whole, shares = list[float](), list[float](), list[float]()
    for _ in range(ROUNDS):
        alone.append(bare(size, rows, device))
        seconds, share = looped(size, rows, device)
        whole.append(seconds)
        shares.append(share)
    ratios = [ours / theirs for ours, theirs in zip(whole, alone, strict=True)]
    return {
        "bare_ms": round(1000 * statistics.median(alone), 3),
        "loop_ms": round(1000 * statistics.median(whole), 3),
        "ratio": round(statistics.median(ratios), 3),
        "share": round(statistics.median(shares), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    device = find_device(parser.parse_args().device, threads=1)
    name = device.place.type
    global clock
    clock = time.thread_time if name == "cpu" else time.perf_counter
    rows: dict[str, dict[str, float]] = {}
    print(f"{name:16}{'bare ms':>10}{'loop ms':>10}{'ratio':>8}{'share':>8}")
    for size in SIZES:
        for batch in BATCHES:
            row = rows[f"{size} {batch}"] = measure(size, batch, device)
            print(
                f"{size:10}{batch:6}{row['bare_ms']:10.3f}{row['loop_ms']:10.3f}{row['ratio']:8.3f}{row['share']:8.1%}"
            )
    judged = rows[f"{TARGET_SIZE} {TARGET_BATCH}"]
    print(f"target at {TARGET_SIZE}, batch {TARGET_BATCH}: at most {TARGET} of bare ({judged['ratio']})")
    save(name, rows)


def save(device: str, rows: dict[str, dict[str, float]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    kind = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    where = {"python": platform.python_version(), "torch": torch.__version__, "device": kind}
    path = RESULTS / f"stage.{device}.json"
    path.write_text(json.dumps({"where": where, "target": TARGET, "rows": rows}, indent=2) + "\n")
    plot(rows, path.with_suffix(".svg"), kind)


def plot(rows: dict[str, dict[str, float]], path: Path, kind: str) -> None:
    """Draw the cost over bare, by batch, a line for each size; without matplotlib there is no picture."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(6, 3.6))
    axes = figure.subplots()
    for size in SIZES:
        found = [rows[f"{size} {batch}"] for batch in BATCHES]
        label = f"{size}: a bare step at 32 takes {found[-1]['bare_ms']:.1f} ms"
        axes.plot(range(len(BATCHES)), [100 * (row["ratio"] - 1) for row in found], marker="o", label=label)
    axes.axhline(100 * (TARGET - 1), color="grey", linestyle=":", label="target, for the largest at 32")
    axes.set_xticks(range(len(BATCHES)), [str(batch) for batch in BATCHES])
    axes.set(xlabel="requests in a step", ylabel="cost of the loop over bare, %", title=f"TorchStage on {kind}")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    main()
