"""The fast engine of `interlock explore` beside the plain one, on the same worlds, in the same run; then alone.

Both find the same states, or the benchmark fails. `tabulated` is the ratio of a second search, with the tables of the
first: what is left of it is numpy. A state that stands for others counts with all of them; `steps/s` is what was done.

python benchmarks/explore.py              # two to three minutes, `crowd` (800 million states) among it
python benchmarks/explore.py --large      # and `whole`, four minutes more
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from interlock.proof.explore.search import search
from interlock.proof.explore_cli import Searching
from interlock.proof.fast.engine import Engine, Layers
from interlock.proof.fast.tables import Tables
from interlock.proof.world.bounds import LARGE, PARTED, Bounds
from interlock.proof.world.model import SessionWorld

RESULTS = Path(__file__).parent / "results"
MACHINES = str(Path(__file__).parent.parent / "machines" / "world")
TARGET_STATES, TARGET_S = 10_000_000, 120.0

BOTH = {
    "pair": LARGE["pair"],
    "pair, 3 generations": Bounds(clients=2, generations=3, positions=False, prepared=True, without=PARTED),
    "meeting": LARGE["meeting"],
    "meeting, more faults": LARGE["meeting"]._replace(
        without=PARTED | {"Disowned", "WatchCancelled", "WorkForgotten", "Vanished"}
    ),
}

PUBLISHED = (
    ("TLC, a desktop", "1.0 M generated, 0.29 M distinct", "learntla.com/topics/optimization"),
    ("TLC, 120 workers, Raft of CCF", "0.36 M generated, 0.06 M distinct", "github.com/tlaplus/tlaplus/issues/636"),
    ("LTSmin, 32 cores", "20 M", "doi.org/10.3389/fhpcp.2024.1285349"),
    ("GPUexplore 3.0, one GPU", "up to 144 M", "doi.org/10.3389/fhpcp.2024.1285349"),
    ("minicheck 0.4, Python, one core", "0.25 to 0.75 M", "its README, July 2026"),
)
"""States a second as their authors tell them, of models of their own, on machines of their own: for the scale only."""


class Row(NamedTuple):
    """One world."""

    world: str
    orbits: int
    states: int
    steps: int
    fast_s: float
    situations: int
    plain_s: float | None = None
    warm_s: float | None = None

    def __str__(self) -> str:
        plain = f"{self.plain_s:9.1f}" if self.plain_s else " " * 9
        ratio = f"{self.plain_s / self.fast_s:7.1f}" if self.plain_s else " " * 7
        warm = f"{self.plain_s / self.warm_s:9.0f}" if self.plain_s and self.warm_s else " " * 9
        seconds = f"{plain}{self.fast_s:8.1f}{ratio} {warm}"
        rates = "".join(f"{many / self.fast_s:12,.0f}" for many in (self.states, self.orbits, self.steps))
        return f"{self.world:21}{self.orbits:11,}{self.states:13,}{self.steps:13,}{seconds}{rates}"


HEAD = (
    f"{'world':21}{'orbits':>11}{'states':>13}{'steps':>13}{'plain s':>9}{'fast s':>8}{'ratio':>7} {'tabulated':>9}"
    f"{'states/s':>12}{'orbits/s':>12}{'steps/s':>12}"
)


def compared(name: str, bounds: Bounds) -> Row:
    """Search with both engines, and with the fast one again. Ends the program where they do not agree."""
    model = SessionWorld(name, bounds, MACHINES, symmetric=True)
    engine = Engine(model)
    fast, plain = engine.run(), search(model)
    if (fast.states, fast.weight) != (plain.states, plain.weight):
        raise SystemExit(f"{name}: fast {fast.states, fast.weight}, plain {plain.states, plain.weight}")
    return row(name, fast)._replace(plain_s=plain.seconds, warm_s=warm(model, engine.tables))


def warm(model: SessionWorld, tables: Tables) -> float:
    """Return the seconds of a second search with the same tables."""
    again = Engine(model)
    again.tables = tables
    began = time.perf_counter()
    again.run()
    return time.perf_counter() - began


def alone(name: str) -> Row:
    """Search a world that only the fast engine can do, and say how far it is."""
    told = Searching(name)
    found = Engine(SessionWorld(name, LARGE[name], MACHINES, symmetric=True)).run(told=told)
    told.done()
    return row(name, found)


def row(name: str, found: Layers) -> Row:
    return Row(name, found.states, found.weight, found.steps, found.seconds, found.tables.situations)


def figures(row: Row) -> dict[str, str | int | float]:
    """Return what is kept of a row."""
    said = {"world": row.world, "orbits": row.orbits, "states": row.states, "steps": row.steps}
    both = {"plain_s": row.plain_s, "ratio": row.plain_s / row.fast_s} if row.plain_s else {}
    tabulated = {"ratio tabulated": row.plain_s / row.warm_s} if row.plain_s and row.warm_s else {}
    rates = {"states_per_s": row.states / row.fast_s, "steps_per_s": row.steps / row.fast_s}
    return said | {key: round(one, 1) for key, one in (both | {"fast_s": row.fast_s} | tabulated | rates).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="and `whole`, which takes four minutes")
    names = ["crowd", "whole"] if parser.parse_args().large else ["crowd"]
    rows: list[Row] = []
    print(HEAD)
    for name, bounds in BOTH.items():
        rows.append(compared(name, bounds))
        print(rows[-1], flush=True)
    for name in names:
        rows.append(alone(name))
        print(rows[-1], flush=True)
    print("states a second, as published:")
    for who, rate, source in PUBLISHED:
        print(f"  {who:33}{rate:36}{source}")
    crowd = next(row for row in rows if row.world == "crowd")
    print(f"target: over {TARGET_STATES:,} states in {TARGET_S:g} s ({crowd.states:,} in {crowd.fast_s:.0f} s)")
    RESULTS.mkdir(exist_ok=True)
    where = {"cores": os.cpu_count(), "python": platform.python_version(), "numpy": np.__version__}
    published = {who: {"states a second": rate, "source": source} for who, rate, source in PUBLISHED}
    told = {"where": where | {"machine": platform.machine()}, "rows": list(map(figures, rows)), "published": published}
    (RESULTS / "explore.json").write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
