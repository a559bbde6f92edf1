"""The files of a trace, one after the other: headers, ends, and whether anything between them is missing.

A file says in its first line which machines it was recorded under, and in its last how many lines it has. Files of one
run follow each other by their numbers. So a file that was cut, lost or changed is told from one whose events are wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Final, TypeAlias

import msgspec

from interlock.observe.reading import PIECE, Unpacker, files_of
from interlock.observe.record import FORMAT, is_sealed
from interlock.proof.replay import Replay
from interlock.proof.replay_finding import Finding, Kind, Place, Unusable
from interlock.proof.replay_target import Target, Version

STDIN: Final = "-"
HEADER: Final = b'{"trace":'
END: Final = b'{"end":'

NO_TRACE: Final = "is no trace: its first line is not a header; `interlock serve --trace DIR` writes one"

DAMAGED: Final = "is no trace, or was damaged before its first line: it cannot be read"


class Header(msgspec.Struct):
    """The first line of a file."""

    trace: int
    run: str = ""
    part: int = 0
    tables: dict[str, str] = {}
    states: dict[str, list[str]] = {}


class End(msgspec.Struct):
    """The last line of a file."""

    lines: int


Progress: TypeAlias = Callable[[Replay, float], None]
"""Is told from time to time how far a replay is, and which part of the bytes it has."""

Keep: TypeAlias = Callable[[bytes], None]
"""Is shown each record, as it was written, before it is judged."""


class Input:
    """Reads what it is given into a replay. ``live`` says that the last file may still be growing."""

    def __init__(
        self, replay: Replay, target: Target, progress: Progress, *, live: bool = False, keep: Keep | None = None
    ) -> None:
        self.versions: list[Version] = []
        self.files = 0
        self.first_part = 1
        self.stopped = False
        self._replay = replay
        self._target = target
        self._progress = progress
        self._live = live
        self._keep = keep
        self._header: Header | None = None
        self._begun: Place | None = None
        self._lines = 0
        self._done = self._all = 0
        self._is_broken = False
        """Whether the file before had no end."""

    def read(self, names: Iterable[str]) -> None:
        """Read files, folders and, for ``-``, standard input. Raises :class:`Unusable` for what is no trace."""
        paths = [path for name in names for path in ([STDIN] if name == STDIN else files_of(Path(name)))]
        self._all = sum(Path(path).stat().st_size for path in paths if path != STDIN and Path(path).is_file())
        for path in paths:
            self._one(path)
            if self.stopped:
                break
            self._expect_end(cut=not (path is paths[-1] and self._live))
        self._replay.finish(whole=self._begun is None and not self.stopped)

    def _one(self, path: str | Path) -> None:
        try:
            if path == STDIN:
                self._read("standard input", sys.stdin.buffer)
            else:
                with Path(path).open("rb") as stream:
                    self._read(str(path), stream)
        except OSError as wrong:
            raise Unusable(f"{path}: cannot be read: {wrong.strerror}") from None

    def _read(self, name: str, stream: IO[bytes]) -> None:
        unpacker, place = Unpacker(), Place(name, 0)
        while data := stream.read(PIECE):
            self._done += len(data)
            for line in unpacker.feed(data):
                place = Place(name, place.line + 1)
                self._take(line, place)
                if self._replay.is_over:
                    self.stopped = True
                    return
            self._progress(self._replay, min(self._done / self._all, 1.0) if self._all else 0.0)
            if unpacker.damage:
                break
        self._ended(unpacker, place)

    def _ended(self, unpacker: Unpacker, place: Place) -> None:
        """Look at how the bytes of a file ended."""
        if not place.line:
            empty = unpacker.is_whole and not unpacker.damage
            raise Unusable(f"{place.file}: {'is empty' if empty else DAMAGED if unpacker.damage else NO_TRACE}")
        if unpacker.damage:
            self._find("damaged", place, f"what follows this line cannot be read: {unpacker.damage}")
            self._begun, self._is_broken = None, True
        elif self._begun is None and not unpacker.is_whole:
            self._find("truncated", place, "the file ends after its last line, in the middle of what was compressed")

    def _take(self, line: bytes, place: Place) -> None:
        if line.startswith(HEADER):
            self._expect_end(cut=True)
            self._open(line, place)
        elif self._header is None:
            raise Unusable(f"{place.file}: {NO_TRACE}")
        elif self._begun is None:
            raise Unusable(f"{place}: comes after the end of a file, and is no header")
        elif line.startswith(END):
            self._close(line, place)
        else:
            self._lines += 1
            self._begun = place
            if self._keep is not None:
                self._keep(line)
            self._replay.take(line, place)

    def _open(self, line: bytes, place: Place) -> None:
        header = _header_of(line, place)
        before, self._header, self._begun, self._lines = self._header, header, place, 0
        if not is_sealed(line):
            self._find("changed", place, "the header of a file")
        follows = before is not None and before.run == header.run
        if before is not None and follows and header.part != before.part + 1:
            self._follow(before.part, header.part, place)
            follows = False
        if before is None:
            self.first_part = header.part
        version = self._target.version_of(header.tables, header.states)
        self.versions += [version] if version not in self.versions else []
        self.files += 1
        self._replay.begin(version, is_first=header.part == 1, follows=follows and not self._is_broken)
        self._is_broken = False

    def _follow(self, last: int, part: int, place: Place) -> None:
        if part <= last:
            raise Unusable(f"{place.file}: is part {part} of its run, and comes after part {last}; name files in order")
        which = f"part {last + 1}" if part == last + 2 else f"parts {last + 1} to {part - 1}"
        self._find("missing", place, f"{which} of the run, before this file")

    def _close(self, line: bytes, place: Place) -> None:
        try:
            end = msgspec.json.decode(line, type=End)
        except msgspec.DecodeError as wrong:
            self._find("changed", place, f"not the end of a file any more: {wrong}")
        else:
            if not is_sealed(line):
                self._find("changed", place, "the end of a file")
            elif end.lines != self._lines:
                self._find("missing", place, f"the file was written with {end.lines} records and has {self._lines}")
        self._begun = None

    def _expect_end(self, *, cut: bool) -> None:
        """Say that a file has no end, unless it may still grow."""
        if self._begun is not None and cut:
            self._find("truncated", self._begun, "the file ends after this line, without its end")
            self._begun, self._is_broken = None, True

    def _find(self, kind: Kind, place: Place, what: str) -> None:
        self._replay.findings.append(Finding(kind, place, what))


def _header_of(line: bytes, place: Place) -> Header:
    try:
        header = msgspec.json.decode(line, type=Header)
    except msgspec.DecodeError as wrong:
        raise Unusable(f"{place}: not the header of a trace: {wrong}") from None
    if header.trace != FORMAT:
        raise Unusable(f"{place}: a trace of format {header.trace}; this version reads format {FORMAT}")
    return header
