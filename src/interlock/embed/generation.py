"""One request at an :class:`interlock.embed.stage.AsyncStage`: the task that iterates its generator, its clean-up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from contextvars import Context
from typing import NamedTuple, TypeAlias

from interlock.embed.inputs import Inputs
from interlock.runtime.perform import contain
from interlock.runtime.ports import Aborted, AbortRefused, Consumed, Failed, Finished, Output, Reply
from interlock.workers.stage import StageOutput, StageRequest

Made: TypeAlias = str | bytes | StageOutput
"""What a generator yields: a piece of text, PCM16 mono audio at 24 kHz, or a whole output."""

Generate: TypeAlias = Callable[[StageRequest, Inputs], AsyncGenerator[Made, None]]
CleanUp: TypeAlias = Callable[[str], Awaitable[object]]


class Engine(NamedTuple):
    """How a stage reaches its engine, and the context that its tasks run in."""

    generate: Generate
    abort: CleanUp | None
    context: Context


class Generation:
    """A request that is held. ``end`` is told its last reply, when nothing of it is held any more."""

    def __init__(
        self, engine: Engine, request: StageRequest, say: Callable[[Reply], None], end: Callable[[Reply], None]
    ) -> None:
        """Begin to generate."""
        self.inputs = Inputs(lambda size: say(Consumed(request.request_id, size)))
        self._engine = engine
        self._request = request
        self._say = say
        self._end = end
        self._is_aborted = False
        self._unclean: Exception | None = None
        self._cleaning: asyncio.Task[None] | None = None
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(contain(self._generate, self._failed), context=engine.context)
        self._task.add_done_callback(self._ended)

    def abort(self) -> None:
        """Clean up: cancel the generator, once more where it did not heed it, and confirm when it has ended."""
        self._is_aborted = True
        self._task.cancel()
        if self._cleaning is None or self._cleaning.done():
            work = contain(self._clean, self._refused)
            self._cleaning = asyncio.get_running_loop().create_task(work, context=self._engine.context)

    async def _generate(self) -> None:
        async with aclosing(self._engine.generate(self._request, self.inputs)) as pieces:
            async for made in pieces:
                if self._is_aborted:  # it did not heed the cancel, and has more to say
                    break
                self._say(self._output(made))
        if not self._is_aborted:
            self._end(Finished(self._request.request_id))

    async def _clean(self) -> None:
        await asyncio.wait((self._task,))
        if self._engine.abort is not None:
            await self._engine.abort(self._request.request_id)
        elif self._unclean is not None:
            raise self._unclean
        self._end(Aborted(self._request.request_id))

    def _output(self, made: Made) -> Output:
        if isinstance(made, StageOutput):
            fields = (made.kind, made.payload, made.at_ms, made.reason)
            return Output(self._request.request_id, self._request.epoch, *fields)
        kind, payload = ("text", made.encode()) if isinstance(made, str) else ("audio", made)
        return Output(self._request.request_id, self._request.epoch, kind, payload)

    def _failed(self, error: Exception) -> None:
        if self._is_aborted:
            self._unclean = error
        else:
            self._say(Failed(self._request.request_id, reason_of(error)))

    def _refused(self, error: Exception) -> None:
        self._say(AbortRefused(self._request.request_id, reason_of(error)))

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() and not self._is_aborted:
            self._say(Failed(self._request.request_id, "its task was cancelled from outside"))


def reason_of(error: Exception) -> str:
    """Say what an engine has raised."""
    return f"{type(error).__name__}: {error}"
