"""What can be explored: a model says where it starts, what may happen, and what that leads to.

Two models are here: the session core with its adversary (:mod:`interlock.proof.world`), and a composition of machines
of anybody's own (:mod:`interlock.proof.explore.composed`). Engines know nothing else of either.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from interlock.machine import Row

Modality: TypeAlias = Literal["always", "sometimes", "AG EF", "again and again", "leads to"]

ROWS = "rows"
"""The goal of a *sometimes* that asks for every row of the machines."""

State: TypeAlias = Any
"""A canonical state. Opaque to engines."""


class Property(NamedTuple):
    """What is asked: a short name, a sentence that a reader can judge, and how the sentence is meant.

    *always*: in every reachable state and at every step. *sometimes*: in some state that is marked ``goal``; or, for
    the goal :data:`ROWS`, each row at some step. *AG EF*: from every reachable state, a state marked ``goal`` can be
    reached. *again and again*: every fair run passes ``goal`` without end. *leads to*: every fair run that passes
    ``after`` comes to ``goal``.
    """

    name: str
    sentence: str
    modality: Modality = "always"
    goal: str = ""
    after: str = ""
    moves: str = ""
    """Restricts a property about runs to those that take only moves with this mark."""


class Move(NamedTuple):
    """One thing that may happen in a state. ``label`` is unique among the moves of that state.

    ``fair`` names the action that fairness is about; empty for what the adversary may do or leave for ever.
    """

    label: str
    event: Any
    fair: str = ""


class Letter(NamedTuple):
    """One arrow of a sequence chart."""

    sender: str
    receiver: str
    text: str


class Outcome(NamedTuple):
    """What a move led to: the next state, who told whom, the rows that fired, and the properties that broke."""

    state: State
    letters: tuple[Letter, ...]
    rows: tuple[tuple[str, Row], ...]
    broken: tuple[str, ...]
    """``name: what was seen``, for each *always* property that does not hold at this step or in the new state."""


class Model(Protocol):
    """A finite world. Everything is pure: the same state has the same moves, in the same order."""

    @property
    def name(self) -> str:
        """What it is called in reports."""
        ...

    @property
    def properties(self) -> Sequence[Property]:
        """What is asked."""
        ...

    @property
    def bounds(self) -> Mapping[str, object]:
        """What bounds the state space, for the report."""
        ...

    @property
    def fairness(self) -> Mapping[str, str]:
        """Each fair action, and the assumption in words."""
        ...

    def is_strong(self, action: str) -> bool:
        """Say whether an action that is possible again and again happens; else one that stays possible does."""
        ...

    @property
    def lifelines(self) -> Sequence[str]:
        """The columns of a chart, in order."""
        ...

    def start(self) -> State:
        """Return the canonical first state."""
        ...

    def key(self, state: State) -> Hashable:
        """Return what two equal states have in common."""
        ...

    def moves(self, state: State) -> Sequence[Move]:
        """Return what may happen."""
        ...

    def take(self, state: State, move: Move, *, canonical: bool = True) -> Outcome:
        """Return what a move leads to; with ``canonical=False`` under the names and numbers of a real run."""
        ...

    def canonical(self, state: State) -> State:
        """Return the one state that stands for all that differ from ``state`` in names only."""
        ...

    def begin(self) -> State:
        """Return the first state under the names and numbers of a real run."""
        ...

    def judge(self, state: State) -> tuple[str, ...]:
        """Return what is wrong with a state as it is: for the first one, which no step leads to."""
        ...

    def is_system(self, move: Move) -> bool:
        """Say whether a move is one that is made while nobody asks for anything."""
        ...

    def marks(self, state: State) -> frozenset[str]:
        """Return the goals that the state is one of."""
        ...

    def weight(self, state: State) -> int:
        """Return how many states this one stands for, under the symmetry of what is interchangeable."""
        ...

    def rows(self) -> Sequence[tuple[str, Row]]:
        """Return every row that ought to fire somewhere."""
        ...
