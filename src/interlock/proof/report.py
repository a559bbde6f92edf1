"""What a sweep has covered and found, as numbers, as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from interlock.proof.judge import Case
from interlock.proof.plan import ENTRY, OP, Phase, Plan, text
from interlock.proof.report_text import table
from interlock.proof.verdict import Landing, Limits, Verdict, worst

SHOWN = 5
"""How many plans that came to the same findings are named after the first."""


@dataclass(slots=True)
class Tally:
    """How often injections landed somewhere, by how. ``sites`` counts the instants that the baseline offered."""

    sites: int = 0
    early: int = 0
    late: int = 0
    beside: int = 0
    fault: int = 0

    def count(self, landing: Landing) -> None:
        """Count one injection that fired."""
        phase = landing.injection.phase
        if phase.is_of_a_port:
            self.fault += 1
        elif landing.beside:
            self.beside += 1
        elif phase is Phase.LATE:
            self.late += 1
        elif phase in (Phase.EARLY, Phase.FIRST):
            self.early += 1

    def row(self) -> list[int]:
        """Return the numbers in the order of the report's columns."""
        return [self.early, self.late, self.beside, self.fault]


@dataclass(slots=True)
class Report:
    """The result of one sweep. ``verdict`` is PASS only if everything was run and everything held."""

    scenario: str
    depth: int
    seed: int
    limits: Limits
    counts: Counter[Verdict] = field(default_factory=Counter)
    scopes: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    awaits: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    lengths: Counter[int] = field(default_factory=Counter)
    failures: list[Case] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    baseline_steps: int = 0
    merged: int = 0
    steps: int = 0
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """FAIL if any case failed; else UNRESOLVED if anything is not known; else PASS."""
        unknown = [Verdict.UNRESOLVED] if self.unresolved else []
        return worst([*(verdict for verdict in self.counts if self.counts[verdict]), *unknown])

    @property
    def plans(self) -> int:
        """How many cases with injections were run."""
        return sum(count for length, count in self.lengths.items() if length)

    @property
    def shortest(self) -> Plan | None:
        """The simplest failing plan, of those with the fewest injections, if any failed."""
        return self.failures[0].plan if self.failures else None

    def add(self, case: Case) -> None:
        """Count one case, and keep the first failures, the simplest first."""
        self.counts[case.verdict] += 1
        self.lengths[len(case.plan)] += 1
        self.steps += case.steps
        for landing in case.landings:
            self.scopes[landing.injection.family].count(landing)
            if landing.place.line and landing.injection != ENTRY and landing.injection.phase is not Phase.FIRST:
                self.awaits[str(landing.place)].count(landing)
        if case.verdict is Verdict.FAIL and len(self.failures) < self.limits.kept:
            self.failures.append(case)
            self.failures.sort(key=lambda failed: failed.bulk)
        if case.verdict is Verdict.UNRESOLVED:
            self.doubt(f"plan {text(case.plan) or '(nothing injected)'}: {'; '.join(case.findings)}")

    def doubt(self, why: str) -> None:
        """Note why something is not known."""
        if len(self.unresolved) < self.limits.kept and why not in self.unresolved:
            self.unresolved.append(why)

    def __str__(self) -> str:
        return "\n".join([*self._head(), *self._tables(), *self._findings()])

    def _head(self) -> list[str]:
        counts = ", ".join(f"{self.counts[verdict]} {verdict}" for verdict in Verdict)
        lengths = ", ".join(f"{self.lengths[n]} of {n}" for n in sorted(self.lengths) if n)
        more = f", up to {self.limits.preemptions} preemptions" if self.limits.preemptions else ""
        spared = f"; {self.merged} more would come to the same" if self.merged else ""
        return [
            f"{self.verdict}  {self.scenario}  (depth {self.depth}{more}, seed {self.seed})",
            f"  baseline: {self.baseline_steps} steps; plans: {self.plans} ({lengths or 'none'} injected){spared}",
            f"  cases: {counts}; {self.steps} task steps in {self.seconds:.2f} s",
        ]

    def _tables(self) -> list[str]:
        scopes = [[name, tally.sites, *tally.row()] for name, tally in self.scopes.items()]
        awaits = [[place, *tally.row()] for place, tally in sorted(self.awaits.items())]
        return [
            *table(["scope or port", "sites", "early", "late", "beside", "fault"], scopes),
            *table(["await", "early", "late", "beside", "fault"], awaits),
        ]

    def _findings(self) -> list[str]:
        lines = [f"  unresolved: {why}" for why in self.unresolved]
        alike: dict[str, list[Case]] = defaultdict(list)
        for case in self.failures:
            alike["; ".join(case.findings)].append(case)
        for first, *others in alike.values():
            lines += ["", *("  " + line for line in str(first).splitlines())]
            lines += [f"    the same: {', '.join(text(case.plan) for case in others[:SHOWN])}"] if others else []
            lines[-1] += f", and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
        more = self.counts[Verdict.FAIL] - len(self.failures)
        return lines + ([f"  ... and {more} more failures"] if more else [])

    def as_json(self) -> dict[str, Any]:
        """Return everything as what ``json`` can write."""
        return {
            "format": 1,
            "scenario": self.scenario,
            "verdict": str(self.verdict),
            "depth": self.depth,
            "preemptions": self.limits.preemptions,
            "seed": self.seed,
            "baseline_steps": self.baseline_steps,
            "plans": self.plans,
            "plans_alike": self.merged,
            "plans_by_length": {str(length): count for length, count in sorted(self.lengths.items()) if length},
            "cases": {str(verdict): self.counts[verdict] for verdict in Verdict},
            "task_steps": self.steps,
            "seconds": round(self.seconds, 3),
            "scopes": {name: _tallied(tally) for name, tally in self.scopes.items()},
            "awaits": {place: _tallied(tally) for place, tally in sorted(self.awaits.items())},
            "unresolved": self.unresolved,
            "failures": [_failed(case) for case in self.failures],
        }

    def dumps(self) -> str:
        """Return the report as JSON text."""
        return json.dumps(self.as_json(), indent=2)


def _tallied(tally: Tally) -> dict[str, int]:
    return {name: getattr(tally, name) for name in Tally.__slots__}


def _failed(case: Case) -> dict[str, Any]:
    landings = [
        {
            "injection": str(landing.injection),
            "task": landing.task,
            "file": landing.place.file,
            "line": landing.place.line,
            "await": landing.place.source,
        }
        for landing in case.landings
    ]
    raised = [{"task": task, "file": place.file, "line": place.line} for task, place in case.raised_at]
    return {"plan": text(case.plan), "findings": case.findings, "landings": landings, "raised_at": raised}


def blank(scenario: str, depth: int, seed: int, limits: Limits) -> Report:
    """Begin a report. The operation's own scope is in it from the start, so that zero sites show."""
    report = Report(scenario, depth, seed, limits)
    report.scopes[OP] = Tally()
    return report
