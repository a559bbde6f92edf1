"""``interlock sweep``: run scenarios, interrupted at every point, from the command line."""

from __future__ import annotations

import argparse
import json
import sys
import time

from interlock.proof.load import Unusable, load
from interlock.proof.plan import Plan, parse
from interlock.proof.report import Report, blank
from interlock.proof.run import run_plan
from interlock.proof.scenario import Scenario
from interlock.proof.sweep import Progress, sweep
from interlock.proof.verdict import Limits, Verdict, worst

CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.UNRESOLVED: 2}

PATIENCE_S = 2.0
EVERY_S = 0.5


class Told:
    """Says on stderr how far a sweep is and how long the known rest will take, once it has taken a while."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.next_s = PATIENCE_S
        self.said = False

    def __call__(self, progress: Progress) -> None:
        """Say it, if the time has come."""
        if progress.seconds >= self.next_s:
            self.next_s = progress.seconds + EVERY_S
            self.said = True
            rest = f"about {progress.left_s:.0f} s for those known so far"
            self._write(f"{self.name}: {progress.done} of {progress.known} plans, {rest}")

    def done(self) -> None:
        """Leave the line."""
        if self.said and sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")

    def _write(self, line: str) -> None:
        sys.stderr.write(f"\r\x1b[K{line}" if sys.stderr.isatty() else f"{line}\n")
        sys.stderr.flush()


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "Exit codes: 0 every case of every scenario held, 1 a case failed, 2 something is not known (UNRESOLVED) or"
        " could not be done. docs/sweep.md says how to write a scenario."
    )
    parser.add_argument("targets", nargs="+", metavar="TARGET", help="path.py, module, path.py:name or module:name")
    parser.add_argument(
        "--depth", type=_natural, metavar="N", help="injections in a plan (default: the scenario's, or 1)"
    )
    parser.add_argument("--scenario", action="append", metavar="NAME", help="only this scenario; may be repeated")
    parser.add_argument("--replay", metavar="PLAN", help="run this one plan, as a failure printed it: early@7:op")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="the order in which trio runs tasks (default: 0)"
    )
    parser.add_argument("--plans", type=_natural, metavar="N", help=f"at most so many (default: {Limits().plans})")
    parser.add_argument("--json", action="store_true", help="print the reports as one JSON document")


def main(args: argparse.Namespace) -> int:
    """Sweep or replay, print reports, and return the worst verdict as an exit code."""
    scenarios = _chosen(args.targets, args.scenario)
    limits = Limits() if args.plans is None else Limits(plans=args.plans)
    if args.replay is not None:
        if len(scenarios) != 1:
            raise Unusable(f"a plan belongs to one scenario: name it with --scenario, one of {', '.join(scenarios)}")
        reports = [_replayed(swept, parse(args.replay), args.seed) for swept in scenarios.values()]
    else:
        reports = [_swept(swept, args, limits) for swept in scenarios.values()]
    _print(reports, as_json=args.json)
    return CODES[worst(report.verdict for report in reports)]


def _natural(written: str) -> int:
    if not written.isdecimal():
        raise argparse.ArgumentTypeError(f"{written!r} is not a number of 0 or more")
    return int(written)


def _chosen(targets: list[str], names: list[str] | None) -> dict[str, Scenario]:
    found: dict[str, Scenario] = {}
    for target in targets:
        found |= load(target)
    if missing := [name for name in names or () if name not in found]:
        raise Unusable(f"no scenario is called {', '.join(missing)}; there are {', '.join(found)}")
    return {name: swept for name, swept in found.items() if not names or name in names}


def _swept(swept: Scenario, args: argparse.Namespace, limits: Limits) -> Report:
    told = Told(swept.name)
    try:
        return sweep(swept, args.depth, args.seed, limits, told)
    finally:
        told.done()


def _replayed(swept: Scenario, plan: Plan, seed: int) -> Report:
    began = time.perf_counter()
    case = run_plan(swept, plan, seed=seed)
    report = blank(swept.name, len(plan), seed, Limits())
    report.add(case)
    report.baseline_steps, report.seconds = case.index, time.perf_counter() - began
    return report


def _print(reports: list[Report], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps([report.as_json() for report in reports], indent=2) + "\n")
    else:
        sys.stdout.write("\n\n".join(map(str, reports)) + "\n")
