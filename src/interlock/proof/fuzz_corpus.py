"""What a campaign keeps in a folder: schedules that reached something new, and those that broke something.

A file is named for what is in it, so that two machines that found the same thing have the same file, and a merge of
two folders is a copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from interlock.proof.fuzz_schedule import Found, Kind, Schedule, Unusable, as_text, load

FAILURES = "failures"


class Corpus:
    """A folder: ``KIND/*.json`` has the corpus, ``failures/*.json`` what was broken. It need not be there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> None:
        """Make the folder now: a night's work should not end without a place to put it. Raises :class:`Unusable`."""
        try:
            (self.folder / FAILURES).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unusable(f"{self.folder}: {error.strerror or error}") from error

    def schedules(self, kind: Kind) -> list[Schedule]:
        """Return the corpus of one kind, in an order that does not change. Raises :class:`Unusable`."""
        return [load(path).schedule for path in sorted((self.folder / kind).glob("*.json"))]

    def keep(self, kind: Kind, schedules: Iterable[Schedule]) -> None:
        """Write schedules that reached something new."""
        for schedule in schedules:
            self._write(kind, Found(kind, schedule, ()))

    def keep_failure(self, found: Found) -> Path:
        """Write a schedule that broke something; return the file."""
        return self._write(FAILURES, found)

    def _write(self, part: str, found: Found) -> Path:
        name = hashlib.sha256(as_text(found._replace(about="")).encode()).hexdigest()[:12]
        path = self.folder / part / f"{name}.json"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_text(as_text(found), "utf-8")
        except OSError as error:
            raise Unusable(f"{path}: {error.strerror or error}") from error
        return path
