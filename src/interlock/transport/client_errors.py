"""What the reference client raises, and what its caller can do about each."""

from __future__ import annotations

from interlock.errors import ClientError, WorldError


class ConnectionLost(WorldError):
    """The connection is gone, the session may live: ``resume`` goes on from the position that was received."""


class ResumeFailed(ConnectionLost):
    """Every attempt failed without an answer. Token and position are kept: ``resume`` may be called again."""


class Refused(ClientError):
    """The server answered with an error instead of credentials. Where it is not retryable, the session is lost."""


class ResyncRequired(WorldError):
    """Events were lost for good. ``resume(position=resumable_from)`` goes on without them; ``None``: it cannot."""

    def __init__(self, resumable_from: int | None, head: int) -> None:
        super().__init__(f"events were lost; the session can be resumed from {resumable_from}, its head is {head}")
        self.resumable_from = resumable_from
        self.head = head


class SessionOver(WorldError):
    """The session has ended, or another connection has replaced this one. Final: there is nothing to go back to."""


class BufferOverflow(WorldError):
    """The application did not read: ``dropped`` events are gone. Iterating goes on with what came after them."""

    def __init__(self, dropped: int) -> None:
        super().__init__(f"{dropped} events were dropped because nobody read them")
        self.dropped = dropped
