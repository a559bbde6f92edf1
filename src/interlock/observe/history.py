"""What pages look at: the last records of sessions, as a trace has them, and whoever follows them as they come.

A :class:`History` stands before another recorder and passes everything on. Without ``everything`` it records the first
moments of each session, so that a page which comes right after sees the beginning, and goes on only while somebody
follows; a session that nobody looks at costs one look-up an event. With it (the inspector is on) every session has a
history, in two parts of ``part_bytes`` or a little more: each begins with the session's whole value, so that the second
can be replayed when the first has gone. The first parts of all sessions together have ``all_bytes``; the oldest goes.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from interlock.machine import Message
from interlock.observe.follower import Follower
from interlock.observe.record import FORMAT, Scribe, header_of, sealed
from interlock.runtime.ports import Recorder
from interlock.session.decide import COMPOSITION, Decision
from interlock.session.value import Value

OVER: Final = "CLOSED"
"""The state of a session that has had its end. One in quarantine is not over: it still owes."""


class Bounds(NamedTuple):
    """Limits of a history. ``opening`` is how many records of an unwatched session are kept for who comes at once."""

    opening: int = 48
    part_bytes: int = 64 * 1024
    all_bytes: int = 32 * 1024 * 1024
    ended: int = 64


class Part:
    """Records of a session that can be replayed by themselves: the first line is its value."""

    __slots__ = ("lines", "number", "size")

    def __init__(self, number: int, first: bytes) -> None:
        self.number = number
        self.lines = [first]
        self.size = len(first)


class Book:
    """The history of one session. ``error`` is what last went wrong, and ``began_at`` when its first record was."""

    def __init__(self, value: Value, at: float) -> None:
        self.session_id = value.session_id
        self.value = value
        self.began_at = self.at = at
        self.error = ""
        self.parts: deque[Part] = deque()
        self.followers: set[Follower] = set()
        self.run = secrets.token_hex(8)
        self.n = 0
        self.count = 0

    @property
    def is_over(self) -> bool:
        """Whether the session has had its end."""
        return self.value.state("session") == OVER

    @property
    def lines(self) -> Iterator[bytes]:
        """Every line that is kept."""
        return (line for part in self.parts for line in part.lines)

    def trace(self) -> bytes:
        """Return what is kept as a trace file: each part with its header and its end, as ``interlock replay`` reads."""
        return b"".join(piece for part in self.parts for piece in self._file(part))

    def _file(self, part: Part) -> Iterator[bytes]:
        yield sealed(header_of(self.run, part.number))
        yield from part.lines
        yield sealed({"end": FORMAT, "lines": len(part.lines)})


class History:
    """A recorder that keeps what pages look at. Satisfies :class:`interlock.runtime.ports.Recorder`.

    ``touched`` has the sessions that changed since somebody last emptied it; it is kept with ``everything`` only.
    """

    def __init__(self, inner: Recorder, *, everything: bool = False, bounds: Bounds | None = None) -> None:
        """Stand before ``inner``."""
        self.books: dict[str, Book] = {}
        self.everything = everything
        self.touched: set[str] = set()
        self.bounds = bounds or Bounds()
        self._inner = inner
        self._scribe = Scribe(COMPOSITION)
        self._ended: deque[str] = deque()
        self._finished: dict[str, None] = {}
        """The sessions that have a finished part, those with two; in front the one that was finished first."""
        self._size = 0
        """Bytes of the finished parts."""

    def decided(self, at: float, before: Value, event: Message, decision: Decision) -> None:
        """Record what an event did."""
        self._inner.decided(at, before, event, decision)
        if not decision.taken and not self.everything and before.session_id not in self.books:
            return  # audio, of a session that nobody looks at: this is asked for each frame
        book = self._book(before, at)
        if book is None:
            return
        self._keep(book, self._scribe.decided(self._next(book, before, at), at, before, event, decision))
        was_over = book.is_over
        book.value = decision.value
        if decision.taken:
            book.error = trouble(decision) or book.error
            if book.is_over and not was_over:
                self._end(book)

    def refused(self, at: float, before: Value, event: Message, code: str) -> None:
        """Record what was asked for and refused."""
        self._inner.refused(at, before, event, code)
        if (book := self._book(before, at)) is not None:
            book.error = f"refused {type(event).__name__}: {code}"
            self._keep(book, self._scribe.refused(self._next(book, before, at), at, before, event, code))

    def voided(self, at: float, session_id: str, through: int, unsent: Sequence[int], sent: Sequence[int]) -> None:
        """Record which frames an interrupt freed. Follows the interrupt, and goes into the same part."""
        self._inner.voided(at, session_id, through, unsent, sent)
        book = self.books.get(session_id)
        if book is not None and (unsent or sent):
            book.n += 1
            self._keep(book, self._scribe.voided(book.n, at, session_id, through, unsent, sent))

    def follow(self, value: Value, at: float, wake: Callable[[], None]) -> Follower:
        """Begin to follow a session: what is kept of it first, then each record, until :meth:`leave`.

        ``wake`` is called whenever there is something to take.
        """
        book = self.books.get(value.session_id) or self._begin(value, at)
        follower = Follower(
            book.session_id, list(book.lines), wake, anew=lambda: self._scribe.begun(book.at, book.value)
        )
        book.followers.add(follower)
        wake()
        return follower

    def leave(self, follower: Follower) -> None:
        """Follow no more."""
        book = self.books.get(follower.session_id)
        if book is not None:
            book.followers.discard(follower)
            if not self.everything and not book.followers:
                self._drop(book.session_id)

    def _book(self, before: Value, at: float) -> Book | None:
        """Return where a record goes, if anywhere."""
        book = self.books.get(before.session_id)
        if book is not None:
            book.at = at
            if self.everything:
                self.touched.add(book.session_id)
            elif not book.followers and book.count > self.bounds.opening:
                self._drop(book.session_id)
                return None
        elif before.state("session") == "OPENING" or (self.everything and before.state("session") != OVER):
            book = self._begin(before, at)
        return book

    def _begin(self, value: Value, at: float) -> Book:
        book = self.books[value.session_id] = Book(value, at)
        is_new = value.state("session") == "OPENING" and not value.generation
        self._begin_part(book, value, at, 1 if is_new else 2)
        if self.everything:
            self.touched.add(book.session_id)
        return book

    def _begin_part(self, book: Book, value: Value, at: float, number: int) -> None:
        """Begin a part with the whole value; the one before the last goes. Part 1 is there if it is the beginning."""
        if book.parts:
            self._forget(book)
            self._finished[book.session_id] = None
            self._size += book.parts[-1].size
        book.parts.append(Part(number, self._scribe.begun(at, value)))
        book.n = 0
        while self._size > self.bounds.all_bytes:
            self._forget(self.books[next(iter(self._finished))])

    def _forget(self, book: Book) -> None:
        """Let go of the finished part of a session, if it has one."""
        if book.session_id in self._finished:
            del self._finished[book.session_id]
            self._size -= book.parts.popleft().size

    def _next(self, book: Book, before: Value, at: float) -> int:
        """Return the number of a session's next record, in a part that has room for it."""
        if book.parts[-1].size >= self.bounds.part_bytes:
            self._begin_part(book, before, at, book.parts[-1].number + 1)
        book.n += 1
        return book.n

    def _keep(self, book: Book, line: bytes) -> None:
        part = book.parts[-1]
        part.lines.append(line)
        part.size += len(line)
        book.count += 1
        for follower in book.followers:
            follower.put(line)

    def _end(self, book: Book) -> None:
        """Keep what has ended for a while: the last ``ended`` sessions."""
        self._ended.append(book.session_id)
        while len(self._ended) > self.bounds.ended:
            self._drop(self._ended.popleft())

    def _drop(self, session_id: str) -> None:
        book = self.books.pop(session_id, None)
        if book is not None:
            self._forget(book)
            if self.everything:
                self.touched.add(session_id)


TROUBLE: Final = frozenset(
    {"SubmitRefused", "RequestFailed", "AbortFailed", "RequestLost", "RequestOwed", "StageFailed", "ListenFailed",
     "PrepareFailed", "ReserveOverdue", "SubmitOverdue", "AbortOverdue", "CleanupOverdue", "CredentialsLost"}
)  # fmt: skip
"""Messages that say that something went wrong."""


def trouble(decision: Decision) -> str:
    """Return what went wrong in a decision, if anything did: the first message that says so, and its reason."""
    for taken in decision.taken:
        name = type(taken.message).__name__
        if name in TROUBLE and taken.row is not None:
            reason = getattr(taken.message, "reason", "")
            return f"{name}: {reason}" if reason else name
    return ""
