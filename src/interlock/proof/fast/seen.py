"""A set of packed states, as sorted arrays of doubling sizes: what is new is found by bisection, in numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


class Seen:
    """Grows by whole layers."""

    def __init__(self) -> None:
        self.runs: list[Words] = []
        self.size = 0

    def new(self, states: Words) -> Words:
        """Return those of some sorted, distinct states that are not in the set, and add them."""
        for run in self.runs:
            if states.size:
                at = np.minimum(np.searchsorted(run, states), run.size - 1)
                states = states[run[at] != states]
        self._add(states)
        return states

    def _add(self, states: Words) -> None:
        self.size += states.size
        if states.size:
            self.runs.append(states)
        while len(self.runs) > 1 and self.runs[-2].size < 2 * self.runs[-1].size:
            last = self.runs.pop()
            merged = np.concatenate([self.runs.pop(), last])
            merged.sort(kind="stable")
            self.runs.append(merged)
