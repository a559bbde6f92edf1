"""What an exploration says of each property: it HOLDS, it is VIOLATED, or it is UNDETERMINED and why."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from interlock.machine import Row
from interlock.proof.explore.liveness import stays, traps
from interlock.proof.explore.model import ROWS, Model, Property
from interlock.proof.explore.search import Graph, Limits


class Verdict(StrEnum):
    """Of one property. What was not looked at to the end is never HOLDS."""

    HOLDS = "HOLDS"
    VIOLATED = "VIOLATED"
    UNDETERMINED = "UNDETERMINED"


class Finding(NamedTuple):
    """A verdict, what was seen, and a shortest path to it: the labels of moves from the start."""

    property: Property
    verdict: Verdict
    seen: str = ""
    path: tuple[str, ...] = ()


class Exploration(NamedTuple):
    """What one engine found in one model."""

    model: Model
    engine: str
    states: int
    steps: int
    depth: int
    weight: int
    seconds: float
    incomplete: str
    limits: Limits
    findings: tuple[Finding, ...]
    rows: Mapping[tuple[str, Row], int]
    """How often each row fired; once, where nobody counted."""
    note: str = ""
    """What else a reader should know of how it was found."""

    @property
    def verdict(self) -> Verdict:
        """The worst of all."""
        found = {finding.verdict for finding in self.findings}
        return next((v for v in (Verdict.VIOLATED, Verdict.UNDETERMINED) if v in found), Verdict.HOLDS)

    def dead_rows(self) -> list[tuple[str, Row]]:
        """Return the rows that never fired."""
        return [row for row in self.model.rows() if not self.rows.get(row)]


def judged(graph: Graph, limits: Limits | None = None) -> Exploration:
    """Ask every property of a finished search."""
    asked = [one for one in graph.model.properties if one.modality != "sometimes" or one.goal]
    found = tuple(_finding(graph, one) for one in asked)
    return Exploration(
        graph.model,
        "plain",
        graph.states,
        graph.steps,
        graph.depth,
        graph.weight,
        graph.seconds,
        graph.incomplete,
        limits or Limits(),
        found,
        graph.rows,
    )


def _finding(graph: Graph, asked: Property) -> Finding:
    if asked.modality == "always":
        return _always(graph, asked)
    if asked.modality == "sometimes":
        return _sometimes(graph, asked)
    if graph.incomplete:
        return Finding(asked, Verdict.UNDETERMINED, f"the search is not complete: {graph.incomplete}")
    if getattr(graph.model, "symmetric", False) and asked.modality != "AG EF":
        return Finding(
            asked, Verdict.UNDETERMINED, "not asked where clients are interchangeable: a run needs their names"
        )
    if asked.modality == "AG EF":
        return _can_end(graph, asked)
    return _on_runs(graph, asked)


def _always(graph: Graph, asked: Property) -> Finding:
    violation = graph.violations.get(asked.name)
    if violation is not None:
        path = (*graph.path(violation.source), *([violation.label] if violation.label else []))
        return Finding(asked, Verdict.VIOLATED, violation.seen, path)
    if graph.incomplete:
        return Finding(asked, Verdict.UNDETERMINED, f"the search is not complete: {graph.incomplete}")
    return Finding(asked, Verdict.HOLDS)


def _sometimes(graph: Graph, asked: Property) -> Finding:
    if asked.goal == ROWS:
        dead = [row for row in graph.model.rows() if not graph.rows[row]]
        seen = f"{len(dead)} rows never fire" if dead else ""
    else:
        seen = "" if any(asked.goal in marks for marks in graph.marks) else f"no state is {asked.goal!r}"
    if seen and graph.incomplete:
        return Finding(asked, Verdict.UNDETERMINED, f"{seen}, but the search is not complete: {graph.incomplete}")
    return Finding(asked, Verdict.VIOLATED if seen else Verdict.HOLDS, seen)


def _can_end(graph: Graph, asked: Property) -> Finding:
    found = traps(graph, asked.goal)
    if not found:
        return Finding(asked, Verdict.HOLDS)
    seen = f"{len(found):,} states from which {asked.goal!r} cannot be reached; this is the nearest"
    return Finding(asked, Verdict.VIOLATED, seen, graph.path(found[0]))


def _on_runs(graph: Graph, asked: Property) -> Finding:
    found = stays(graph, asked)
    if not found:
        return Finding(asked, Verdict.HOLDS)
    seen = f"a fair run can stay for ever among {len(found):,} states that are not {asked.goal!r}; this is the nearest"
    return Finding(asked, Verdict.VIOLATED, seen, graph.path(found[0]))
