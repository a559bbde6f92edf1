"""A stand-in with the shape of ``vllm.AsyncLLM``: one loop steps all requests as a batch, each streams its tokens.

It says the prompt back. What matters is how it is called, how it is aborted, and that it counts what it holds.
"""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field


@dataclass
class CompletionOutput:
    text: str


@dataclass
class RequestOutput:
    request_id: str
    outputs: list[CompletionOutput]
    finished: bool


@dataclass
class Sequence:
    tokens: list[str]
    queue: asyncio.Queue[RequestOutput | Exception] = field(default_factory=asyncio.Queue)


class TinyLLM:
    def __init__(self, step_s: float = 0.01) -> None:
        self.running: dict[str, Sequence] = {}
        self.dead: Exception | None = None
        self._step_s = step_s
        self._loop: asyncio.Task[None] | None = None

    async def generate(self, prompt: str, sampling_params: object, request_id: str) -> AsyncGenerator[RequestOutput]:
        if request_id in self.running:
            raise ValueError(f"{request_id} is running")
        sequence = self.running[request_id] = Sequence([f"{word} " for word in f"You said: {prompt}.".split()])
        if self._loop is None or self._loop.done():
            self._loop = asyncio.create_task(self._run())
        try:
            while True:
                output = await sequence.queue.get()
                if isinstance(output, Exception):
                    raise output
                yield output
                if output.finished:
                    return
        except (asyncio.CancelledError, GeneratorExit):
            await self.abort(request_id)
            raise

    async def abort(self, request_id: str) -> None:
        self.running.pop(request_id, None)

    async def check_health(self) -> None:
        if self.dead is not None:
            raise self.dead

    async def _run(self) -> None:
        """Step while there is anything to do: one token of each request."""
        while self.running:
            await asyncio.sleep(self._step_s)
            for request_id, sequence in list(self.running.items()):
                text = sequence.tokens.pop(0)
                if not sequence.tokens:
                    self.running.pop(request_id)
                sequence.queue.put_nowait(RequestOutput(request_id, [CompletionOutput(text)], not sequence.tokens))
