"""A campaign: rounds of schedules until a budget is spent, in one process or in several, with one report.

A round is drawn by Hypothesis from a seed of its own. Between rounds everybody hears what the others have reached, so
that the corpus is one; a campaign of so many examples is the same every time, whatever the machine does meanwhile.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final

from interlock.proof.fuzz import Point, Report, Target, hypothesis_of, schedules
from interlock.proof.fuzz_schedule import MAX_EVENTS, Found, Schedule
from interlock.proof.fuzz_shrink import SHRINK_S, likeness, shrink

ROUND: Final = 200
"""Examples of one round."""

ENOUGH: Final = 8
"""Kinds of failures after which a campaign ends: there is work to do."""

Progress = Callable[[Report], None]


@dataclass(frozen=True)
class Round:
    """What one round needs, wherever it runs. ``until`` is a time of the system's clock."""

    target: Target
    seed: int
    examples: int
    until: float
    kept: tuple[Schedule, ...] = ()
    reached: frozenset[Point] = frozenset()
    known: frozenset[str] = frozenset()
    """Kinds of failures that were told already."""
    max_events: int = MAX_EVENTS
    shrink_s: float = SHRINK_S
    enough: int = ENOUGH
    corpus: tuple[Schedule, ...] | None = None
    """Run these, and draw nothing."""


def fuzz(
    target: Target,
    *,
    seed: int = 0,
    budget_s: float = 60.0,
    examples: int | None = None,
    corpus: Sequence[Schedule] = (),
    max_events: int = MAX_EVENTS,
    shrink_s: float = SHRINK_S,
    jobs: int = 1,
    enough: int = ENOUGH,
    progress: Progress = lambda report: None,
) -> Report:
    """Run schedules until ``budget_s`` seconds or ``examples`` are spent; raise nothing that was found.

    The schedules of ``corpus`` run first, and others are grown from them. The same seed, ``jobs`` and number of
    examples always make the same schedules. Raises :class:`interlock.proof.fuzz_schedule.Unusable` where Hypothesis is
    missing.
    """
    hypothesis_of()
    began, report = time.monotonic(), Report(target, seed)
    first = Round(target, 0, 0, time.time() + budget_s, max_events=max_events, shrink_s=shrink_s, enough=enough)
    with suppress(KeyboardInterrupt), _workers(jobs) as play:  # whoever stops a campaign wants to see what it found
        for batch in _batches(first, report, seed, jobs, examples, tuple(corpus)):
            for part in play(batch):
                merge(report, part)
                report.seconds = time.monotonic() - began
                progress(report)
            if time.time() > first.until or len(report.failures) >= enough:
                break
    return report


def _batches(
    first: Round, report: Report, seed: int, jobs: int, examples: int | None, corpus: tuple[Schedule, ...]
) -> Iterator[list[Round]]:
    """Yield what is to be played next, each time from all that was found before."""
    if corpus:
        shares = [corpus[job::jobs] for job in range(jobs)]
        yield [replace(first, corpus=share, examples=len(share)) for share in shares if share]
    number = seed * 1_000_003
    while examples is None or report.examples < examples:
        left = ROUND * jobs if examples is None else min(ROUND * jobs, examples - report.examples)
        known = frozenset(likeness(found.broken) for found in report.failures)
        now = replace(first, kept=tuple(report.kept), reached=frozenset(report.reached), known=known)
        shares_of = [left // jobs + (job < left % jobs) for job in range(jobs)]
        yield [replace(now, seed=number + job, examples=share) for job, share in enumerate(shares_of) if share]
        number += jobs


def merge(report: Report, part: Report) -> None:
    """Add what a round has found."""
    report.examples += part.examples
    report.events += part.events
    report.repeated += part.repeated
    report.kept += part.kept if not part.reached <= report.reached else []
    report.reached |= part.reached
    known = {likeness(found.broken) for found in report.failures}
    report.failures += [found for found in part.failures if likeness(found.broken) not in known]


@contextmanager
def _workers(jobs: int) -> Iterator[Callable[[list[Round]], Iterator[Report]]]:
    if jobs <= 1:
        yield lambda batch: map(play_round, batch)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            yield lambda batch: pool.map(play_round, batch)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def cores() -> int:
    """Return how many processes can work at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ----------------------------------------------------------------------------------------------------------- one round


def play_round(this: Round) -> Report:
    """Play one round, in this process."""
    hypothesis_of()
    playing = _Playing(this)
    gc.collect()
    gc.freeze()  # what is there stays there; looking at it again and again would take a tenth of the time
    try:
        if this.corpus is None:
            _draw(playing)
        else:
            for schedule in this.corpus:
                playing.example(schedule)
    finally:
        gc.unfreeze()
    return playing.report


class _Playing:
    def __init__(self, this: Round) -> None:
        self.this = this
        self.report = Report(this.target, this.seed)
        self._reached = set(this.reached)
        self._known = set(this.known)

    def example(self, schedule: Schedule) -> None:
        """Run one schedule, unless the time is over, or there is work to do."""
        report = self.report
        if time.time() > self.this.until or len(self._known) >= self.this.enough:
            return
        ran = self.this.target.run(schedule)
        report.examples += 1
        report.events += len(schedule.events)
        if ran.broken:
            self._failed(schedule, ran.broken)
        elif not ran.reached <= self._reached:
            report.kept.append(schedule)
            report.reached |= ran.reached
            self._reached |= ran.reached

    def grown(self, schedule: Schedule, growth: int) -> Schedule:
        """Now and then, let a schedule go on from what one of the corpus has come to."""
        kept = [*self.this.kept, *self.report.kept]
        if growth % 3 or not kept:
            return schedule
        stem, most = kept[(growth // 3) % len(kept)], self.this.max_events
        events = (*stem.events[: most // 2], *schedule.events[1:])[:most]
        return schedule._replace(events=events, variant=stem.variant)

    def _failed(self, schedule: Schedule, broken: Sequence[str]) -> None:
        kind, target = likeness(broken), self.this.target
        if kind in self._known:
            self.report.repeated += 1
            return
        self._known.add(kind)
        short, said = shrink(schedule, broken, lambda shorter: target.run(shorter).broken, self.this.shrink_s)
        about = f"round {self.this.seed}, example {self.report.examples}"
        self.report.failures.append(Found(target.kind, short, said[:5], about, target.machines))


def _draw(playing: _Playing) -> None:
    hypothesis = hypothesis_of()
    this = playing.this

    def one(schedule: Schedule, growth: int) -> None:
        playing.example(playing.grown(schedule, growth))

    drawn = schedules(this.target, this.max_events), hypothesis.strategies.integers(0, 1 << 30)
    settings = hypothesis.settings(
        max_examples=this.examples,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.seed(this.seed)(settings(hypothesis.given(*drawn)(one)))()
