"""The console timeline: what the clients did and heard, and what the server's machines did meanwhile, in one order.

The server's side is read from its trace while that grows. Its clock is its own; the moment at which the first client
had its credentials is on both, and joins them. A line is held back for half a second, so that lines come in order.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import trio

from interlock.demo.evidence import Moved, Record, moves
from interlock.observe.files import numbers_in
from interlock.observe.reading import Unpacker, happened

HOLD_S: Final = 0.6
TICK_S: Final = 0.1
SHOWN: Final = frozenset({"session", "attachment", "fence", "response"})
"""Machines whose states are shown. The lease follows the attachment, and the requests follow the responses."""


class Note(NamedTuple):
    """Something that happened: seconds of the demo, to whom, and what."""

    at: float
    who: str
    what: str


class Timeline:
    """Collects notes, and prints each when no earlier one can come any more."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self.notes: list[Note] = []
        self._write = write
        self._began = trio.current_time()
        self._held: list[tuple[float, int, Note]] = []
        self._count = itertools.count()

    def now(self) -> float:
        """Return the seconds of the demo."""
        return trio.current_time() - self._began

    def say(self, who: str, what: str, at: float | None = None) -> None:
        """Note that something happened, now or at ``at``."""
        note = Note(self.now() if at is None else at, who, what)
        self.notes.append(note)
        heapq.heappush(self._held, (note.at, next(self._count), note))

    async def run(self) -> None:
        """Print what is old enough, for ever."""
        while True:
            await trio.sleep(TICK_S)
            self.release(self.now() - HOLD_S)

    def release(self, until: float = float("inf")) -> None:
        """Print everything up to ``until``."""
        while self._held and self._held[0][0] <= until:
            note = heapq.heappop(self._held)[2]
            self._write(f"{note.at:7.2f}  {note.who:<8}  {note.what}")


class Follower:
    """Reads a trace while it is being written, and notes the states in it. ``offset`` is demo minus server clock."""

    def __init__(self, folder: Path, timeline: Timeline) -> None:
        self.folder = folder
        self.timeline = timeline
        self.opened_at: float | None = None
        self.offset = 0.0
        self._read = 0
        self._unpacker = Unpacker()
        self._names: dict[str, str] = {}

    def join(self) -> None:
        """Join the clocks: the first client has its credentials now."""
        self.opened_at = self.timeline.now()

    async def run(self) -> None:
        """Follow for ever."""
        while True:
            await trio.sleep(TICK_S)
            self.catch_up()

    def catch_up(self) -> None:
        """Note what has been written since; nothing, before the clocks are joined."""
        path = numbers_in(self.folder).get(1)
        if self.opened_at is None or path is None:
            return
        with path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        self._read += len(data)
        records = list(happened(self._unpacker.feed(data)))
        for record in records:
            if not self.offset and _is_activation(record):
                self.offset = self.opened_at - record["at"]
        for record in records:
            self._note(record)

    def _note(self, record: Record) -> None:
        for moved in moves([record]):
            if moved.machine in SHOWN:
                self.timeline.say(moved.machine, self._sentence(moved), moved.at + self.offset)
        void = record.get("voided")
        if void:
            freed = f"{len(void['unsent'])} frames voided that no transport had, {len(void['sent'])} that one had"
            self.timeline.say("journal", freed, record["at"] + self.offset)

    def _sentence(self, moved: Moved) -> str:
        name = self._name(moved)
        return f"{name}{moved.start or '(new)'} -> {moved.end}  ({moved.cause})"

    def _name(self, moved: Moved) -> str:
        if moved.machine == "fence":
            return f"{moved.key} "
        if moved.machine == "response":
            return f"{self._names.setdefault(moved.key, str(len(self._names) + 1))} "
        return ""


def _is_activation(record: Record) -> bool:
    return bool(record.get("event", {}).get("type") == "ActivationDelivered")
