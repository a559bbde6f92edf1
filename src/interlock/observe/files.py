"""The files of a trace: compressed as they grow, rotated by size, the oldest going first.

What was flushed can be read while the file grows, and is there after a crash. A file that was finished says so in its
last line, with the number of lines before it: one that does not was cut, or is still being written.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import zlib
from pathlib import Path
from typing import IO, Final

from interlock.observe.record import FORMAT, header_of, sealed

LEVEL: Final = 1
"""zlib's fastest: lines repeat so much that more effort gains little (benchmarks/trace.py)."""

CHUNK: Final = 64 * 1024
"""Bytes of lines that are compressed at once. A call of zlib for each line would cost more than the line."""

NAME: Final = re.compile(r"trace-(\d+)\.jsonl(?:\.gz)?")


class Files:
    """Writes lines to ``trace-0001.jsonl.gz`` and so on in ``folder``; keeps ``count`` files of ``size`` bytes each.

    Numbers go on where an earlier run stopped, whose files are evidence too, until it is their turn to go.
    """

    def __init__(self, folder: Path, size: int, count: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._size = size
        self._count = count
        self._run = secrets.token_hex(8)
        self._part = 0
        self._file: IO[bytes] | None = None
        self._zip = zlib.compressobj(LEVEL, wbits=31)
        self._waiting: list[bytes] = []
        self._waits = 0
        self._written = 0
        self._lines = 0

    @property
    def is_due(self) -> bool:
        """Whether the next line begins a new file."""
        return self._file is None or self._written >= self._size

    def rotate(self) -> None:
        """Finish the file, begin the next one, and remove what is too old."""
        self.finish()
        numbers = numbers_in(self._folder)
        number, self._part = max(numbers, default=0) + 1, self._part + 1
        for old in sorted(numbers)[: max(len(numbers) + 1 - self._count, 0)]:
            numbers[old].unlink(missing_ok=True)
        self._file = (self._folder / f"trace-{number:04}.jsonl.gz").open("xb")
        self._zip, self._written, self._lines = zlib.compressobj(LEVEL, wbits=31), 0, -1
        self.write(sealed(header_of(self._run, self._part)))

    def write(self, line: bytes) -> None:
        """Take one line."""
        self._waiting.append(line)
        self._lines += 1
        self._waits += len(line)
        if self._waits >= min(CHUNK, self._size):
            self._drain()

    def flush(self) -> None:
        """Hand everything to the operating system, so that a reader and a crash find it there."""
        if self._file is not None and self._waits:
            self._drain()
            self._put(self._zip.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()

    def finish(self) -> None:
        """End the file, and let go of it."""
        if self._file is not None:
            self.write(sealed({"end": FORMAT, "lines": self._lines}))
            self._drain()
            self._put(self._zip.flush())
            self._file.close()
            self._file = None

    def abandon(self) -> None:
        """Let go of the file as it is: it cannot be written."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _drain(self) -> None:
        self._put(self._zip.compress(b"".join(self._waiting)))
        self._waiting.clear()
        self._waits = 0

    def _put(self, data: bytes) -> None:
        assert self._file is not None
        self._file.write(data)
        self._written += len(data)


def numbers_in(folder: Path) -> dict[int, Path]:
    """Return the trace files of a folder by their numbers, in order."""
    found = {int(match[1]): path for path in folder.iterdir() if (match := NAME.fullmatch(path.name))}
    return dict(sorted(found.items()))
