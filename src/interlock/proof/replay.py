"""Replay: ``decide`` once more over every recorded event, and the line that it makes beside the line that was written.

A replay starts from the value that a session had, takes each event with the facts left to be filled in again, and lets
the same code decide: tables, guards, assignments, facts, books. Then it writes the line with the recorder's own code.
Where the two lines are the same bytes, everything in them was right: each delivery, from which state, by which row,
with which facts; each effect, in order; the journal after it. Where they are not, the first field that differs is told.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec import UNSET

from interlock.machine import Message
from interlock.observe.record import is_sealed
from interlock.proof.replay_events import Told, name_of, read_event, read_line
from interlock.proof.replay_finding import Difference, Finding, Kind, Place
from interlock.proof.replay_judge import Judge
from interlock.proof.replay_session import Followed
from interlock.proof.replay_target import Target, Version
from interlock.session.decide import Decision

Watch: TypeAlias = Callable[[int, Told, Message, Decision | None], None]
"""Is shown each event that was judged, with its number and what it did; none when it was refused."""


class Replay:
    """Takes the records of a trace, one after the other. ``findings`` has what is wrong with them."""

    def __init__(
        self, target: Target, only: str | None = None, watch: Watch | None = None, last: int | None = None
    ) -> None:
        """Hold a trace against ``target``: all of it, or one session, or up to its ``last`` event.

        ``watch`` is shown every event that is judged.
        """
        self.findings: list[Finding] = []
        self.sessions: dict[str, Followed] = {}
        self.names: dict[str, None] = {}
        """The first sessions of the trace, whether they are judged or not."""
        self.events = self.rows = self.effects = self.unjudged = 0
        self._judged: set[int] = set()
        self._judge = Judge(target)
        self._from_the_start = False
        self._only = only
        self._watch = watch
        self._last = math.inf if last is None else last
        self._at = -math.inf
        self._unread = 0

    @property
    def judged(self) -> int:
        """How many sessions were looked at."""
        return len(self._judged)

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be judged."""
        return self.events >= self._last

    def begin(self, version: Version, *, is_first: bool, follows: bool) -> None:
        """Begin a file: recorded under ``version``, the first of its run or not, and after the one before it or not."""
        self._judge.version = version
        self._forget(all_of_them=not follows)
        if not follows:
            self._from_the_start, self._at = is_first, -math.inf

    def take(self, line: bytes, place: Place) -> None:
        """Take one record."""
        try:
            told = read_line(line)
        except msgspec.DecodeError as wrong:
            self._unread += 1
            self.findings.append(Finding("changed", place, f"not a record any more: {wrong}"))
            return
        self.events += told.voided is UNSET and told.value is UNSET
        if len(self.names) < 10:
            self.names[told.session] = None
        if self._only is None or told.session == self._only:
            look = _Look(self, told, line, place)
            if told.value is not UNSET:
                self._value(look)
            else:
                self._record(look)

    def finish(self, *, whole: bool) -> None:
        """End; ``whole`` says that the trace was read to the ends of its files."""
        for name, one in self.sessions.items():
            if one.owes and whole and not one.lost:
                self.findings.append(Finding("missing", Place("the end", 0), one.owes, self.events, name, one.n))
        self._forget(all_of_them=True)

    def _value(self, look: _Look) -> None:
        """Take the value of a session: where it begins, or the same that we have come to."""
        one = self.sessions.get(look.told.session)
        if one is not None and not one.lost and (found := self._judge.carried(one, look.told, look.line)):
            look.part(found)
        elif not is_sealed(look.line):
            look.bad("changed", "the value of the session", lost=False)
        if one is not None and not one.lost:
            one.n = 0
            return
        try:
            self._follow(look, self._judge.restored(look.told, look.line))
        except ValueError as wrong:
            look.bad("parts", f"the value of the session cannot be one: {wrong}")

    def _follow(self, look: _Look, one: Followed) -> None:
        before = self.sessions.get(look.told.session)
        self.sessions[look.told.session] = one
        if before is not None:
            self.unjudged += before.unjudged
            return
        self._judged.add(hash(look.told.session))
        if self._from_the_start and one.value.holds_slot and not self._judge.is_new(one.value):
            look.bad("missing", "the session begins in its middle, though the trace has the start of everything")

    def _record(self, look: _Look) -> None:
        one = self.sessions.get(look.told.session)
        if one is None:
            look.bad("missing", "the value of the session, which comes before its first record, is missing")
        elif one.lost:
            one.unjudged += 1
        elif self._is_next(one, look):
            one.n = look.told.n
            if look.told.voided is UNSET:
                one.voids.clear()
                self._event(one, look)
            else:
                self._voided(one, look)

    def _is_next(self, one: Followed, look: _Look) -> bool:
        """Whether nothing is missing before a record. Times, too, only go on."""
        told = look.told
        if told.n != one.n + 1:
            self._gap(one, look)
        elif told.voided is UNSET and one.owes:
            look.bad("missing", one.owes)
        elif told.at < self._at:
            look.part(Difference("record", 0, "", "at", told.at, f"{self._at} or later"))
        else:
            self._at = told.at
            return True
        return False

    def _gap(self, one: Followed, look: _Look) -> None:
        n = look.told.n
        if self._unread and n == one.n + 2:
            self._unread -= 1  # it is the line that could not be read, and was told of
            one.lost, one.unjudged = True, one.unjudged + 1
        elif n == one.n + 2:
            look.bad("missing", f"record {one.n + 1} of the session is missing before this one")
        elif n > one.n:
            look.bad("missing", f"records {one.n + 1} to {n - 1} of the session are missing before this one")
        else:
            look.bad("parts", f"record {n} of the session comes after its record {one.n}")

    def _event(self, one: Followed, look: _Look) -> None:
        told = look.told
        try:
            event = read_event(told, one.value.credential, b"issued by event %d" % self.events)
        except (ValueError, msgspec.DecodeError) as wrong:
            look.bad("parts", f"cannot be taken: {wrong}")
            return
        if why := one.untimely(event, told.at, self._judge.target):
            look.bad("parts", f"{type(event).__name__} comes, but {why}")
            return
        decision, ours = self._judge.decided(one.value, event, told)
        if ours != look.line and not self._agrees(look, ours, decision):
            return
        one.recent.append((self.events, type(event).__name__))
        if decision is not None:
            self.rows += len(decision.taken)
            self.effects += len(decision.effects)
            one.commit(event, decision, told.at)
        if self._watch is not None:
            self._watch(self.events, told, event, decision)

    def _voided(self, one: Followed, look: _Look) -> None:
        if not one.voids:
            look.bad("parts", "frames are voided, and no interrupt says so")
        elif (due := one.voids.popleft()) is not None:
            ours = self._judge.voided(due, look.told)
            if ours != look.line:
                self._agrees(look, ours, None)

    def _agrees(self, look: _Look, ours: bytes | str, decision: Decision | None) -> bool:
        """Look closer at lines that are not the same bytes; say whether they mean the same."""
        found = self._judge.difference(look.line, ours, decision)
        if found is not None:
            look.part(found)
        elif not is_sealed(look.line):
            look.bad("changed", "in nothing that the tables decide", lost=False)
        return found is None

    def _forget(self, *, all_of_them: bool) -> None:
        """Let go of sessions that are over, so that a long trace takes no more room than the sessions that live."""
        for name, one in list(self.sessions.items()):
            if all_of_them or (not one.value.holds_slot and not one.value.closing):
                self.unjudged += one.unjudged
                del self.sessions[name]


class _Look:
    """One record that is looked at, and what is found of it. Whatever is found, a line that is not as it was written
    was *changed*.
    """

    __slots__ = ("_replay", "told", "line", "place")

    def __init__(self, replay: Replay, told: Told, line: bytes, place: Place) -> None:
        self._replay = replay
        self.told = told
        self.line = line
        self.place = place

    def part(self, found: Difference) -> None:
        """Note where the tables and the record part."""
        self.bad("parts", str(found), found)

    def bad(self, kind: Kind, what: str, found: Difference | None = None, *, lost: bool = True) -> None:
        """Note a finding; after it, if ``lost``, the session is not judged any more."""
        replay, told = self._replay, self.told
        one = replay.sessions.get(told.session)
        if one is not None and lost:
            one.lost = True
        recent = tuple(f"{number} {name}" for number, name in one.recent) if one is not None else ()
        name = "voided" if told.voided is not UNSET else "value" if told.value is not UNSET else name_of(told.event)
        kind = kind if is_sealed(self.line) else "changed"
        number = replay.events
        replay.findings.append(Finding(kind, self.place, what, number, told.session, told.n, name, found, recent))
