"""What a conversation needs of a connection, whoever serves the socket: our own endpoint, or somebody's ASGI server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from interlock.runtime.ports import Transport
from interlock.runtime.talk import Session
from interlock.session.settings import Settings
from interlock.transport.opening import Opening
from interlock.wire.dialect import DUPLEX, Dialect


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

    async def receive_within(self, seconds: float) -> bytes | None:
        """Return what :meth:`receive` does. Raises ``TimeoutError`` when nothing has come in time."""

    async def farewell(self, within_s: float) -> None:
        """Let a peer that closed, or broke the protocol, hear our answer before somebody aborts; never for longer."""


class Sessions(Protocol):
    """Where a conversation opens its session or resumes it: a host on trio, or a runtime beside an asyncio server."""

    @property
    def settings(self) -> Settings:
        """Limits and durations."""

    @property
    def is_stopping(self) -> bool:
        """Whether the shutdown has begun."""

    async def open(
        self, transport: Transport, config: Mapping[str, Any] | None = None, dialect: Dialect = DUPLEX
    ) -> Session:
        """Open a session, as :meth:`interlock.runtime.host.Host.open` does."""

    async def resume(
        self, session_id: str, token: str, position: int, transport: Transport, dialect: Dialect = DUPLEX
    ) -> Session:
        """Attach to a session, as :meth:`interlock.runtime.host.Host.resume` does."""
