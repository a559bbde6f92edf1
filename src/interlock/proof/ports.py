"""A port that fails on demand: the k-th await of any method raises, hangs, loses its answer, or is cancelled."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from interlock.proof.course import Course
from interlock.proof.plan import Phase


class Faulty:
    """Stands in for ``port``, whose methods a plan calls ``name.method``.

    Plain methods and attributes pass through. Each await of an ``async def`` method, and of ``async with`` and ``async
    for`` over the port, is counted from the beginning of the operation, and can

    * ``raise`` what ``error()`` makes, before anything has happened;
    * ``lose`` its answer: it happens, then ``error()`` is raised (only if ``faults`` names it);
    * ``hang``: never return. If nothing else can happen either, the operation is cancelled, as an impatient caller
      would do; an operation that hangs even then is in a deadlock;
    * ``cancel``: the operation is cancelled by what the call does, between two checkpoints.
    """

    def __init__(
        self, port: Any, name: str, course: Course, *, error: Callable[[], Exception], faults: tuple[Phase, ...]
    ) -> None:
        self._port = port
        self._name = name
        self._course = course
        self._error = error
        self._faults = faults

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self._port, attribute)
        return self._counted(attribute, found) if inspect.iscoroutinefunction(found) else found

    async def __aenter__(self) -> Any:
        entered = await self._counted("__aenter__", self._port.__aenter__)()
        return self if entered is self._port else entered

    async def __aexit__(self, *raised: object) -> Any:
        return await self._counted("__aexit__", self._port.__aexit__)(*raised)

    def __aiter__(self) -> Any:
        iterator = self._port.__aiter__()
        return self if iterator is self._port else iterator

    async def __anext__(self) -> Any:
        return await self._counted("__anext__", self._port.__anext__)()

    def _counted(self, method: str, original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        label = f"{self._name}.{method}"

        @functools.wraps(original)
        async def call(*arguments: Any, **named: Any) -> Any:
            fault = self._course.call(label)
            if fault is None:
                self._course.may_fail(label, self._faults)
            await self._fail(fault)
            result = await original(*arguments, **named)
            if fault is Phase.LOSE:
                raise self._error()
            return result

        return call

    async def _fail(self, fault: Phase | None) -> None:
        if fault is Phase.RAISE:
            raise self._error()
        if fault is Phase.HANG:
            await trio.sleep_forever()
        if fault is Phase.CANCEL:
            self._course.op.cancel()
