"""Is it true that parts do what they do, whatever is beside them? Whole states, whole moves, and the real core say.

For each state of a sample, the successors that the tables give are compared with those that the model gives: all of
them, as sets. A single difference is an error of the engine, and is raised.
"""

from __future__ import annotations

import numpy as np

from interlock.proof.fast.engine import Engine, Layers
from interlock.proof.fast.parts import apart


class Parted(AssertionError):
    """The fast engine and the model do not agree about a state."""


def audit(engine: Engine, found: Layers, count: int = 200, seed: int = 1) -> int:
    """Compare at most ``count`` states of the sample; return how many. Raises :class:`Parted`."""
    model, packing = engine.model, found.packing
    chosen = np.random.default_rng(seed).permutation(found.sample)[:count]
    for word in chosen:
        one = np.array([word], np.uint64)
        parts = engine.parts(packing.unpack(one), 0)
        world = found.tables.world(parts)
        after = [model.take(world, move).state for move in model.moves(world)]
        wanted = {int(engine.word(apart(state))) for state in after}
        given = set(engine.successors(one).tolist())
        if wanted != given:
            raise Parted(
                f"{len(wanted - given)} successors are missing and {len(given - wanted)} are not there: {parts}"
            )
    return len(chosen)
