"""An engine that streams on an asyncio loop, as a stage: vLLM's ``AsyncLLM``, or whatever else is an async generator.

    async def think(request, inputs):
        async for output in engine.generate(request.params["text"], sampling, request.request_id):
            yield output.outputs[0].text

    fleet = StageFleet([ears, AsyncStage("mind", think, abort=engine.abort), voice])

The engine runs where the runtime runs, in the same loop, and nothing is handed between threads. One request is one task
that iterates one generator. An abort cancels that task, waits until the generator has ended, and then asks ``abort``;
only after that is the clean-up confirmed. A generator that does not end keeps its slot, and ``owed()`` says so.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable

import trio

from interlock.embed.generation import CleanUp, Engine, Generate, Generation, reason_of
from interlock.embed.misuse import Misuse
from interlock.runtime.perform import contain
from interlock.runtime.ports import Aborted, Accepted, Consumed, Failed, Refused, Reply
from interlock.workers.core import Ears, WorkerSettings
from interlock.workers.loop import REMEMBERED
from interlock.workers.protocol import Abort, Append, Finish, Order, Stop, Submit
from interlock.workers.stage import StageRequest

log = logging.getLogger("interlock")


class AsyncStage:
    """What a :class:`interlock.workers.fleet.StageFleet` takes in the place of a ``StageSpec``.

    ``generate`` is called with each request and its input. ``abort`` is the engine's own, for what outlives a generator
    that was closed. ``check_health`` is asked at each beat: when it raises, the engine counts as lost, and its requests
    as failed; it is tried again after a pause, as a worker is started again. ``capacity`` is the most requests at once.
    """

    def __init__(
        self,
        stage: str,
        generate: Generate,
        *,
        abort: CleanUp | None = None,
        check_health: Callable[[], Awaitable[object]] | None = None,
        capacity: int = 256,
    ) -> None:
        self.stage = stage
        self.capacity = capacity
        self.check_health = check_health
        self._generate = generate
        self._abort = abort

    def carry(self, settings: WorkerSettings) -> AsyncCarrier:
        """Make one incarnation of the worker."""
        return AsyncCarrier(self, settings)

    def engine(self) -> Engine:
        """Return how to reach the engine; its tasks run in the context of now, not in that of whoever asks for one."""
        return Engine(self._generate, self._abort, contextvars.copy_context())


class AsyncCarrier:
    """Implements :class:`interlock.workers.core.Carrier`. It is gone when the last of its tasks has ended."""

    def __init__(self, stage: AsyncStage, settings: WorkerSettings) -> None:
        self._stage = stage
        self._settings = settings
        self._engine = stage.engine()
        self._held: dict[str, Generation] = {}
        self._ended: dict[str, None] = {}
        self._stopping = False
        self._changed = trio.Event()
        self._ears: Ears | None = None

    @property
    def pid(self) -> int | None:
        """A task has none of its own."""
        return None

    async def run(self, ears: Ears) -> None:
        """Take requests until stopped, and until all of them have ended."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            text = f"stage {self._stage.stage}: an AsyncStage needs an asyncio loop: run it in interlock.embed.Runtime"
            raise Misuse(text) from None
        self._ears = ears
        beat = loop.create_task(contain(lambda: self._beat(ears), lambda error: ears.lost(reason_of(error))))
        try:
            while self._held or not self._stopping:
                self._changed = trio.Event()
                await self._changed.wait()
        finally:
            beat.cancel()
            self.kill()

    def send(self, order: Order) -> None:
        """Do what one order says, at once."""
        match order:
            case Submit():
                self._submit(order)
            case Append(request_id, payload):
                self._append(request_id, payload)
            case Finish(request_id):
                if request_id in self._held:
                    self._held[request_id].inputs.put(None)
            case Abort(request_ids):
                for request_id in request_ids:
                    self._abort(request_id)
            case Stop():
                self._stop()

    def kill(self) -> None:
        """Cancel every task; one that does not heed it stays, and so does what it holds."""
        self._stop()
        for generation in list(self._held.values()):
            generation.abort()

    async def _beat(self, ears: Ears) -> None:
        is_ready = False
        while True:
            if self._stage.check_health is not None:
                await self._stage.check_health()
            if not is_ready:
                is_ready = True
                ears.ready()
            waiting = sum(generation.inputs.bytes for generation in self._held.values())
            ears.heard({"slots": len(self._held), "bytes": waiting})
            await asyncio.sleep(self._settings.beat_s)

    def _submit(self, order: Submit) -> None:
        request_id = order.request_id
        if request_id in self._held or request_id in self._ended:
            self._say(Refused(request_id, "the id is held, or has ended"))
        elif self._stopping:
            self._say(Refused(request_id, "the worker is stopping"))
        elif len(self._held) >= self._stage.capacity:
            self._say(Refused(request_id, f"the stage is full: {self._stage.capacity} requests"))
        else:
            request = StageRequest(request_id, order.epoch, order.params)
            self._held[request_id] = Generation(self._engine, request, self._say, self._end)
            self._say(Accepted(request_id))

    def _append(self, request_id: str, payload: bytes) -> None:
        generation = self._held.get(request_id)
        if generation is None:
            self._say(Consumed(request_id, len(payload)))
        elif generation.inputs.bytes + len(payload) > self._settings.outbox_bytes:
            limit = self._settings.outbox_bytes
            self._say(Failed(request_id, f"outbox_bytes = {limit} of input wait for the generator"))
        else:
            generation.inputs.put(payload)

    def _abort(self, request_id: str) -> None:
        if request_id in self._held:
            self._held[request_id].abort()
        else:
            self._say(Aborted(request_id))

    def _stop(self) -> None:
        self._stopping = True
        self._changed.set()

    def _end(self, reply: Reply) -> None:
        self._held.pop(reply.request_id, None)
        self._ended[reply.request_id] = None
        if len(self._ended) > REMEMBERED:
            del self._ended[next(iter(self._ended))]
        self._say(reply)
        if self._stopping:
            self._changed.set()

    def _say(self, reply: Reply) -> None:
        if self._ears is not None:
            self._ears.reply(reply)
