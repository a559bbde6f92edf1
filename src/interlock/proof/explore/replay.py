"""A path once more, under the names and numbers of a real run: for a chart, and as a test.

A search knows canonical states only: "the current token", "the second-oldest transport". Here the same moves are made
without renaming, and each is checked to lead to the same canonical state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from interlock.errors import MachineError
from interlock.proof.explore.model import Letter, Model, Move, Outcome, State


class Told(NamedTuple):
    """One move of a path: its label in the search, and the letters of the real run."""

    label: str
    letters: tuple[Letter, ...]


class Replayed(NamedTuple):
    """What a path came to: its moves, and the properties that broke at the end, as ``name: what was seen``."""

    steps: tuple[Told, ...]
    broken: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the properties that broke."""
        return tuple(dict.fromkeys(sentence.partition(": ")[0] for sentence in self.broken))


class Unplayable(MachineError):
    """A path names a move that is not possible where it stands: the machines have changed since it was written."""


def replayed(model: Model, path: Sequence[str]) -> Replayed:
    """Make the moves of ``path``; stop where a property breaks. Raises :class:`Unplayable`."""
    known, real = model.start(), model.begin()
    steps: list[Told] = []
    broken = model.judge(known)
    for label in path:
        move = _named(model, known, label)
        outcome = model.take(known, move)
        told = _same(model, real, known, move, outcome)
        steps.append(Told(label, told.letters))
        known, real = outcome.state, told.state
        broken = told.broken or model.judge(real)
        if broken:
            break
    return Replayed(tuple(steps), broken)


def _named(model: Model, state: State, label: str) -> Move:
    moves = model.moves(state)
    for move in moves:
        if move.label == label:
            return move
    raise Unplayable(f"{label!r} is not possible here; possible are {', '.join(move.label for move in moves[:5])}, ...")


def _same(model: Model, real: State, known: State, move: Move, outcome: Outcome) -> Outcome:
    """Make the move in the real run that comes to the same canonical state: most often the one in the same place."""
    key = model.key(outcome.state)
    place = [known.label for known in model.moves(known)].index(move.label)
    moves = list(model.moves(real))
    for candidate in [*moves[place : place + 1], *moves]:
        told = model.take(real, candidate, canonical=False)
        if bool(told.broken) == bool(outcome.broken) and model.key(model.canonical(told.state)) == key:
            return told
    raise Unplayable(f"{move.label!r} has no counterpart in a run without renaming")
