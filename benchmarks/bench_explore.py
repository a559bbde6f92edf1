"""The fast engine of `interlock explore` beside the plain one, on the same worlds, in the same run; then alone.

python benchmarks/bench_explore.py              # a few minutes; the two agree on every count, or it fails
python benchmarks/bench_explore.py --large      # and the two worlds that only the fast engine can do
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from interlock.proof.explore.search import search
from interlock.proof.fast.engine import Engine
from interlock.proof.world.bounds import LARGE, PARTED, Bounds
from interlock.proof.world.model import SessionWorld

MACHINES = str(Path(__file__).parent.parent / "machines" / "world")

BOTH = {
    "pair": LARGE["pair"],
    "pair, 3 generations": Bounds(clients=2, generations=3, positions=False, prepared=True, without=PARTED),
    "meeting": LARGE["meeting"],
    "meeting, more faults": LARGE["meeting"]._replace(
        without=PARTED | {"Disowned", "WatchCancelled", "WorkForgotten", "Vanished"}
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true")
    large = parser.parse_args().large
    print(
        f"{'world':22} {'orbits':>12} {'states':>14} {'steps':>13} {'plain s':>8} {'fast s':>7} {'ratio':>6} states/s"
    )
    for name, bounds in BOTH.items():
        model = SessionWorld(name, bounds, MACHINES, symmetric=True)
        fast, plain = Engine(model).run(), search(model)
        if (fast.states, fast.weight) != (plain.states, plain.weight):
            raise SystemExit(f"{name}: fast {fast.states, fast.weight}, plain {plain.states, plain.weight}")
        warm = _warm(model)
        print(
            f"{name:22} {fast.states:12,} {fast.weight:14,} {fast.steps:13,} {plain.seconds:8.1f} {fast.seconds:7.1f}"
            f" {plain.seconds / fast.seconds:6.1f} {fast.weight / fast.seconds:12,.0f}"
            f"   ({plain.seconds / warm:.0f} once tabulated)"
        )
    for name in ("crowd", "whole") if large else ():
        fast = Engine(SessionWorld(name, LARGE[name], MACHINES, symmetric=True)).run()
        print(
            f"{name:22} {fast.states:12,} {fast.weight:14,} {fast.steps:13,} {'':8} {fast.seconds:7.1f} {'':6}"
            f" {fast.weight / fast.seconds:12,.0f}"
        )


def _warm(model: SessionWorld) -> float:
    """Return the seconds of a second search with the same tables: what is left is numpy."""
    first = Engine(model)
    first.run()
    again = Engine(model)
    again.tables = first.tables
    began = time.perf_counter()
    again.run()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
