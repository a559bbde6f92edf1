"""Many reports on one page, in Markdown, and in a few lines of text."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from collections.abc import Sequence

import trio

from interlock.proof.plan import OP
from interlock.proof.report import Report
from interlock.proof.report_text import table
from interlock.proof.verdict import Verdict

COLUMNS = (
    *("scenario", "depth", "orders", "steps", "plans", "alike", "task steps"),
    *("awaits", "early", "late", "s", "verdict"),
)


def rows(reports: Sequence[Report]) -> list[list[object]]:
    """Return one row for each report, in the order of the columns."""
    return [
        [
            report.scenario,
            report.depth,
            report.limits.preemptions,
            report.baseline_steps,
            report.plans,
            report.merged,
            report.steps,
            *_awaits([report]),
            round(report.seconds, 1),
            str(report.verdict),
        ]
        for report in reports
    ]


def summary(reports: Sequence[Report]) -> str:
    """Say in one paragraph what was run and found."""
    counts = ", ".join(f"{sum(report.counts[verdict] for report in reports)} {verdict}" for verdict in Verdict)
    plans, steps = sum(report.plans for report in reports), sum(report.steps for report in reports)
    awaits, early, late = _awaits(reports)
    return (
        f"{len(reports)} scenarios, {plans} plans, {steps} task steps: {counts}. Of {awaits} lines that await,"
        f" {early} were cancelled early and {late} late."
    )


def brief(reports: Sequence[Report]) -> str:
    """Return one line for each report, the whole of each that did not pass, and the summary."""
    whole = [str(report) for report in reports if report.verdict is not Verdict.PASS]
    return "\n\n".join(["\n".join(table(COLUMNS, rows(reports))), *whole, summary(reports)])


def page(reports: Sequence[Report], command: str) -> str:
    """Return the page."""
    lines = [_row(COLUMNS), _row(["---", *["---:"] * (len(COLUMNS) - 2), "---"]), *map(_row, rows(reports))]
    found = [f"```text\n{report}\n```" for report in reports if report.verdict is not Verdict.PASS]
    parts = ["# A sweep of our own runtime", _origin(command), summary(reports), _words(), "\n".join(lines)]
    return "\n\n".join([*parts, _scopes(reports), *found]) + "\n"


def _origin(command: str) -> str:
    today = datetime.datetime.now(datetime.UTC).date()
    return (
        f"Written by `{command}` on {today}: Python {platform.python_version()}, trio {trio.__version__},"
        f" {platform.system()} on {platform.machine()} with {os.cpu_count()} cores, {sys.implementation.name}."
    )


def _words() -> str:
    return (
        "*depth*: the bound on cancels and faults in a plan. *orders*: the bound on preemptions in it, each of which"
        " runs a task ahead of those that the seed put before it in a pass of the loop. *steps*: of the operation, with"
        " nothing injected. *plans*: cases that were run with injections. *alike*: those that were not run, since"
        " another comes to the same, state by state ([sweep.md](sweep.md)). *awaits*: lines that a cancel met, of these"
        " *early* with the task waiting and *late* with the task woken already."
    )


def _scopes(reports: Sequence[Report]) -> str:
    names = sorted({name for report in reports for name in report.scopes}, key=lambda name: (name != OP, name))
    head = ("scope or port", "early", "late", "beside", "fault")
    body = [[name, *map(sum, zip(*(report.scopes[name].row() for report in reports), strict=True))] for name in names]
    return "\n".join([_row(head), _row(["---", *["---:"] * 4]), *map(_row, body)])


def _awaits(reports: Sequence[Report]) -> tuple[int, int, int]:
    early = {place for report in reports for place, tally in report.awaits.items() if tally.early}
    late = {place for report in reports for place, tally in report.awaits.items() if tally.late}
    return len(early | late), len(early), len(late)


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
