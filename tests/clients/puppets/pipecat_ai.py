"""``pipecat-ai``: its OpenAI realtime service, between the two halves of a context. It does not reconnect.

Pipecat shows no events of the server, so this tells the frames that it makes of them.
"""

from __future__ import annotations

import asyncio
import base64
import sys
from typing import Any

from loguru import logger
from pipecat.frames.frames import (
    BotStoppedSpeakingFrame,
    Frame,
    InputAudioRawFrame,
    InterruptionFrame,
    LLMRunFrame,
    TTSAudioRawFrame,
    TTSStoppedFrame,
    UserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.openai.realtime import events
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.workers.runner import WorkerRunner

from tests.clients.puppets.strings import pulled, tell, verbs

RATE = 24_000


class Witness(FrameProcessor):  # type: ignore[misc]
    """Tells each frame that passes in its direction, and lets all pass.

    The one that looks down is the speaker as well: it says when the bot has stopped, as an output transport would.
    """

    def __init__(self, direction: FrameDirection) -> None:
        super().__init__()
        self._direction = direction

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if direction == self._direction:
            show(frame)
        await self.push_frame(frame, direction)
        if isinstance(frame, TTSStoppedFrame) and self._direction == FrameDirection.DOWNSTREAM:
            await self.push_frame(BotStoppedSpeakingFrame(), FrameDirection.UPSTREAM)


def show(frame: Frame) -> None:
    """Tell a frame by its name, and what there is to hear or to read in it."""
    if isinstance(frame, TTSAudioRawFrame):
        tell("frame.TTSAudio", audio=base64.b64encode(frame.audio).decode())
    elif not isinstance(frame, InputAudioRawFrame):
        fields = {name: str(getattr(frame, name)) for name in ("text", "error") if hasattr(frame, name)}
        tell(f"frame.{type(frame).__name__.removesuffix('Frame')}", **fields)


async def main(origin: str, turns: str) -> None:
    logger.remove()
    logger.add(sys.stderr, level="ERROR")
    detection: Any = {"turn_detection": False} if turns == "manual" else {}
    properties = events.SessionProperties(audio=events.AudioConfiguration(input=events.AudioInput(**detection)))
    llm = OpenAIRealtimeLLMService(
        api_key="no-key",
        base_url=f"{origin}/v1/realtime",
        settings=OpenAIRealtimeLLMService.Settings(model="echo", session_properties=properties),
    )
    context = LLMContextAggregatorPair(LLMContext([{"role": "user", "content": "good morning"}]))
    up, down = Witness(FrameDirection.UPSTREAM), Witness(FrameDirection.DOWNSTREAM)
    pipeline = PipelineWorker(Pipeline([context.user(), up, llm, down, context.assistant()]), enable_rtvi=False)
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(pipeline)
    async with pulled(obey(pipeline, llm)):
        await runner.run()
    tell("puppet.ended")


async def obey(pipeline: Any, llm: Any) -> None:
    async for verb in verbs():
        match verb:
            case {"do": "run"}:
                await pipeline.queue_frame(LLMRunFrame())
            case {"do": "append", "audio": audio}:
                await pipeline.queue_frame(InputAudioRawFrame(base64.b64decode(audio), RATE, 1))
            case {"do": "commit"}:
                await pipeline.queue_frame(UserStoppedSpeakingFrame())
            case {"do": "cancel"}:
                await pipeline.queue_frame(InterruptionFrame())
            case {"do": "reset"}:
                await llm.reset_conversation()
            case {"do": "close"}:
                await pipeline.cancel()
            case _:
                raise ValueError(verb)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
