"""Where a world comes: every state, and every step at which a machine's state meets an event.

With it a mutant of one row can be told from the original without searching anew. The mutated world is the same as the
original up to the first step that goes through that row; if none of those steps leads elsewhere, the two worlds are the
same to the end, and no property of any kind can tell them apart there.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import TypeAlias

from interlock.proof.explore.model import Model, Move, State

Met: TypeAlias = tuple[str, str, str]
"""Machine, state and event."""


class Reach:
    """One world, searched to the end."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.steps = 0
        self._numbers: dict[Hashable, int] = {}
        self._states: list[State] = []
        self._met: defaultdict[Met, array[int]] = defaultdict(lambda: array("L"))
        """Of each step, three numbers: the state, the move, and the state that it leads to."""
        self._number(model.start())
        for at, state in enumerate(self._states):  # which grows meanwhile
            self._expand(at, state)

    def comes_to(self, met: Met) -> bool:
        """Say whether this state of this machine meets this event anywhere."""
        return met in self._met

    def is_the_same(self, met: Met) -> bool:
        """Say whether the model, which has a fault now, still does the same at each step that the fault is about."""
        return all(self._takes(state, move) == target for state, move, target in self._steps(met))

    def _expand(self, at: int, state: State) -> None:
        for number, move in enumerate(self.model.moves(state)):
            outcome = self.model.take(state, move)
            assert not outcome.broken, f"{self.model.name} is broken without any fault: {outcome.broken}"
            target = self._number(outcome.state)
            self.steps += 1
            for met in {(machine, row.state, row.event.__name__) for machine, row in outcome.rows}:
                self._met[met].extend((at, number, target))

    def _number(self, state: State) -> int:
        number = self._numbers.setdefault(self.model.key(state), len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def _takes(self, state: State, move: Move) -> int:
        outcome = self.model.take(state, move)
        return -1 if outcome.broken else self._numbers.get(self.model.key(outcome.state), -1)

    def _steps(self, met: Met) -> Iterator[tuple[State, Move, int]]:
        told = self._met.get(met, array("L"))
        for place in range(0, len(told), 3):
            at, number, target = told[place : place + 3]
            yield self._states[at], self.model.moves(self._states[at])[number], target
