"""How ended sessions ended, for as long as somebody may come back to ask."""

from __future__ import annotations

from collections import OrderedDict

import trio

from interlock.errors import ClientError


class Tombs:
    """At most ``limit`` reasons, each for ``keep_s`` seconds. ``asked`` counts who came too late."""

    def __init__(self, limit: int, keep_s: float) -> None:
        self._limit = limit
        self._keep_s = keep_s
        self.asked = 0
        self._tombs: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tombs)

    def bury(self, session_id: str, reason: str, now: float) -> None:
        """Remember why a session ended; the oldest makes room."""
        self._tombs[session_id] = (reason, now + self._keep_s)
        while self._tombs and (len(self._tombs) > self._limit or next(iter(self._tombs.values()))[1] <= now):
            self._tombs.popitem(last=False)

    def error(self, session_id: str) -> ClientError:
        """Return what a resume of a session that is not here is told."""
        self.asked += 1
        reason, until = self._tombs.get(session_id, ("", 0.0))
        if not reason or until <= trio.current_time():
            return ClientError("session_resume_expired", "no such session, or it ended a while ago")
        return ClientError("session_resume_expired", f"the session has ended: {reason}")
