"""What one record should be, by the tables, and where it is something else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from interlock.errors import ClientError, Defect
from interlock.machine import Message, Taken
from interlock.observe.snapshot import restored
from interlock.proof.replay_compare import difference
from interlock.proof.replay_events import Told
from interlock.proof.replay_finding import Difference
from interlock.proof.replay_session import Followed, Voided, newborn
from interlock.proof.replay_target import Target, Version, renamed, visited
from interlock.session.decide import Decision
from interlock.session.value import Value

FAILURES: Final = (Defect, LookupError, ValueError, TypeError, AttributeError, ArithmeticError)
"""What a guard or an assignment does with an event that these machines could not have met."""


class Judge:
    """Holds records against ``target``. ``version`` says how the machines of the trace differ from it."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.version = Version({}, frozenset())

    def decided(self, value: Value, event: Message, told: Told) -> tuple[Decision | None, bytes | str]:
        """Return what an event does, and the line that says so; or why, in words, it can do nothing."""
        try:
            decision = self.target.decide(value, event)
        except ClientError as refusal:
            return None, self.target.scribe.refused(told.n, told.at, value, event, refusal.code)
        except FAILURES as wrong:
            return None, str(wrong) if isinstance(wrong, Defect) else f"{type(event).__name__}: {wrong!r}"
        return decision, self.target.scribe.decided(told.n, told.at, value, event, decision)

    def voided(self, due: Voided, told: Told) -> bytes:
        """Return the line of what an interrupt has freed."""
        return self.target.scribe.voided(told.n, told.at, told.session, due.through, due.unsent, due.sent)

    def difference(self, line: bytes, ours: bytes | str, decision: Decision | None) -> Difference | None:
        """Return where a record parts from the line that it should be, if it does."""
        if isinstance(ours, str):
            self._read(line)
            return Difference("record", 0, "", "event", "it taken", "no answer", ours)
        return self._compared(line, ours, decision.taken if decision is not None else ())

    def carried(self, one: Followed, told: Told, line: bytes) -> Difference | None:
        """Return where the recorded value of a session is not the one that it has come to, if it is not."""
        ours = self.target.scribe.begun(told.at, one.value)
        return None if ours == line else self._compared(line, ours, ())

    def restored(self, told: Told, line: bytes) -> Followed:
        """Return a session as its recorded value tells of it. Raises :class:`ValueError` for what is no value."""
        try:
            one = Followed(restored(told.session, (self._read(line) or {})["value"]))
            one.start(self.target)
        except (LookupError, TypeError, AttributeError, msgspec.DecodeError) as wrong:
            raise ValueError(repr(wrong)) from None
        one.unknown = one.value.journal.head
        return one

    def is_new(self, value: Value) -> bool:
        """Say whether a session has just been admitted; under other machines that cannot be said."""
        return bool(self.version.changed) or newborn(value)

    def _compared(self, line: bytes, ours: bytes, taken: Sequence[Taken]) -> Difference | None:
        theirs = self._read(line)
        if theirs is None:
            return Difference("record", 0, "", "", "no JSON", "a record")
        return difference(theirs, msgspec.json.decode(ours), taken, self.version.changed)

    def _read(self, line: bytes) -> dict[str, Any] | None:
        """Read a whole record, its states by their new names. What we need of it was read; the rest may be broken."""
        try:
            record: dict[str, Any] = renamed(msgspec.json.decode(line), self.target.states)
        except msgspec.DecodeError:
            return None
        self.version.refuse(visited(record), self.target.label)
        return record
