"""The sweep: a scenario is run once for every point at which it can be interrupted, and judged each time.

The scenario runs twice with nothing injected, and must leave the same trace. Every instant of it is then a plan of one
injection. Every plan that passes is extended by each injection that was possible *later on its own path* (the steps of
a clean-up do not exist in the baseline), until plans have ``depth`` injections. No scope is cancelled twice, since
trio's cancels last and repeat themselves. A case that fails is run again, and counts only if it fails again.

What it does not show: threads, KeyboardInterrupt, loops that never await, a timer that fires while only tasks outside
of its scope step, other orders of the same steps (another ``seed`` is another order), and what the checks do not check.
For the schedule and the depth that it ran, it is complete, and the report says what it ran.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias

from interlock.proof.course import Traced
from interlock.proof.judge import Case
from interlock.proof.plan import ENTRY, OP, TIMER, Injection, Phase, Plan
from interlock.proof.report import Report, blank
from interlock.proof.run import Request, run_all
from interlock.proof.scenario import Body, Scenario, scenario
from interlock.proof.schedule import preemptions
from interlock.proof.spread import cores, run_spread
from interlock.proof.verdict import Limits, Verdict

SLACK, SLACK_FACTOR = 1_000, 50
"""How many steps a case may take before it is a livelock: so many, and so many times those of the baseline."""


class Progress(NamedTuple):
    """Where a sweep is: plans done, plans known so far, and seconds since it began. Deeper plans become known later."""

    done: int
    known: int
    seconds: float

    @property
    def left_s(self) -> float:
        """Estimate how long the known plans will take."""
        return (self.known - self.done) * self.seconds / max(self.done, 1)


Tell: TypeAlias = Callable[[Progress], None]


def sweep(
    swept: Scenario | Body | type,
    depth: int | None = None,
    seed: int = 0,
    limits: Limits | None = None,
    progress: Tell | None = None,
    jobs: int = 1,
) -> Report:
    """Sweep a scenario to a depth (its own, if none is given), and report. Call it from a plain function, not in trio.

    ``jobs`` is how many processes share its cases; 0 is one for each core.

    An error of the scenario is a finding and never raised. Raises :class:`interlock.proof.trial.Misused` for what is no
    scenario, and :class:`interlock.proof.trio_internals.TrioChanged` under a trio that the sweep does not know.
    """
    return Sweep(swept if isinstance(swept, Scenario) else scenario(swept), depth, seed, limits, progress, jobs).run()


class Sweep:
    """One sweep in progress."""

    def __init__(
        self,
        swept: Scenario,
        depth: int | None,
        seed: int,
        limits: Limits | None,
        progress: Tell | None,
        jobs: int = 1,
    ) -> None:
        self.scenario = swept
        self.jobs = cores(jobs)
        self.depth = swept.depth if depth is None else depth
        self.seed = seed
        self.limits = limits or Limits()
        self.progress = progress
        self.report = blank(swept.name, self.depth, seed, self.limits)
        self.frontier: list[tuple[Plan, list[Injection]]] = []
        self.grown: list[tuple[Plan, list[Injection]]] = []
        self.alike: dict[int, tuple[tuple[int, bool], int]] = {}
        self.traces: list[list[Traced] | None] = []
        self.names: set[str] = {OP, *swept.scopes}
        self.longest = self.depth + self.limits.preemptions
        self.done = self.known = self.steps = 0

    def run(self) -> Report:
        """Run baselines, then plans of one injection, of two, and so on."""
        self.began = time.perf_counter()
        baseline = Request((), record=True, trace=True)
        run_all(self.scenario, iter([baseline] * 2), self._baseline, seed=self.seed, limits=self.limits)
        if self.traces[0] != self.traces[-1]:
            self.report.doubt(f"not reproducible: {_parting(self.traces[0] or [], self.traces[-1] or [])}")
        else:
            self._lengths()
        for name in sorted(self.names):
            if not self.report.scopes[name].sites and self.report.verdict is not Verdict.FAIL:
                self.report.doubt(f"scope {name} had no site at all, so nothing is known about it")
        self.report.seconds = time.perf_counter() - self.began
        return self.report

    def _lengths(self) -> None:
        """Run all plans of one injection, then those of two, and so on."""
        for length in range(1, self.longest + 1):
            self.known += sum(len(sites) for _, sites in self.frontier)
            due = list(islice(self._longer(length), max(0, self.limits.plans - self.done)))
            for case, again in run_spread(self.scenario, due, seed=self.seed, limits=self.limits, jobs=self.jobs):
                self._count(self._confirmed(case, again))
            if self.done < self.known:
                self.report.doubt(f"incomplete: stopped after {self.limits.plans} plans, the limit")
                return
            self.frontier, self.grown, self.alike = self.grown, [], {}

    def _longer(self, length: int) -> Iterator[Request]:
        grows = length < self.longest
        for plan, sites in self.frontier:
            for site in sites:
                yield Request((*plan, site), grows, trace=grows and self.limits.merge, steps=self.steps)

    def _baseline(self, case: Case, trace: list[Traced] | None) -> None:
        self.traces.append(trace)
        if len(self.traces) == 1:
            self.report.baseline_steps = case.index
            self.steps = SLACK + SLACK_FACTOR * case.steps
            for site in case.sites:
                self.report.scopes[site.family].sites += site != ENTRY
        else:
            self.report.add(case)
            self._extend(case)

    def _confirmed(self, first: Case, second: Case | None) -> Case:
        """Compare a failure with its repetition, which was told more about where everybody waited."""
        if second is None:
            return first
        if second.verdict is not first.verdict or second.landings != first.landings:
            first.verdict = Verdict.UNRESOLVED
            first.findings.append(f"the same plan came to {second.verdict} when it was run again: not reproducible")
        first.landings, first.raised_at = second.landings, second.raised_at
        return first

    def _count(self, case: Case) -> None:
        self.done += 1
        self.report.add(case)
        self._extend(case)
        if self.progress is not None:
            self.progress(Progress(self.done, self.known, time.perf_counter() - self.began))

    def _extend(self, case: Case) -> None:
        self.names.update(case.names)
        for site in case.sites if case.plan else ():
            self.report.scopes[site.family].sites += site.family not in (OP, TIMER) and not self._seen(site)
        if case.verdict is Verdict.PASS and len(case.plan) < self.longest and case.sites:
            self._grow(case)

    def _grow(self, case: Case) -> None:
        """Extend a case later, unless another came to the same: then whichever has more of its course to go."""
        case.sites = [site for site in case.sites if self._fits(case.plan, site)]
        if not case.plan:
            self.frontier.append((case.plan, case.sites))
            return
        likeness, place = case.likeness, len(self.grown)
        if likeness is not None and likeness in self.alike:
            landed_at, place = self.alike[likeness]
            spared = self.grown[place][1] if case.landed_at < landed_at else case.sites
            self.report.merged += len(spared)
            if spared is case.sites:
                return
            self.grown[place] = case.plan, case.sites
        else:
            self.grown.append((case.plan, case.sites))
        if likeness is not None:
            self.alike[likeness] = case.landed_at, place

    def _fits(self, plan: Plan, site: Injection) -> bool:
        """Tell whether a plan may have one more of this kind; which preemptions may be is noted by the course."""
        return site.phase is Phase.FIRST or len(plan) - preemptions(plan) < self.depth

    def _seen(self, site: Injection) -> bool:
        return self.report.scopes[site.family].sites > 0


def _parting(first: list[Traced], second: list[Traced]) -> str:
    for number, (one, other) in enumerate(zip(first, second, strict=False), 1):
        if one != other:
            return f"step {number} was {_step(one)} in one run, and {_step(other)} in the next"
    return f"one run took {len(first)} steps, and the next {len(second)}"


def _step(traced: Traced) -> str:
    number, name, place, at, *_ = traced
    return f"{name} (task {number}) at {place}, {at:g} s"
