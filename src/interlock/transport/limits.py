"""How much and how long, on the socket's side of things. Sizes are bytes, durations are seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketLimits:
    """What one connection may take. The endpoint and the reference client have the same."""

    frame_bytes: int = 15 * 1024 * 1024
    """One message, all its fragments together. What is longer closes the connection with 1009."""
    handshake_s: float = 10.0
    """From the accepted (or dialled) socket to the end of the opening handshake."""
    ping_s: float = 20.0
    """Nothing was heard for so long: a ping asks whether anybody is there."""
    pong_s: float = 20.0
    """Nothing was heard since the ping: the connection is given up. Also bounds the write of a ping or a pong."""
    close_s: float = 2.0
    """From our close frame to the end of the socket, whatever the peer does."""
    max_connections: int = 1024
    """Sockets that an endpoint holds, handshakes included; one more is reset."""
    max_per_peer: int = 1024
    """Of those, the ones of one address that is not of this machine; one more is reset."""
    messages_per_s: float = math.inf
    """Frames that the peer may send, pings and fragments included. What sends more is closed with 1008."""
    bytes_per_s: float = math.inf
    """Bytes that the peer may send; likewise."""
    burst_s: float = 10.0
    """So many seconds' worth of both may come at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLimits:
    """What the reference client keeps, and how long it tries."""

    socket: SocketLimits = field(default_factory=SocketLimits)
    buffer_bytes: int = 8 * 1024 * 1024
    """Events that were received and not yet read by the application, as they were on the wire."""
    outbox_bytes: int = 1024 * 1024
    """Messages that were said and not yet written; past it, saying more waits."""
    ack_events: int = 32
    """So many events are acked at once,"""
    ack_s: float = 0.5
    """or what came in so long."""
    attempts: int = 5
    """Of one resume."""
    attempt_s: float = 10.0
    """From dialling to the credentials."""
    backoff_s: float = 0.25
    """Between the first two attempts; doubled after each, with jitter."""
    backoff_max_s: float = 4.0
    close_s: float = 10.0
    """From ``session.close`` to the terminal event."""
