"""Say a recording to an Interlock server and print what it answers, with ``openai`` for Python.

    pip install 'openai[realtime]'
    python openai_python.py ws://127.0.0.1:8765 recording.wav       # 24 kHz, mono, PCM16

The SDK reconnects by itself. All that a resume needs is to remember three fields and to put them into the query.
"""

import asyncio
import base64
import sys
import wave

from openai import AsyncOpenAI


class Place:
    """Where we are in our session; note every event before anything else is done with it."""

    def __init__(self) -> None:
        self.query: dict[str, str] = {}

    def note(self, event: dict) -> None:
        if "resume_token" in event:  # session.created and session.updated have them
            ours = self.query.get("session_id") == event["session_id"]
            last = self.query["last_received_server_event_seq"] if ours else "0"
            self.query = {
                "session_id": event["session_id"],
                "resume_token": event["resume_token"],
                "last_received_server_event_seq": last,
            }
        elif "server_event_seq" in event:
            self.query["last_received_server_event_seq"] = str(event["server_event_seq"])


async def main(origin: str, recording: str) -> None:
    place = Place()
    client = AsyncOpenAI(api_key="a key of the server, if it wants one", websocket_base_url=f"{origin}/v1")
    async with client.realtime.connect(
        model="echo", on_reconnecting=lambda lost: {"extra_query": place.query}
    ) as connection:
        speaking = asyncio.create_task(speak(connection, recording))
        async for event in connection:
            place.note(event.to_dict())
            if event.type == "response.output_audio_transcript.done":
                print(event.transcript)
            elif event.type == "response.done":
                break
        await speaking


async def speak(connection, recording: str) -> None:
    """Send 100 ms each 100 ms, and a second of silence, in which the server hears that the turn is over."""
    with wave.open(recording) as wav:
        pcm = wav.readframes(wav.getnframes()) + bytes(48_000)
    for start in range(0, len(pcm), 4800):
        await connection.input_audio_buffer.append(audio=base64.b64encode(pcm[start : start + 4800]).decode())
        await asyncio.sleep(0.1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
