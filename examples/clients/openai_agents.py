"""Say a recording to an Interlock server and print what it answers, with ``openai-agents`` for Python.

    pip install openai-agents
    python openai_agents.py ws://127.0.0.1:8765 recording.wav       # 24 kHz, mono, PCM16

The SDK does not reconnect: a lost connection raises where its events are read. A new session of the SDK, at a URL that
says where the old one was, takes up the same session of the server, and misses nothing.
"""

import asyncio
import sys
import wave
from urllib.parse import urlencode

from agents.realtime import RealtimeAgent, RealtimeRunner
from websockets.exceptions import ConnectionClosed


async def main(origin: str, recording: str) -> None:
    place: dict[str, str] = {}
    runner = RealtimeRunner(RealtimeAgent(name="echo", instructions="Say it again."))
    answered = False
    while not answered:
        url = f"{origin}/v1/realtime?" + urlencode({"model": "echo", **place})
        async with await runner.run(model_config={"api_key": "a key of the server", "url": url}) as session:
            speaking = asyncio.create_task(speak(session, "" if place else recording))
            try:
                answered = await listen(session, place)
            except ConnectionClosed:
                print("(lost the line)")
            finally:
                speaking.cancel()


async def listen(session, place: dict[str, str]) -> bool:
    """Print the answer; note every event of the server before anything else is done with it."""
    async for event in session:
        if event.type == "raw_model_event" and event.data.type == "raw_server_event":
            seen = event.data.data
            if "resume_token" in seen:  # session.created and session.updated have them
                place["session_id"], place["resume_token"] = seen["session_id"], seen["resume_token"]
            if "server_event_seq" in seen:
                place["last_received_server_event_seq"] = str(seen["server_event_seq"])
            if seen["type"] == "response.output_audio_transcript.done":
                print(seen["transcript"])
            elif seen["type"] == "response.done":
                return True
    return False


async def speak(session, recording: str) -> None:
    """Send 100 ms each 100 ms, and a second of silence, in which the server hears that the turn is over."""
    if not recording:
        return
    with wave.open(recording) as wav:
        pcm = wav.readframes(wav.getnframes()) + bytes(48_000)
    for start in range(0, len(pcm), 4800):
        await session.send_audio(pcm[start : start + 4800])
        await asyncio.sleep(0.1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
