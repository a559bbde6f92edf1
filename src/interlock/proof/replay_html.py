"""``interlock replay --html``: the records of a trace, and what a replay says of them, as one page for a bug report."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from interlock.pages.bundle import replay_page
from interlock.proof.replay_finding import Unusable
from interlock.proof.replay_report import Report

LARGEST: Final = 24 * 1024 * 1024
"""Bytes of records in a page; a browser takes more, and nobody reads more."""


class Pages:
    """Keeps the records of one session, or of all, as they are read, up to ``largest`` bytes of them."""

    def __init__(self, only: str | None = None, largest: int = LARGEST) -> None:
        self.sessions: dict[str, list[bytes]] = {}
        self.left_out = self.unreadable = 0
        self._only = only
        self._room = largest

    def __call__(self, line: bytes) -> None:
        """Take one line of a trace."""
        try:
            session = msgspec.json.decode(line)["session"]
        except (msgspec.DecodeError, KeyError, TypeError):
            self.unreadable += 1
            return
        if not isinstance(session, str) or self._only not in (None, session):
            return
        self._room -= len(line)
        if self._room < 0:
            self.left_out += 1
        else:
            self.sessions.setdefault(session, []).append(line.rstrip())

    @property
    def note(self) -> str:
        """Say what the page does not have."""
        left = (
            f"{self.left_out:,} records are not in this page; narrow it with --session and --to"
            if self.left_out
            else ""
        )
        unread = (
            f"{self.unreadable:,} lines are no records any more, and are not in this page" if self.unreadable else ""
        )
        return "\n".join(filter(None, (left, unread)))

    def write(self, path: Path, title: str, report: Report) -> None:
        """Write the page. Raises :class:`Unusable` where it cannot be written."""
        page = replay_page(title, report.verdict, str(report), self.note, self.sessions)
        try:
            path.write_text(page, encoding="utf-8")
        except OSError as wrong:
            raise Unusable(f"{path}: cannot be written: {wrong.strerror}") from None
