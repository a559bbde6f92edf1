"""What the fast engine says of each property that it can answer."""

from __future__ import annotations

from collections import Counter

import numpy as np

from interlock.proof.explore.model import Property
from interlock.proof.explore.search import Limits
from interlock.proof.explore.verdict import Exploration, Finding, Verdict
from interlock.proof.fast.audit import audit
from interlock.proof.fast.engine import Engine, Layers, trace
from interlock.proof.fast.parts import Parts, apart
from interlock.proof.fast.tables import BROKEN, Tables
from interlock.proof.world.symmetry import sorted_clients

STAYS = "what is about runs is asked of the smaller worlds"


def judged(engine: Engine, found: Layers, limits: Limits) -> Exploration:
    """Ask every property, after an audit of the tables."""
    audited = 0 if found.incomplete or found.tables.violations else audit(engine, found)
    findings = [_finding(engine, found, asked) for asked in engine.model.properties if asked.modality != "sometimes"]
    return Exploration(
        engine.model,
        "fast",
        found.states,
        found.steps,
        len(found.layers) - 1,
        found.weight,
        found.seconds,
        found.incomplete,
        limits,
        tuple(finding for finding in findings if finding is not None),
        Counter(dict.fromkeys(found.tables.fired, 1)),
        f"{found.tables.situations:,} situations asked of the core; {audited} states audited against it; {STAYS}",
    )


def _finding(engine: Engine, found: Layers, asked: Property) -> Finding | None:
    if asked.modality not in ("always", "AG EF"):
        return None
    if asked.name in found.tables.violations:
        seen, parts, label = found.tables.violations[asked.name]
        return Finding(asked, Verdict.VIOLATED, seen, _path(engine, found, parts, label))
    if found.incomplete or found.tables.violations:
        why = found.incomplete or "it stopped at the first violation"
        return Finding(asked, Verdict.UNDETERMINED, f"the search is not complete: {why}")
    if asked.modality == "AG EF" and not _can_end(found.tables):
        return Finding(asked, Verdict.UNDETERMINED, "a shutdown and what the stages do do not end every session")
    return Finding(asked, Verdict.HOLDS)


def _can_end(tables: Tables) -> bool:
    """Say whether each back can come to CLOSED by what is possible whatever the front: its own moves, and a shutdown.

    That is enough for every state to have a way to the end. It is not necessary; so a no is not a violation.
    """
    ends = {number for number, back in enumerate(tables.backs.things) if back.session.state == "CLOSED"}
    shutdown = tables.asks.numbers.get("EndRequested server_shutdown ", 0)
    before: dict[int, set[int]] = {}
    for number in range(len(tables.backs.things)):
        after = {row[0] for row in tables.own.known.get(number, ()) if row[0] != BROKEN}
        after |= set(tables.back_after.look(np.array([number]), np.array([shutdown])).tolist()) if shutdown else set()
        for one in after - {-1}:
            before.setdefault(one, set()).add(number)
    waiting = list(ends)
    while waiting:
        for number in before.get(waiting.pop(), set()) - ends:
            ends.add(number)
            waiting.append(number)
    return len(ends) == len(tables.backs.things)


def _path(engine: Engine, found: Layers, parts: Parts, label: str) -> tuple[str, ...]:
    """Return the labels of a shortest path to a state, and of the step there that broke."""
    model = engine.model
    words = trace(engine, found, engine.word(parts))
    state, labels = model.start(), []
    for word in words[1:]:
        move, state = next(
            (move, after)
            for move, after in ((move, model.take(state, move).state) for move in model.moves(state))
            if engine.word(apart(after)) == word
        )
        labels.append(move.label)
    world = sorted_clients(found.tables.world(parts))
    broken = [move.label for move in model.moves(world) if label and model.take(world, move).broken]
    return (*labels, *broken[:1])
