"""The auth hook: a function of somebody else's that is asked who a client is. Bounded in time, whatever it does.

It takes the :class:`interlock.transport.opening.Opening` of the request and returns a name, which logs and limits go
by, or ``None`` to refuse. An ``async def`` is awaited under trio; a plain function runs in a thread of its own, so one
that blocks costs its own client alone. What fails, or takes too long, refuses.
"""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio

from interlock.errors import WorldError
from interlock.runtime.perform import contain
from interlock.transport.opening import Opening

MAX_NAME: Final = 64
"""Characters of a name."""
MAX_THREADS: Final = 16
"""Calls of a plain function at a time. One that never returns keeps its thread; when all are gone, all are refused."""


class HookFailed(WorldError):
    """The hook gave no answer that can be used."""


class Hook:
    """A function by its dotted name, ``package.module:function``. Raises :class:`WorldError` where there is none."""

    def __init__(self, name: str, within_s: float) -> None:
        self._name = name
        self._ask = _loaded(name)
        self._within_s = within_s
        self._room = trio.CapacityLimiter(MAX_THREADS)

    async def ask(self, opening: Opening) -> str | None:
        """Return who the client is, or ``None``. Raises :class:`HookFailed`."""
        answers: list[Any] = []
        failures: list[Exception] = []

        async def call() -> None:
            if inspect.iscoroutinefunction(self._ask):
                answers.append(await self._ask(opening))
            else:
                in_thread = partial(trio.to_thread.run_sync, abandon_on_cancel=True, limiter=self._room)
                answers.append(await in_thread(self._ask, opening))

        with trio.move_on_after(self._within_s):
            await contain(call, failures.append)
        if failures:
            raise HookFailed(f"{self._name} raised {_told(failures[0])}") from failures[0]
        if not answers:
            raise HookFailed(f"{self._name} took more than access.hook_s = {self._within_s:g} s")
        return self._checked(answers[0])

    def _checked(self, answer: Any) -> str | None:
        if answer is None:
            return None
        if isinstance(answer, str) and answer.isprintable() and 0 < len(answer) <= MAX_NAME:
            return answer
        raise HookFailed(f"{self._name} returned {type(answer).__name__}; a short printable name, or None, is wanted")


def _told(error: Exception) -> str:
    """Say what was raised, and where; not its words, which may have a key in them, as those of ``KeyError`` have."""
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    return f"{type(error).__name__} in {Path(frame.f_code.co_filename).name}, line {line}"


def _loaded(name: str) -> Callable[[Opening], Any]:
    module, colon, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function) if colon else None
    except (ImportError, AttributeError, ValueError) as error:
        raise WorldError(f"access.hook = {name}: cannot be imported: {error}") from error
    if not callable(found):
        raise WorldError(f"access.hook = {name}: is not module:function")
    hook: Callable[[Opening], Any] = found
    return hook
