"""Where a world comes, kept whole: so that with a fault in one row only what goes through that row is done again.

A world with the fault is the same as without it up to the first step through the row. The search with the fault is
still one from the start to the end, with shortest paths and every property asked; but a step that does not go through
the row is copied. Where none of the others leads elsewhere, the two worlds are the same to the end, and no property of
any kind can tell them apart.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Hashable
from typing import TypeAlias

from interlock.proof.explore.model import Model, Move, Outcome, State
from interlock.proof.explore.search import Graph, Limits, Search

Met: TypeAlias = tuple[str, str, str]
"""Machine, state and event."""


class Reach(Search):
    """A world without a fault, searched to the end."""

    def __init__(self, model: Model) -> None:
        super().__init__(model, Limits())
        self.states: list[State] = []
        self.labels: list[str] = []
        """Beside each step of the graph: the label of its move."""
        self.met: defaultdict[Met, array[int]] = defaultdict(lambda: array("L"))
        """The steps in which a state of a machine met an event."""
        self.run()
        self.numbered: list[Hashable] = list(self.graph.keys)

    def with_fault(self, met: Met, limits: Limits) -> Graph | None:
        """Search again while the model has a fault in the rows for ``met``; None if all is as it was."""
        again = _Again(self, met, limits)
        graph = again.run()
        return graph if again.differs else None

    def _expand(self, number: int, state: State) -> None:
        self.states.append(state)
        super()._expand(number, state)

    def _took(self, number: int, move: Move, outcome: Outcome) -> None:
        assert not outcome.broken, f"{self.model.name} is broken without any fault: {outcome.broken}"
        for met in {(machine, row.state, row.event.__name__) for machine, row in outcome.rows}:
            self.met[met].append(len(self.labels))
        self.labels.append(move.label)
        super()._took(number, move, outcome)


class _Again(Search):
    def __init__(self, reach: Reach, met: Met, limits: Limits) -> None:
        super().__init__(reach.model, limits, stop_at_first=True)
        self.reach = reach
        self.anew = frozenset(reach.met.get(met, ()))
        self.differs = False
        self.graph.names, self.actions = list(reach.graph.names), dict(reach.actions)
        self.copies = array("l", [-1]) * len(reach.states)
        """For each state without the fault, its number here."""
        self.originals = array("l")
        """And back; -1 for one that is reached only with the fault."""

    def _expand(self, number: int, state: State) -> None:
        original = self.originals[number]
        if original < 0:
            super()._expand(number, state)
            return
        known = self.reach.graph
        moves = None
        for step in range(known.starts[original], known.starts[original + 1]):
            if step in self.anew:
                moves = moves or self.model.moves(state)
                self._again(number, moves[step - known.starts[original]], state, known.targets[step])
            else:
                self._copied(number, step)

    def _again(self, number: int, move: Move, state: State, target: int) -> None:
        outcome = self.model.take(state, move)
        self.differs = (
            self.differs or bool(outcome.broken) or (self.reach.graph.keys.get(self.model.key(outcome.state)) != target)
        )
        self._took(number, move, outcome)

    def _copied(self, number: int, step: int) -> None:
        graph, known = self.graph, self.reach.graph
        original = known.targets[step]
        target = self.copies[original]
        if target < 0:
            target = self._number(
                self.reach.states[original], number, self.reach.labels[step], graph.depths[number] + 1, original
            )
        graph.targets.append(target)
        graph.actions.append(known.actions[step])
        graph.quiet.append(known.quiet[step])

    def _number(self, state: State, parent: int, label: str, depth: int, original: int | None = None) -> int:
        known, graph = self.reach.graph, self.graph
        if original is None:
            original = known.keys.get(self.model.key(state), -1)
        if original < 0:
            number = super()._number(state, parent, label, depth)
            if number == len(self.originals):
                self.originals.append(-1)
            return number
        if self.copies[original] < 0:
            self.copies[original] = graph.keys[self.reach.numbered[original]] = len(graph.parents)
            self.originals.append(original)
            graph.parents.append((parent, label))
            graph.depths.append(depth)
            graph.marks.append(known.marks[original])
            self.frontier.append(state)
        return self.copies[original]
