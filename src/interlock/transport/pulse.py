"""When a silent peer is asked whether it is there, and when it is given up. Pure: time is handed in."""

from __future__ import annotations

from typing import Literal, TypeAlias

from interlock.transport.limits import SocketLimits

Verdict: TypeAlias = Literal["wait", "ping", "keepalive timed out", "close timed out"]


class Pulse:
    """The clock of one connection: last heard, last asked, and since when it is closing."""

    def __init__(self, limits: SocketLimits, now: float) -> None:
        self._limits = limits
        self._heard_at = now
        self._pinged_at: float | None = None
        self._closing_at: float | None = None

    @property
    def closing(self) -> bool:
        """Whether the socket has to end within ``close_s``."""
        return self._closing_at is not None

    def heard(self, now: float) -> None:
        """The peer sent a whole frame."""
        self._heard_at, self._pinged_at = now, None

    def close(self, now: float) -> None:
        """Nothing more is expected of the peer but the end; the first call counts."""
        if self._closing_at is None:
            self._closing_at = now

    def due(self) -> float:
        """Return when :meth:`judge` has something to say."""
        if self._closing_at is not None:
            return self._closing_at + self._limits.close_s
        if self._pinged_at is not None:
            return self._pinged_at + self._limits.pong_s
        return self._heard_at + self._limits.ping_s

    def judge(self, now: float, *, reading: bool) -> Verdict:
        """Say what is to be done now. A pong that nobody reads is not a pong that did not come."""
        if now < self.due():
            return "wait"
        if self._closing_at is not None:
            return "close timed out"
        if not reading:
            self.heard(now)
            return "wait"
        if self._pinged_at is not None:
            return "keepalive timed out"
        self._pinged_at = now
        return "ping"
