"""The kill table: which property finds each mutant, in which world, and by how short a path."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from interlock.errors import MachineError
from interlock.proof.explore.model import Model
from interlock.proof.explore.mutant import Mutant, planted
from interlock.proof.explore.reach import Reach
from interlock.proof.explore.search import Graph, Limits, search
from interlock.proof.explore.verdict import Verdict, judged

Worlds = Callable[[str], Model]

MUTANT_LIMITS = Limits(states=60_000, seconds=300)


class Kill(NamedTuple):
    """What became of one mutant. ``finds`` is the property that found it; when none did, ``seen`` says why."""

    mutant: Mutant
    world: str = ""
    finds: str = ""
    seen: str = ""
    path: tuple[str, ...] = ()
    states: int = 0
    seconds: float = 0.0

    @property
    def is_as_said(self) -> bool:
        """Whether it was found, or survives for the reason that its author gives."""
        return bool(self.finds) != bool(self.mutant.survives)


def killed(mutant: Mutant, world: Worlds, names: Sequence[str], machines: str, limits: Limits = MUTANT_LIMITS) -> Kill:
    """Explore worlds with the mutant until a property breaks: the one that it names, or else ``names`` in order."""
    asked = [mutant.world] if mutant.world else names
    return _looked_for(mutant, asked, machines, limits, lambda name: search(world(name), limits, stop_at_first=True))


def killed_in(mutant: Mutant, reach: Mapping[str, Reach], machines: str, limits: Limits = MUTANT_LIMITS) -> Kill:
    """The same of a mutant that was made, in worlds that were searched without it, in order."""
    met = mutant.at
    assert met is not None
    return _looked_for(mutant, list(reach), machines, limits, lambda name: reach[name].with_fault(met, limits))


def _looked_for(
    mutant: Mutant, names: Sequence[str], machines: str, limits: Limits, find: Callable[[str], Graph | None]
) -> Kill:
    began, states = time.perf_counter(), 0
    seen = ""
    try:
        for name in names:
            with planted(mutant, machines):
                graph = find(name)
                if graph is None:
                    continue
                kill = _in_world(mutant, name, graph, limits)
            states += kill.states
            if kill.finds:
                return kill._replace(states=states, seconds=time.perf_counter() - began)
            seen = seen or kill.seen or f"nothing broke in {name}"
    except MachineError as wrong:
        return Kill(mutant, finds="build", seen=str(wrong).splitlines()[0], seconds=time.perf_counter() - began)
    seen = seen or "no step of any world leads elsewhere"
    return Kill(mutant, seen=seen, states=states, seconds=time.perf_counter() - began)


def _in_world(mutant: Mutant, name: str, graph: Graph, limits: Limits) -> Kill:
    for finding in judged(graph, limits).findings:
        if finding.verdict is Verdict.VIOLATED and finding.property.modality != "sometimes":
            return Kill(mutant, name, finding.property.name, finding.seen, finding.path, graph.states)
    seen = "" if not graph.incomplete else f"not complete: {graph.incomplete}"
    return Kill(mutant, name, seen=seen, states=graph.states)


def table(kills: Iterable[Kill]) -> str:
    """Return the kill table as text."""
    kills = list(kills)
    rows = [("mutant", "found by", "in", "moves", "states", "what it is")]
    rows += [
        (
            kill.mutant.name,
            kill.finds or ("survives" if kill.mutant.survives else "SURVIVES"),
            kill.world,
            str(len(kill.path) or ""),
            f"{kill.states:,}",
            kill.mutant.says if kill.finds else f"{kill.mutant.says} ({kill.mutant.survives or kill.seen})",
        )
        for kill in kills
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[5]]) for row in rows
    ]
    found = sum(bool(kill.finds) for kill in kills)
    explained = sum(bool(kill.mutant.survives) for kill in kills if not kill.finds)
    rest = f", {explained} explained" if explained else ""
    return "\n".join([*lines, f"{found} of {len(kills)} mutants found{rest}"])
