"""What a case can come to, what an operation can come to, and the limits of both."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import trio

from interlock.proof.places import Place
from interlock.proof.plan import Injection, Phase


class Verdict(enum.StrEnum):
    """PASS: every oracle held. FAIL: one did not. UNRESOLVED: nothing is known, which is never a pass."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNRESOLVED = "UNRESOLVED"


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return FAIL before UNRESOLVED before PASS; of nothing at all, nothing is known."""
    found = set(verdicts)
    for verdict in (Verdict.FAIL, Verdict.UNRESOLVED, Verdict.PASS):
        if verdict in found:
            return verdict
    return Verdict.UNRESOLVED


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a sweep may do. What does not fit is reported, and never passes.

    ``steps`` is what one case may take at most before it counts as a livelock, ``drain`` what it may then take to be
    broken off. ``plans`` bounds the sweep: with more to run it is UNRESOLVED. ``kept`` failures are told in full.
    ``preemptions``: how many of these a plan may have beside its cancels and faults (:mod:`interlock.proof.schedule`).
    ``merge``: of cases that came to the same (:mod:`interlock.proof.likeness`) only one is extended.
    ``beside`` also cancels a scope while a task outside of it steps. ``shared`` runs many cases in one ``trio.run``,
    each from time 0 in a task of its own, which is faster: ``RunVar`` values are all that they could see of each other.
    """

    steps: int = 20_000
    drain: int = 500
    plans: int = 200_000
    kept: int = 20
    preemptions: int = 0
    merge: bool = True
    beside: bool = True
    shared: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the operation ended, told after its scope was left.

    ``cancelled`` means that ``Cancelled`` came out of the operation and nothing else did. An operation whose cleanup
    failed on the way, so that an error or a group with one came out, has ``raised``; ``was_cancelled`` is still true
    if a ``Cancelled`` was in the group. ``seconds`` are the clock's, which jumps.
    """

    kind: Literal["returned", "raised", "cancelled"]
    value: Any = None
    error: BaseException | None = None
    was_cancelled: bool = False
    seconds: float = 0.0

    @property
    def returned(self) -> bool:
        """Whether the operation was committed, as its caller sees it."""
        return self.kind == "returned"

    @property
    def raised(self) -> bool:
        """Whether an error came out."""
        return self.kind == "raised"

    @property
    def cancelled(self) -> bool:
        """Whether ``Cancelled`` came out, alone or in a group of its like."""
        return self.kind == "cancelled"


@dataclass(frozen=True, slots=True)
class Landing:
    """Where an injection came: in which task, at which line. ``beside``: the task was not in the cancelled scope.

    ``others`` are the tasks that a cancel found elsewhere in its scope, each with the line where it waited.
    """

    injection: Injection
    task: str
    place: Place
    beside: bool = False
    others: tuple[tuple[str, Place], ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        at, task = self.place.quoted, called(self.task)
        what = self.injection
        if what.phase is Phase.ENTRY:
            return "the operation was cancelled before it was entered"
        if what.phase.is_of_a_port:
            return f"await {what.index} of {what.target} was made to {what.phase}, called at {at}"
        if what.phase is Phase.FIRST:
            return f"{task} went first, from {at}"
        woken = what.phase is Phase.LATE
        if self.beside:
            return f"{what.target} was cancelled {'before' if woken else 'after'} a step of {task}, at {at}"
        state = "had been woken at" if woken else "waited at"
        return f"{what.target} was cancelled when {task} {state} {at}"


def called(task: str) -> str:
    """Shorten the name of a task that is a local function."""
    return task.replace("<locals>.", "")


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Walk the errors in a group, or the one that is none."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def history(error: BaseException | None) -> set[int]:
    """Identify every error that is in a group, or was being handled when this one was raised, however deep."""
    found: set[int] = set()
    todo = [error]
    while todo:
        current = todo.pop()
        if current is not None and id(current) not in found:
            found.add(id(current))
            todo += [current.__context__, current.__cause__]
            todo += current.exceptions if isinstance(current, BaseExceptionGroup) else ()
    return found


def is_cancelled(error: BaseException) -> bool:
    """Tell whether there is a ``Cancelled`` in it."""
    return any(isinstance(leaf, trio.Cancelled) for leaf in leaves(error))
