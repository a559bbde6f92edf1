"""Say a recording to an Interlock server and print what it answers, with the realtime model of ``livekit-agents``.

    pip install livekit-agents livekit-plugins-openai
    python livekit_agents.py http://127.0.0.1:8765 recording.wav       # 24 kHz, mono, PCM16

In a worker of yours, the model goes to an agent: ``AgentSession(llm=RealtimeModel(base_url=...))``. The SDK reconnects
by itself, to a fresh session, and tells it the conversation so far.
"""

import asyncio
import sys
import wave

import aiohttp
from livekit import rtc
from livekit.plugins.openai.realtime import RealtimeModel


async def main(origin: str, recording: str) -> None:
    async with aiohttp.ClientSession() as http:
        model = RealtimeModel(base_url=f"{origin}/v1", model="echo", api_key="a key of the server", http_session=http)
        session = model.session()
        answer = asyncio.get_running_loop().create_future()
        session.on("generation_created", answer.set_result)
        session.on("session_reconnected", lambda event: print("(lost the line)"))
        await speak(session, recording)
        async for message in (await answer).message_stream:
            print("".join([text async for text in message.text_stream]))
        await session.aclose()
        await model.aclose()


async def speak(session, recording: str) -> None:
    """Send 100 ms each 100 ms, and a second of silence, in which the server hears that the turn is over."""
    with wave.open(recording) as wav:
        pcm = wav.readframes(wav.getnframes()) + bytes(48_000)
    for start in range(0, len(pcm), 4800):
        piece = pcm[start : start + 4800]
        session.push_audio(rtc.AudioFrame(piece, 24_000, 1, len(piece) // 2))
        await asyncio.sleep(0.1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
