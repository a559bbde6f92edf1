"""What an exploration says, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from interlock.machine import Row
from interlock.proof.explore.chart import text_chart
from interlock.proof.explore.replay import replayed
from interlock.proof.explore.verdict import Exploration, Finding, Verdict


def text(exploration: Exploration, *, rows: bool = True) -> str:
    """Return a report: the size and the bounds, each property with its verdict, and a chart of what is violated.

    With ``rows``, it lists the rows that never fired: for a model that is meant to take them all.
    """
    return "\n".join(_lines(exploration, rows))


def _lines(told: Exploration, rows: bool) -> Iterator[str]:
    model = told.model
    stands = f", standing for {told.weight:,}" if told.weight != told.states else ""
    yield (
        f"{model.name}: {told.states:,} states{stands}, {told.steps:,} steps, depth {told.depth},"
        f" {told.seconds:.1f} s ({told.engine} engine)"
    )
    if told.note:
        yield f"  {told.note}"
    yield f"  {'not complete: ' + told.incomplete if told.incomplete else 'complete within its bounds'}"
    for name, value in model.bounds.items():
        if value not in (False, (), [], ""):
            yield f"  bound     {name} = {_plain(value)}"
    for finding in told.findings:
        yield from _finding(told, finding)
    for row in told.dead_rows() if rows else ():
        yield f"  never     {row_text(row)}"
    asked = any(f.property.modality in ("again and again", "leads to") for f in told.findings)
    if asked and model.fairness:
        yield "  fairness  " + "; ".join(dict.fromkeys(model.fairness.values()))


def _finding(told: Exploration, finding: Finding) -> Iterator[str]:
    asked = finding.property
    yield f"  {finding.verdict:<12} {asked.name} ({asked.modality}): {asked.sentence}"
    if finding.seen:
        yield f"      {finding.seen}"
    if finding.verdict is Verdict.VIOLATED and asked.modality != "sometimes":
        chart = text_chart(replayed(told.model, finding.path), told.model.lifelines)
        yield from ("      " + line for line in chart.splitlines())


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def row_text(found: tuple[str, Row]) -> str:
    """Return one row on one line: machine, state, event, and what tells it from its neighbours."""
    name, row = found
    how = f" if {row.guard}" if row.guard else ""
    answer = (
        f" -> {row.to}" if row.to else " (ignore)" if row.ignore else f" (refuse {row.refuse})" if row.refuse else ""
    )
    return f"{name} {row.state or '(birth)'} {row.event.__name__}{how}{answer}"


def as_json(told: Exploration) -> dict[str, Any]:
    """Return the same as plain values."""
    return {
        "name": told.model.name,
        "engine": told.engine,
        "verdict": told.verdict,
        "states": told.states,
        "weight": told.weight,
        "steps": told.steps,
        "depth": told.depth,
        "note": told.note,
        "seconds": round(told.seconds, 3),
        "complete": not told.incomplete,
        "incomplete": told.incomplete,
        "bounds": dict(told.model.bounds),
        "fairness": dict(told.model.fairness),
        "properties": [
            {
                "name": finding.property.name,
                "sentence": finding.property.sentence,
                "modality": finding.property.modality,
                "verdict": finding.verdict,
                "seen": finding.seen,
                "path": list(finding.path),
            }
            for finding in told.findings
        ],
        "dead_rows": [row_text(row) for row in told.dead_rows()],
    }


def coverage(told: Sequence[Exploration]) -> list[tuple[str, Row]]:
    """Return the rows that fire in none of several explorations of the same machines."""
    fired = {row for exploration in told for row, count in exploration.rows.items() if count}
    return [row for row in told[0].model.rows() if row not in fired]
