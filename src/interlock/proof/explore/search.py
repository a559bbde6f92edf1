"""The plain engine: breadth-first, one state after the other, to read and to trust."""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from interlock.machine import Row
from interlock.proof.explore.model import Model, Move, Outcome, State


class Limits(NamedTuple):
    """When to stop although there is more. Reaching one makes what was not found UNDETERMINED."""

    states: int = 1_000_000
    seconds: float = 3600.0


class Violation(NamedTuple):
    """An *always* property that broke: at which step, out of which state, and what was seen."""

    name: str
    seen: str
    source: int
    label: str


class Progress(NamedTuple):
    """How far the search is."""

    states: int
    waiting: int
    depth: int
    seconds: float


@dataclass
class Graph:
    """What a search found: every state by number, how it was first reached, and every step out of it."""

    model: Model
    keys: dict[Hashable, int] = field(default_factory=dict)
    parents: list[tuple[int, str]] = field(default_factory=list)
    depths: array[int] = field(default_factory=lambda: array("H"))
    marks: list[frozenset[str]] = field(default_factory=list)
    weight: int = 0
    starts: array[int] = field(default_factory=lambda: array("L", [0]))
    """Where the steps of each state begin in ``targets``."""
    targets: array[int] = field(default_factory=lambda: array("L"))
    actions: array[int] = field(default_factory=lambda: array("H"))
    """Beside each target: the number of its fair action, 0 for none."""
    quiet: array[int] = field(default_factory=lambda: array("B"))
    """Beside each target: 1 if the move is one that is made while nobody asks for anything."""
    names: list[str] = field(default_factory=lambda: [""])
    """The fair actions, by number."""
    rows: Counter[tuple[str, Row]] = field(default_factory=Counter)
    violations: dict[str, Violation] = field(default_factory=dict)
    seconds: float = 0.0
    incomplete: str = ""
    """Why the search stopped before the end; empty when it did not."""

    @property
    def states(self) -> int:
        """How many states were found."""
        return len(self.parents)

    @property
    def steps(self) -> int:
        """How many steps lead from one to another, or back to the same."""
        return len(self.targets)

    @property
    def depth(self) -> int:
        """How long the longest of all shortest paths is."""
        return max(self.depths, default=0)

    def path(self, number: int) -> tuple[str, ...]:
        """Return the labels of a shortest path from the start to a state."""
        labels: list[str] = []
        while number:
            number, label = self.parents[number]
            labels.append(label)
        return tuple(reversed(labels))

    def successors(self, number: int, *, quiet: bool = False) -> Iterator[tuple[int, int]]:
        """Yield the steps out of a state: where to, and by which fair action."""
        for at in range(self.starts[number], self.starts[number + 1]):
            if not quiet or self.quiet[at]:
                yield self.targets[at], self.actions[at]


def search(
    model: Model,
    limits: Limits | None = None,
    told: Callable[[Progress], None] | None = None,
    *,
    stop_at_first: bool = False,
) -> Graph:
    """Find every state that ``model`` can reach. With ``stop_at_first``, stop at the first property that breaks."""
    return Search(model, limits or Limits(), told, stop_at_first=stop_at_first).run()


class Search:
    """One search in progress."""

    def __init__(
        self,
        model: Model,
        limits: Limits,
        told: Callable[[Progress], None] | None = None,
        *,
        stop_at_first: bool = False,
    ) -> None:
        self.model = model
        self.limits = limits
        self.told = told
        self.stop_at_first = stop_at_first
        self.graph = Graph(model)
        self.frontier: list[State] = []
        self.actions: dict[str, int] = {"": 0}

    def run(self) -> Graph:
        """Search to the end, or to a limit."""
        graph, began = self.graph, time.perf_counter()
        self._number(self.model.start(), 0, "", 0)
        at = 0
        while at < graph.states and not graph.incomplete:
            state, self.frontier[at] = self.frontier[at], None
            self._expand(at, state)
            graph.starts.append(len(graph.targets))
            at += 1
            graph.seconds = time.perf_counter() - began
            self._look_up(at)
        graph.seconds = time.perf_counter() - began
        return graph

    def _expand(self, number: int, state: State) -> None:
        for move in self.model.moves(state):
            self._took(number, move, self.model.take(state, move))

    def _took(self, number: int, move: Move, outcome: Outcome) -> None:
        graph = self.graph
        graph.rows.update(outcome.rows)
        if outcome.broken:  # what comes after a broken step is not a state of anything
            self._note(outcome.broken, number, move.label)
            return
        target = self._number(outcome.state, number, move.label, graph.depths[number] + 1)
        graph.targets.append(target)
        graph.actions.append(self._action(move))
        graph.quiet.append(self.model.is_system(move))

    def _number(self, state: State, parent: int, label: str, depth: int) -> int:
        graph = self.graph
        key = self.model.key(state)
        number = graph.keys.get(key)
        if number is None:
            number = graph.keys[key] = len(graph.parents)
            graph.parents.append((parent, label))
            graph.depths.append(depth)
            graph.marks.append(self.model.marks(state))
            graph.weight += self.model.weight(state)
            self.frontier.append(state)
            self._note(self.model.judge(state), parent, label)
        return number

    def _note(self, broken: Iterable[str], source: int, label: str) -> None:
        for sentence in broken:
            name, _, seen = sentence.partition(": ")
            self.graph.violations.setdefault(name, Violation(name, seen, source, label))

    def _action(self, move: Move) -> int:
        number = self.actions.setdefault(move.fair, len(self.actions))
        if number == len(self.graph.names):
            self.graph.names.append(move.fair)
        return number

    def _look_up(self, at: int) -> None:
        graph, limits = self.graph, self.limits
        if self.stop_at_first and graph.violations:
            graph.incomplete = "stopped at the first violation"
        elif at < graph.states and graph.states > limits.states:
            graph.incomplete = f"over {limits.states:,} states"
        elif at < graph.states and graph.seconds > limits.seconds:
            graph.incomplete = f"over {limits.seconds:g} s"
        if self.told is not None and at % 256 == 0:
            self.told(Progress(graph.states, graph.states - at, graph.depths[at - 1], graph.seconds))
