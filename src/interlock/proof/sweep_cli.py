"""``interlock sweep``: run scenarios, interrupted at every point, from the command line."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path

from interlock.proof import errands
from interlock.proof.errands import OURS, Errand
from interlock.proof.load import Unusable, load
from interlock.proof.plan import Plan, parse
from interlock.proof.report import Report, blank
from interlock.proof.report_page import brief, page
from interlock.proof.run import run_plan
from interlock.proof.scenario import Scenario
from interlock.proof.verdict import Limits, Verdict, worst

CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.UNRESOLVED: 2}

MANY = 8
"""More reports than this are told in a line each."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "Exit codes: 0 every case of every scenario held, 1 a case failed, 2 something is not known (UNRESOLVED) or"
        " could not be done. docs/sweep.md says how to write a scenario."
    )
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"path.py, module, path.py:name or module:name (default: {OURS})"
    )
    parser.add_argument(
        "--depth", type=_natural, metavar="N", help="injections in a plan (default: the scenario's, or 1)"
    )
    parser.add_argument("--scenario", action="append", metavar="NAME", help="only this scenario; may be repeated")
    parser.add_argument("--replay", metavar="PLAN", help="run this one plan, as a failure printed it: early@7:op")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="the order in which trio runs tasks (default: 0)"
    )
    parser.add_argument(
        "--preemptions", type=_natural, metavar="N", help="and in each order that so many preemptions make (default: 0)"
    )
    parser.add_argument("--plans", type=_natural, metavar="N", help=f"at most so many (default: {Limits().plans})")
    parser.add_argument("--full", action="store_true", help="our own scenarios in pairs, the canonical ones in threes")
    parser.add_argument("--every", action="store_true", help="run also what comes to the same as what was run")
    parser.add_argument("--jobs", type=_natural, default=0, metavar="N", help="processes (default: 0, one a core)")
    parser.add_argument("--page", metavar="FILE", help="write the reports as a page of Markdown, too")
    parser.add_argument("--json", action="store_true", help="print the reports as one JSON document")


def main(args: argparse.Namespace) -> int:
    """Sweep or replay, print reports, and return the worst verdict as an exit code."""
    if args.page is not None:
        _write(args.page, "", mode="a")  # before anything takes half an hour
    reports = _replayed(args) if args.replay is not None else _swept(args)
    if args.page is not None:
        _write(args.page, page(reports, "interlock sweep --full" if args.full else "interlock sweep"))
    _print(reports, as_json=args.json)
    return CODES[worst(report.verdict for report in reports)]


def _natural(written: str) -> int:
    if not written.isdecimal():
        raise argparse.ArgumentTypeError(f"{written!r} is not a number of 0 or more")
    return int(written)


def _chosen(args: argparse.Namespace) -> dict[str, tuple[str, Scenario]]:
    """Return each chosen scenario by its name, with the target in which it was found."""
    found = {name: (target, swept) for target in args.targets or [OURS] for name, swept in load(target).items()}
    if missing := [name for name in args.scenario or () if name not in found]:
        raise Unusable(f"no scenario is called {', '.join(missing)}; there are {', '.join(found)}")
    return {name: where for name, where in found.items() if not args.scenario or name in args.scenario}


def _swept(args: argparse.Namespace) -> list[Report]:
    if args.full and (args.targets or args.depth is not None or args.preemptions is not None):
        raise Unusable("--full says itself what is swept, and how deep")
    limits = Limits() if args.plans is None else Limits(plans=args.plans)
    limits = dataclasses.replace(limits, merge=not args.every, preemptions=args.preemptions or 0)
    due = [
        _in_full(name, args.seed, limits) if args.full else Errand(target, name, args.depth, args.seed, limits)
        for name, (target, _) in _chosen(args).items()
    ]
    return list(errands.run(due, args.jobs))


def _in_full(name: str, seed: int, limits: Limits) -> Errand:
    """Return how a scenario of ours is swept in full: in pairs, in threes, or in every order that matters."""
    from interlock.proof.scenarios import CANONICAL, RACING

    if name in RACING:
        return Errand(OURS, name, 1, seed, dataclasses.replace(limits, preemptions=2))
    return Errand(OURS, name, 3 if name in CANONICAL else 2, seed, limits)


def _replayed(args: argparse.Namespace) -> list[Report]:
    scenarios = _chosen(args)
    if len(scenarios) != 1:
        raise Unusable(f"a plan belongs to one scenario: name it with --scenario, one of {', '.join(scenarios)}")
    return [_replay(swept, parse(args.replay), args.seed) for _, swept in scenarios.values()]


def _replay(swept: Scenario, plan: Plan, seed: int) -> Report:
    began = time.perf_counter()
    case = run_plan(swept, plan, seed=seed)
    report = blank(swept.name, len(plan), seed, Limits())
    report.add(case)
    report.baseline_steps, report.seconds = case.index, time.perf_counter() - began
    return report


def _write(path: str, text: str, mode: str = "w") -> None:
    try:
        with Path(path).open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Unusable(f"{path} cannot be written: {error.strerror}") from error


def _print(reports: list[Report], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps([report.as_json() for report in reports], indent=2) + "\n")
    elif len(reports) > MANY:
        sys.stdout.write(brief(reports) + "\n")
    else:
        sys.stdout.write("\n\n".join(map(str, reports)) + "\n")
