"""Several sweeps, one after the other or in several processes, and how far they are."""

from __future__ import annotations

import logging
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import NamedTuple

from interlock.proof.load import load
from interlock.proof.report import Report
from interlock.proof.scenario import Scenario
from interlock.proof.spread import cores
from interlock.proof.sweep import Progress, sweep
from interlock.proof.telling import EVERY_LINE_S, PATIENCE_S, Telling
from interlock.proof.verdict import Limits

OURS = "interlock.proof.scenarios"
"""The scenarios of our own runtime, which are swept where nobody names others."""


class Errand(NamedTuple):
    """One scenario to be swept, by where it is found, so that another process finds it too."""

    target: str
    name: str
    depth: int | None
    seed: int
    limits: Limits

    @property
    def scenario(self) -> Scenario:
        """Find the scenario."""
        return load(self.target)[self.name]


class Sweeping(Telling):
    """Says how far a sweep is, and how long the known rest will take."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __call__(self, progress: Progress) -> None:
        """Say it, if the time has come."""
        rest = f"about {progress.left_s:.0f} s for those known so far"
        self.say(progress.seconds, lambda: f"{self.name}: {progress.done} of {progress.known} plans, {rest}")


class Ended:
    """Says on stderr that a scenario is over, and how long the rest will take at most: the deepest came first."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.number = 0
        self.next_s = PATIENCE_S
        self.began = time.monotonic()

    def __call__(self, future: Future[Report]) -> None:
        """Say it, unless all is quickly over."""
        self.number += 1
        seconds = time.monotonic() - self.began
        if future.cancelled() or future.exception() is not None:
            return
        report = future.result()
        if seconds < self.next_s and report.seconds < EVERY_LINE_S:
            return
        self.next_s = seconds + EVERY_LINE_S
        left_s = seconds / self.number * (self.total - self.number)
        sys.stderr.write(
            f"{self.number} of {self.total} scenarios: {report.scenario}: {report.verdict}, {report.plans} plans in"
            f" {report.seconds:.0f} s; at most about {left_s:.0f} s more\n"
        )


def run(errands: Sequence[Errand], jobs: int = 1) -> Iterator[Report]:
    """Yield the report of each, in order, with so many processes; 0 is one for each core.

    Where scenarios are fewer than processes, each is swept by all of them; else the deepest are begun first.
    """
    jobs = cores(jobs)
    if jobs == 1 or len(errands) < jobs:
        yield from (run_one(errand, jobs) for errand in errands)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        deepest_first = sorted(errands, key=lambda errand: -(errand.depth or 1))
        running = {errand: pool.submit(run_one, errand) for errand in deepest_first}
        ended = Ended(len(running))
        for future in running.values():
            future.add_done_callback(ended)
        yield from (running[errand].result() for errand in errands)


def run_one(errand: Errand, jobs: int = 1) -> Report:
    """Sweep one scenario, and say on stderr how far it is. What the runtime logs about injected faults is no news."""
    quiet = logging.NullHandler()
    logging.getLogger("interlock").addHandler(quiet)
    told = Sweeping(errand.name)
    try:
        return sweep(errand.scenario, errand.depth, errand.seed, errand.limits, told, jobs)
    finally:
        told.done()
        logging.getLogger("interlock").removeHandler(quiet)
