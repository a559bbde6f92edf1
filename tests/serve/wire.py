"""A bare client: sends what it is told to send, and reads when it is told to read."""

from __future__ import annotations

import json
from typing import Any

from interlock.transport.websocket import WebSocketTransport


class Wire:
    """One connection. ``events`` has everything that was read."""

    def __init__(self, transport: WebSocketTransport) -> None:
        self.transport = transport
        self.events: list[dict[str, Any]] = []

    @property
    def numbers(self) -> list[int]:
        """The sequence numbers that were read."""
        return [event["server_event_seq"] for event in self.events if "server_event_seq" in event]

    async def say(self, kind: str, **fields: Any) -> None:
        """Send one message."""
        await self.raw(json.dumps({"type": kind, **fields}).encode())

    async def raw(self, data: bytes) -> None:
        """Send one text message, whatever it is."""
        await self.transport.send([data])

    async def until(self, kind: str) -> dict[str, Any]:
        """Read up to the next event of this type."""
        while True:
            event = await self.next()
            assert event is not None, f"the connection ended before {kind}: {self.transport.ended}"
            if event["type"] == kind:
                return event

    async def next(self) -> dict[str, Any] | None:
        """Read the next event; none when the connection is over."""
        data = await self.transport.receive()
        if data is None:
            return None
        event: dict[str, Any] = json.loads(data)
        self.events.append(event)
        return event

    async def to_the_end(self) -> list[dict[str, Any]]:
        """Read all that comes."""
        while await self.next() is not None:
            pass
        await self.transport.finish()
        return self.events

    def tear(self) -> None:
        """Reset the connection."""
        self.transport.abort("torn")


async def resume(wire: Wire, session_id: str, token: str, position: int) -> None:
    """Send a resume."""
    await wire.say("session.resume", session_id=session_id, resume_token=token, last_received_server_event_seq=position)
