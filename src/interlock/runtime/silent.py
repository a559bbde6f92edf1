"""The recorder that keeps nothing."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.machine import Message
from interlock.session.decide import Decision
from interlock.session.value import Value


class Silent:
    """Satisfies :class:`interlock.runtime.ports.Recorder`."""

    def decided(self, at: float, before: Value, event: Message, decision: Decision) -> None:
        """Keep nothing."""

    def refused(self, at: float, before: Value, event: Message, code: str) -> None:
        """Keep nothing."""

    def voided(self, at: float, session_id: str, through: int, unsent: Sequence[int], sent: Sequence[int]) -> None:
        """Keep nothing."""
