"""A user of a real server: says a recording at its pace, and reads what comes."""

from __future__ import annotations

import base64
from typing import Any

import trio

from interlock.demo import recordings
from tests.serve.server import Server
from tests.serve.wire import Wire

SESSION = {"input_audio_format": {"type": "audio/pcm", "rate": recordings.RATE}}
SILENCE_S = 1.0


class Speaker:
    """One session. ``say`` is a turn; silence behind it lets the server hear its end."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self._recordings = recordings.load(recordings.find_folder(None))

    @classmethod
    async def open(cls, running: Server) -> Speaker:
        wire = Wire(await running.dial())
        await wire.say("session.update", session=SESSION)
        await wire.until("session.created")
        return cls(wire)

    async def say(self, turn: int = 0) -> None:
        """Say something, four times as fast as a person would."""
        pcm = self._recordings[turn].pcm + bytes(int(2 * recordings.RATE * SILENCE_S))
        for start in range(0, len(pcm), 6400):
            audio = base64.b64encode(pcm[start : start + 6400]).decode()
            await self.wire.say("input_audio_buffer.append", audio=audio)
            await trio.sleep(0.05)

    async def response(self) -> tuple[str, int, dict[str, Any]]:
        """Read a whole response: its transcript, how many frames of audio it had, and its end."""
        start = len(self.wire.events)
        done = await self.wire.until("response.done")
        response_id = done["response"]["id"]
        made = [event for event in self.wire.events[start:] if event.get("response_id") == response_id]
        text = "".join(e["delta"] for e in made if e["type"] == "response.output_audio_transcript.delta")
        return text, sum(e["type"] == "response.output_audio.delta" for e in made), done["response"]

    async def close(self) -> str:
        """End the session; return its terminal event."""
        await self.wire.say("session.close")
        return str((await self.wire.to_the_end())[-1]["type"])
