"""Declaring a scenario: one async function, or a class with ``setup``, ``run`` and ``check``."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

from interlock.proof.trial import Misused, Trial

Body: TypeAlias = Callable[[Trial], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A program to be swept.

    ``scopes`` are the names that it exposes; a sweep that finds no site in one of them is UNRESOLVED, and so it is
    for names that are exposed without being declared here. ``depth`` is how many injections a plan has at most, where
    the sweep is not told otherwise. ``strict``: an error that takes the place of a ``Cancelled`` counts as swallowing
    it. ``leaves_tasks``: tasks that the operation started may run on until the scenario itself ends.
    """

    name: str
    body: Body
    depth: int = 1
    scopes: tuple[str, ...] = ()
    strict: bool = False
    leaves_tasks: bool = False

    def __call__(self, trial: Trial) -> Awaitable[None]:
        """Run it once."""
        return self.body(trial)


@overload
def scenario(declared: Body | type, /) -> Scenario: ...
@overload
def scenario(
    *, depth: int = 1, scopes: tuple[str, ...] = (), strict: bool = False, leaves_tasks: bool = False
) -> Callable[[Body | type], Scenario]: ...
def scenario(declared: Body | type | None = None, /, **options: Any) -> Scenario | Callable[[Body | type], Scenario]:
    """Make a scenario of an async function, or of a class with ``setup``, ``run`` and ``check``; see :class:`Scenario`.

    A class is instantiated for every run, without arguments. ``run(self)`` is the operation. ``setup(self, trial)`` and
    ``check(self, outcome)`` may be missing, and any of the three may be a plain function.
    """
    if declared is None:
        return lambda given: _made(given, options)
    return _made(declared, options)


def _made(declared: Body | type, options: dict[str, Any]) -> Scenario:
    body = _body_of(declared) if isinstance(declared, type) else declared
    if not inspect.iscoroutinefunction(body):
        raise Misused(f"a scenario is an `async def` of one argument, or a class: {declared!r} is neither")
    return Scenario(getattr(declared, "__qualname__", repr(declared)), body, **options)


def _body_of(made: type) -> Body:
    if not hasattr(made, "run"):
        raise Misused(f"{made.__qualname__} has no `run`, which is the operation that is swept")

    async def body(trial: Trial) -> None:
        instance = made()
        await _awaited(getattr(instance, "setup", None), trial)
        outcome = await trial.operation(_awaited, instance.run)
        await _awaited(getattr(instance, "check", None), outcome)

    return body


async def _awaited(function: Callable[..., Any] | None, *arguments: Any) -> Any:
    result = None if function is None else function(*arguments)
    return await result if inspect.isawaitable(result) else result
