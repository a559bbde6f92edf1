"""What a step costs, beside a bare dictionary lookup and seven other engines, in one run.

    python benchmarks/step.py [--quick] [--out DIR]

Every sample stands between two samples of the lookup and is divided by their mean, so that a machine whose speed moves
tells the same ratio. The figure is the median. Prints a table, writes step.json and step.svg, and ends with 0 when the
targets are met, 1 when not, 2 when a peer is missing.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import platform
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import step_peers

from interlock.machine import Cell, Machine, Message
from interlock.session import attachment, fence
from interlock.tables import messages as m

PLAIN, GUARDED = "plain", "guard + assignment"
LOOKUPS = 20_000
RESULTS = Path(__file__).parent / "results"
OURS = "interlock"


class Figure(NamedTuple):
    """One engine with one machine: how many lookups a step costs, and the quartiles of that."""

    engine: str
    machine: str
    ratio: float
    low: float
    high: float
    version: str = ""


class Target(NamedTuple):
    """One promise, what was measured, and whether it is kept."""

    promise: str
    measured: float
    kept: bool


def seconds(run: step_peers.Run, steps: int) -> float:
    """Return the processor time of one step."""
    started = time.process_time()
    run(steps)
    return (time.process_time() - started) / steps


def ratios(run: step_peers.Run, steps: int, samples: int) -> list[float]:
    """Return how many lookups one step costs, each sample between two of the lookup."""
    lookup = step_peers.lookup()
    run(steps)
    found: list[float] = []
    before = seconds(lookup, LOOKUPS)
    for _ in range(samples):
        taken = seconds(run, steps)
        after = seconds(lookup, LOOKUPS)
        found.append(taken / ((before + after) / 2))
        before = after
    return found


def figure(engine: str, machine: str, version: str, run: step_peers.Run, steps: int, samples: int) -> Figure:
    low, middle, high = statistics.quantiles(ratios(run, steps, samples), n=4)
    return Figure(engine, machine, round(middle, 2), round(low, 2), round(high, 2), version)


def stepping(machine: Machine[Any], state: str, data: Any, event: Message) -> step_peers.Run:
    """Take the same step again and again: for machines whose events do not lead around a ring."""

    def run(steps: int) -> None:
        step = machine.step
        for _ in range(steps):
            _state, _data, _messages, _row = step(state, data, event)

    return run


def sessions() -> list[tuple[str, step_peers.Run]]:
    """Return steps of Interlock's own machines, with the data and events of a session."""
    attached = attachment.Attachment(generation=3, claim=7)
    resume = m.ResumeRequested(8, b"token", 41, b"fresh", "accepted", 0, 57)
    held = fence.MACHINE.create(m.EpochOpened(3))
    return [
        ("attachment: plain", stepping(attachment.MACHINE, "ACTIVATING", attached, m.ActivationDelivered(3))),
        ("fence: a row that ignores", stepping(fence.MACHINE, "OPEN", held, m.RequestReleased(3, "r1"))),
        ("attachment: guard, assignment, two messages", stepping(attachment.MACHINE, "ATTACHED", attached, resume)),
    ]


def instance() -> tuple[float, float]:
    """Return the bytes and the microseconds of one instance: its place in the cells, its state and its data."""
    count = 10_000
    make: Callable[[], Cell] = partial(cell, attachment.MACHINE, attachment.Attachment)
    gc.collect()
    tracemalloc.start()
    kept: list[Cell | None] = [None] * count
    before = tracemalloc.get_traced_memory()[0]
    for number in range(count):
        kept[number] = make()
    size = (tracemalloc.get_traced_memory()[0] - before) / count
    tracemalloc.stop()
    times = [seconds(lambda steps: [make() for _ in range(steps)] and None, count) for _ in range(15)]
    return size, statistics.median(times) * 1e6


def cell(machine: Machine[Any], create: Callable[[int, int], Any]) -> Cell:
    return Cell(machine.table.initial, create(1, 2))


def measured(samples: int) -> list[Figure]:
    figures = [
        figure(OURS, PLAIN, "", step_peers.interlock(guarded=False), 20_000, samples),
        figure(OURS, GUARDED, "", step_peers.interlock(guarded=True), 20_000, samples),
    ]
    figures += [figure(OURS, name, "", run, 10_000, samples) for name, run in sessions()]
    for name, package, make, steps in step_peers.peers():
        version = importlib.metadata.version(package) if package else ""
        for machine, guarded in ((PLAIN, False), (GUARDED, True)):
            figures.append(figure(name, machine, version, make(guarded=guarded), steps, samples))
            gc.collect()
    return figures


def targets(figures: list[Figure], size: float, micros: float) -> list[Target]:
    cost = {(one.engine, one.machine): one.ratio for one in figures}
    faster = [cost["transitions", machine] / cost[OURS, machine] for machine in (PLAIN, GUARDED)]
    return [
        Target("a plain step: at most 5 lookups", cost[OURS, PLAIN], cost[OURS, PLAIN] <= 5),
        Target("with guard and assignment: at most 8", cost[OURS, GUARDED], cost[OURS, GUARDED] <= 8),
        Target("faster than transitions: at least 15 times", round(min(faster), 1), min(faster) >= 15),
        Target("an instance: at most 300 bytes", round(size), size <= 300),
        Target("an instance: at most 1 microsecond", round(micros, 2), micros <= 1),
    ]


def table(figures: list[Figure], promises: list[Target]) -> str:
    lines = ["| engine | machine | lookups a step | quartiles |", "| --- | --- | ---: | ---: |"]
    for one in figures:
        engine = f"{one.engine} {one.version}".strip()
        lines.append(f"| {engine} | {one.machine} | {one.ratio:,} | {one.low:,} to {one.high:,} |")
    lines += ["", "| target | measured | |", "| --- | ---: | --- |"]
    lines += [f"| {one.promise} | {one.measured:,} | {'kept' if one.kept else 'MISSED'} |" for one in promises]
    return "\n".join(lines)


def plot(figures: list[Figure], path: Path) -> None:
    """Draw the ratios as bars, on a logarithmic axis: the engines differ by three orders of magnitude."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    shown = [one for one in figures if one.machine in (PLAIN, GUARDED)]
    names = list(dict.fromkeys(one.engine for one in shown))[::-1]
    canvas, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for shift, machine, colour in ((0.2, PLAIN, "#4878a8"), (-0.2, GUARDED, "#d08040")):
        of = {one.engine: one for one in shown if one.machine == machine}
        places = [place + shift for place in range(len(names))]
        bars = axes.barh(places, [of[name].ratio for name in names], 0.38, label=machine, color=colour)
        axes.bar_label(bars, fmt=lambda cost: f"{cost:,.0f}" if cost >= 100 else f"{cost:.1f}", padding=3, fontsize=8)
    axes.set_yticks(range(len(names)), names)
    axes.set_xscale("log")
    axes.set_xlabel("cost of a step, in bare dictionary lookups (less is better)")
    axes.margins(x=0.12)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    canvas.savefig(path)


def missing() -> list[str]:
    """Return the packages that the benchmark needs and does not find."""
    wanted = ["matplotlib", *(package for _, package, *_ in step_peers.peers() if package)]
    return [name for name in wanted if not any(importlib.metadata.distributions(name=name))]


def main() -> int:
    parser = argparse.ArgumentParser(description="What a step costs, beside a dictionary lookup and other engines.")
    parser.add_argument("--quick", action="store_true", help="5 samples of each instead of 31")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="where step.json goes")
    args = parser.parse_args()
    if absent := missing():
        print(f"step: {', '.join(absent)} not installed; pip install -e '.[bench]'", file=sys.stderr)
        return 2
    figures = measured(5 if args.quick else 31)
    promises = targets(figures, *instance())
    print(table(figures, promises))
    args.out.mkdir(parents=True, exist_ok=True)
    whole = {
        "where": {"python": platform.python_version(), "machine": platform.machine()},
        "rows": [one._asdict() for one in figures],
        "targets": [one._asdict() for one in promises],
    }
    (args.out / "step.json").write_text(json.dumps(whole, indent=2) + "\n")
    plot(figures, args.out / "step.svg")
    print(f"\nwritten: {args.out}/step.json and step.svg")
    return 0 if all(one.kept for one in promises) else 1


if __name__ == "__main__":
    sys.exit(main())
