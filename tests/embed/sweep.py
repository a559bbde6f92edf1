"""Cancels of asyncio at every step: a loop that counts what it runs, and cancels a task before a step of the plan.

A step is one callback that the loop runs: a piece of a task, a tick of trio, a timer's echo. The plan says before which
steps, counted from the beginning of the operation, the task that performs it is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from typing import Any, NamedTuple, TypeVarTuple

Args = TypeVarTuple("Args")

BOUND = 4
"""Steps from the first cancel to the end of the task, at most: the cancel has landed when it returns, and the task that
waits has to run once more. What others do in between counts as well."""


class Trial(NamedTuple):
    """What became of one run: the steps it took, whether the task was cancelled, and how long that took it."""

    steps: int
    cancelled: bool
    landed_in: int


class SteppedLoop(asyncio.SelectorEventLoop):
    """A loop whose every callback is a step."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self._victim: asyncio.Task[Any] | None = None
        self._plan: Sequence[int] = ()
        self._cancelled_at: int | None = None

    def begin(self, victim: asyncio.Task[Any], plan: Sequence[int]) -> None:
        """Count from here on, and cancel ``victim`` before each step of ``plan``."""
        self.steps, self._victim, self._plan, self._cancelled_at = 0, victim, plan, None

    def trial(self) -> Trial:
        """Say what became of the victim; it has ended."""
        assert self._victim is not None
        landed_in = 0 if self._cancelled_at is None else self.steps - self._cancelled_at
        return Trial(self.steps, self._victim.cancelled(), landed_in)

    def call_soon(
        self, callback: Callable[[*Args], object], *args: *Args, context: Context | None = None
    ) -> asyncio.Handle:
        """Schedule a step."""
        return super().call_soon(self._step, callback, args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[*Args], object], *args: *Args, context: Context | None = None
    ) -> asyncio.Handle:
        """Schedule a step, from any thread."""
        return super().call_soon_threadsafe(self._step, callback, args, context=context)

    def _step(self, callback: Callable[..., object], args: tuple[object, ...]) -> None:
        victim = self._victim
        if victim is not None and not victim.done():
            self.steps += 1
            if self.steps in self._plan and victim.cancel() and self._cancelled_at is None:
                self._cancelled_at = self.steps
        callback(*args)


async def perform(act: Callable[[], Awaitable[Any]], plan: Sequence[int]) -> tuple[asyncio.Task[Any], Trial]:
    """Perform an operation in a task of its own under a plan of cancels; return the task when it has ended."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SteppedLoop)

    async def operation() -> Any:
        return await act()

    task = loop.create_task(operation())
    loop.begin(task, plan)
    await asyncio.wait({task})
    return task, loop.trial()


def plans(steps: int) -> list[tuple[int, ...]]:
    """Return every single cancel of so many steps, each followed by a second one soon after, and by two more."""
    single = [(step,) for step in range(1, steps + 1)]
    pairs = [(step, step + gap) for step in range(1, steps + 1) for gap in (1, 2)]
    storms = [(step, step + 1, step + 2, step + 3) for step in range(1, steps + 1)]
    return [*single, *pairs, *storms]
