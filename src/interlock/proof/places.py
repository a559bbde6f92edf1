"""Where a task is, in the words of whoever wrote it: the innermost line that is neither trio's nor this package's."""

from __future__ import annotations

import contextlib
import linecache
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import outcome
import trio

FOLDERS = [Path(file or "").parent for file in (trio.__file__, outcome.__file__, __file__)]
FOREIGN = (*(f"{folder}/" for folder in FOLDERS), contextlib.__file__)


class Place(NamedTuple):
    """A line of a file; line 0 of no file where a task has none any more."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{shown(self.file)}:{self.line}" if self.line else "its end"

    @property
    def quoted(self) -> str:
        """The place, and the text of its line."""
        return f"{self}  `{self.source}`" if self.source else str(self)

    @property
    def source(self) -> str:
        """The text of the line, without its indentation."""
        return linecache.getline(self.file, self.line).strip()


END = Place("", 0)


@lru_cache(maxsize=1024)
def shown(file: str) -> str:
    """Shorten a path to what one types from here."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def waiting(task: trio.lowlevel.Task) -> Place:
    """Say where a task that is not running waits, or will begin."""
    if getattr(task.coro, "cr_frame", None) is None:
        return END
    places = [Place(frame.f_code.co_filename, line) for frame, line in task.iter_await_frames()]
    return _innermost(reversed(places))


def calling() -> Place:
    """Say which line has called into this package, from within the running step."""
    return _innermost(_callers(sys._getframe(1)))


def _callers(frame: FrameType | None) -> Iterable[Place]:
    while frame is not None:
        yield Place(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back


def _innermost(places: Iterable[Place]) -> Place:
    first = END
    for place in places:
        if not place.file.startswith(FOREIGN):
            return place
        first = first if first.line else place
    return first
