"""``livekit-agents``: its OpenAI realtime model. It reconnects by itself, to a fresh session."""

from __future__ import annotations

import asyncio
import base64
import sys
from typing import Any

import aiohttp
from livekit import rtc
from livekit.agents import APIConnectOptions
from livekit.plugins.openai.realtime import RealtimeModel

from tests.clients.puppets.strings import tell, tell_event, verbs

RATE = 24_000


async def main(origin: str, turns: str) -> None:
    detection: Any = {"turn_detection": None} if turns == "manual" else {}
    async with aiohttp.ClientSession() as http:
        model = RealtimeModel(
            base_url=f"{origin.replace('ws', 'http', 1)}/v1",
            api_key="no-key",
            model="echo",
            http_session=http,
            **detection,
            conn_options=APIConnectOptions(max_retry=100, retry_interval=0.1),
        )
        session = model.session()
        hearing = Hearing()
        session.on("openai_server_event_received", tell_event)
        session.on("generation_created", hearing.begin)
        session.on("session_reconnected", lambda event: tell("puppet.reconnected"))
        session.on("error", lambda event: tell("puppet.error", text=str(event.error), recoverable=event.recoverable))
        for name in ("input_speech_started", "input_speech_stopped"):
            session.on(name, lambda event, name=name: tell(f"livekit.{name}"))
        await obey(session)
        await session.aclose()
        await hearing.ended()
        await model.aclose()
    tell("puppet.ended")


class Hearing:
    """Takes what the SDK makes of the server's events: a text and a sound for each message."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, generation: Any) -> None:
        self._tasks.add(asyncio.create_task(self._hear(generation)))

    async def ended(self) -> None:
        await asyncio.gather(*self._tasks)

    async def _hear(self, generation: Any) -> None:
        async for message in generation.message_stream:
            samples = sum([frame.samples_per_channel async for frame in message.audio_stream])
            text = "".join([piece async for piece in message.text_stream])
            tell("livekit.heard", response_id=generation.response_id, text=text, samples=samples)


async def obey(session: Any) -> None:
    async for verb in verbs():
        match verb:
            case {"do": "append", "audio": audio}:
                pcm = base64.b64decode(audio)
                session.push_audio(rtc.AudioFrame(pcm, RATE, 1, len(pcm) // 2))
            case {"do": "commit"}:
                session.commit_audio()
            case {"do": "create"}:
                session.generate_reply()
            case {"do": "cancel"}:
                session.interrupt()
            case {"do": "close"}:
                return
            case _:
                raise ValueError(verb)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
