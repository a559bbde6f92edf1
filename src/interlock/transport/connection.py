"""What a conversation needs of a connection, whoever serves the socket: our own endpoint, or somebody's ASGI server."""

from __future__ import annotations

from typing import Protocol

from interlock.runtime.ports import Transport
from interlock.transport.opening import Opening


class Connection(Transport, Protocol):
    """One client connection after its opening handshake, as its writer *and* its reader see it.

    The conversation reads it from one task, and writes before it has a session; from then on the session's writer does.
    """

    @property
    def opening(self) -> Opening:
        """What the client asked for: path, query, headers, subprotocol."""

    @property
    def ended(self) -> str:
        """Why the connection ended; the empty string before."""

    async def receive(self) -> bytes | None:
        """Return the next whole message, or ``None`` when none will come. Never raises for what the peer does."""

    async def farewell(self, within_s: float) -> None:
        """Let a peer that closed, or broke the protocol, hear our answer before somebody aborts; never for longer."""
