"""Several recorders as one: each hears everything, and one that fails is let go of alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from interlock.machine import Message
from interlock.runtime.perform import attempt
from interlock.runtime.ports import Recorder
from interlock.session.decide import Decision
from interlock.session.value import Value

log = logging.getLogger("interlock")


class Several:
    """A recorder in front of others, in their order."""

    def __init__(self, *recorders: Recorder) -> None:
        self.recorders: list[Recorder] = list(recorders)

    def decided(self, at: float, before: Value, event: Message, decision: Decision) -> None:
        """Hand a decision to each."""
        for recorder in tuple(self.recorders):
            self._ask(recorder, lambda r=recorder: r.decided(at, before, event, decision))  # type: ignore[misc]

    def refused(self, at: float, before: Value, event: Message, code: str) -> None:
        """Hand a refusal to each."""
        for recorder in tuple(self.recorders):
            self._ask(recorder, lambda r=recorder: r.refused(at, before, event, code))  # type: ignore[misc]

    def voided(self, at: float, session_id: str, through: int, unsent: Sequence[int], sent: Sequence[int]) -> None:
        """Hand a void to each."""
        for recorder in tuple(self.recorders):
            self._ask(recorder, lambda r=recorder: r.voided(at, session_id, through, unsent, sent))  # type: ignore[misc]

    def _ask(self, recorder: Recorder, call: Callable[[], None]) -> None:
        if (error := attempt(call, lambda error: error)) is not None:
            log.error("%s has failed, and is not asked again", type(recorder).__name__, exc_info=error)
            self.recorders.remove(recorder)
