"""Say a recording to an Interlock server and print what it answers, with the OpenAI realtime service of ``pipecat-ai``.

    pip install 'pipecat-ai[openai,websocket]'
    python pipecat_ai.py ws://127.0.0.1:8765 recording.wav       # 24 kHz, mono, PCM16

Pipecat does not reconnect: after an error of its connection, ``await llm.reset_conversation()`` begins a fresh session.
"""

import asyncio
import sys
import wave

from pipecat.frames.frames import InputAudioRawFrame, LLMFullResponseEndFrame, TTSTextFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.workers.runner import WorkerRunner


class Printer(FrameProcessor):
    """Prints what the agent says, and knows when it has said it."""

    def __init__(self) -> None:
        super().__init__()
        self.said = asyncio.Event()

    async def process_frame(self, frame, direction) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, TTSTextFrame):
            print(frame.text, end="")
        elif isinstance(frame, LLMFullResponseEndFrame):
            print()
            self.said.set()
        await self.push_frame(frame, direction)


async def main(origin: str, recording: str) -> None:
    llm = OpenAIRealtimeLLMService(
        base_url=f"{origin}/v1/realtime",
        api_key="a key of the server",
        settings=OpenAIRealtimeLLMService.Settings(model="echo"),
    )
    printer = Printer()
    pipeline = PipelineWorker(Pipeline([llm, printer]))
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(pipeline)
    async with asyncio.TaskGroup() as group:
        group.create_task(runner.run())
        await speak(pipeline, recording)
        await printer.said.wait()
        await pipeline.cancel()


async def speak(pipeline, recording: str) -> None:
    """Send 100 ms each 100 ms, and a second of silence, in which the server hears that the turn is over."""
    with wave.open(recording) as wav:
        pcm = wav.readframes(wav.getnframes()) + bytes(48_000)
    for start in range(0, len(pcm), 4800):
        await pipeline.queue_frame(InputAudioRawFrame(pcm[start : start + 4800], 24_000, 1))
        await asyncio.sleep(0.1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
