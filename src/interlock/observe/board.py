"""All sessions of a host, one short row each: what an operator sees of them at a glance."""

from __future__ import annotations

from typing import NamedTuple

from interlock.observe.history import Book, History
from interlock.runtime.host import Host
from interlock.runtime.ledger import OWING


class Row(NamedTuple):
    """One session. Times are of the host's clock, in seconds; ``owes`` says which stages owe a clean-up."""

    session: str
    state: str
    attachment: str
    lease: str
    generation: int
    epoch: int
    requests: int
    owed: int
    owes: str
    journal_bytes: int
    began_at: float
    changed_at: float
    error: str


class Changes(NamedTuple):
    """What is different since the last time."""

    rows: list[Row]
    gone: list[str]


class Board:
    """Rows of the sessions that a history knows, those that have just ended among them."""

    def __init__(self, host: Host, history: History) -> None:
        self._host = host
        self._history = history

    def rows(self) -> list[Row]:
        """Return every row."""
        return [self._row(book) for book in self._history.books.values()]

    def changes(self) -> Changes:
        """Return what has changed since the last call, and forget it."""
        books, touched = self._history.books, self._history.touched
        rows = [self._row(books[name]) for name in touched if name in books]
        gone = [name for name in touched if name not in books]
        touched.clear()
        return Changes(rows, gone)

    def _row(self, book: Book) -> Row:
        driver = self._host.drivers.get(book.session_id)
        value = book.value
        requests = [cell for (machine, _), cell in value.cells.items() if machine == "request"]
        owed = [cell.data.stage for cell in requests if cell.state in OWING]
        return Row(
            book.session_id,
            value.state("session"),
            value.state("attachment"),
            value.state("lease"),
            value.generation,
            value.epoch,
            len(requests),
            len(owed),
            ", ".join(sorted(set(owed))),
            driver.frames.size if driver is not None else 0,
            book.began_at,
            book.at,
            book.error,
        )
