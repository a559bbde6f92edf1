"""How much and how long, at the door of somebody else's server. Durations are seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedLimits:
    """What the sockets of a runtime may take. Everything about sessions is in the settings of their host."""

    max_connections: int = 1024
    """WebSockets that the ASGI app serves at the same time; one more is closed with 1013."""
    max_lingering: int = 64
    """Sockets that we have let go of and could not free: their server still holds them. At so many, none are taken."""
    messages_per_s: float = 500.0
    """What one client may send; what sends more is closed with 1008."""
    bytes_per_s: float = 2 * 1024 * 1024
    """Likewise, in bytes of its messages."""
    burst_s: float = 10.0
    """So many seconds' worth of both may come at once."""
    close_s: float = 2.0
    """From our goodbye, or that of the peer, to the end of a socket that we can free, whatever the peer does."""
