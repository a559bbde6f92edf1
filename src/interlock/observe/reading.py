"""Reading traces: whole lines, compressed or not, from files that may still grow, or may have been cut."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from interlock.errors import WorldError
from interlock.observe.files import numbers_in

PIECE: Final = 256 * 1024
LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a line: no record is that long, and something that is no trace need not be read to its end."""

GZIP: Final = b"\x1f\x8b"


class Unpacker:
    """Takes the bytes of a trace as they come, and returns the lines that are whole. It knows gzip by its first bytes.

    ``damage`` says what is wrong with the bytes, once something is; what came before has been returned.
    """

    def __init__(self) -> None:
        self.damage = ""
        self._first = b""
        self._zip: Any = None
        self._is_plain = False
        self._begun: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that ``data`` completes, with their ends."""
        first, *others = self._text(data).split(b"\n")
        self._begun.append(first)
        self._size += len(first)
        if self._size > LARGEST:
            self._begun, self.damage = [], f"a line of over {LARGEST} bytes"
        if not others:
            return []
        whole = [b"".join(self._begun), *others[:-1]]
        self._begun, self._size = [others[-1]], len(others[-1])
        return [line + b"\n" for line in whole]

    @property
    def is_whole(self) -> bool:
        """Whether what was fed ends at the end of a line, and of what was compressed."""
        return not self._size and not self._first and (self._zip is None or self._zip.eof)

    def _text(self, data: bytes) -> bytes:
        if self._is_plain or self.damage:
            return b"" if self.damage else data
        if self._zip is None:
            data, self._first = self._first + data, b""
            if len(data) < len(GZIP) and GZIP.startswith(data):
                self._first = data
                return b""
            if not data.startswith(GZIP):
                self._is_plain = True
                return data
            self._zip = zlib.decompressobj(wbits=31)
        return self._unpacked(data)

    def _unpacked(self, data: bytes) -> bytes:
        before = self._zip.copy()
        try:
            return self._members(data)
        except zlib.error as wrong:
            self.damage = str(wrong)
            return _salvaged(before, data)

    def _members(self, data: bytes) -> bytes:
        """Unpack, also what was compressed in several members, as `cat` and a restart leave it."""
        unpacked: bytes = self._zip.decompress(data)
        while self._zip.eof and self._zip.unused_data:
            rest, self._zip = self._zip.unused_data, zlib.decompressobj(wbits=31)
            unpacked += self._zip.decompress(rest)
        return unpacked


def _salvaged(unzip: Any, data: bytes) -> bytes:
    """Return what can be unpacked before the damage: zlib keeps it to itself when it fails."""
    found = b""
    try:
        for byte in data:
            found += unzip.decompress(bytes((byte,)))
    except zlib.error:
        return found
    return found


def files_of(path: Path) -> list[Path]:
    """Return the files of a trace: a folder's in the order of their numbers, a file itself.

    Raises :class:`WorldError` for what is not there.
    """
    try:
        if not path.is_dir():
            return [path]
        found = list(numbers_in(path).values())
    except (OSError, ValueError) as wrong:
        raise WorldError(f"{path}: cannot be read: {wrong}") from None
    if not found:
        raise WorldError(f"{path}: no trace-*.jsonl.gz in this folder")
    return found


def lines_of(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the whole lines of one file; a last one without an end is left out. Raises :class:`zlib.error`."""
    unpacker = Unpacker()
    while data := stream.read(PIECE):
        yield from unpacker.feed(data)
        if unpacker.damage:
            raise zlib.error(unpacker.damage)


def records_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield what happened, of a file or a folder of them: events and voids, as plain data.

    Raises :class:`WorldError` for what is no trace.
    """
    for file in files_of(path):
        try:
            with file.open("rb") as stream:
                yield from happened(lines_of(stream))
        except (OSError, zlib.error, msgspec.DecodeError) as wrong:
            raise WorldError(f"{file}: cannot be read as a trace: {wrong}") from None


def happened(lines: Iterator[bytes] | list[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the records among the lines of a trace that say what happened: no header, no value, no end."""
    for line in lines:
        record = msgspec.json.decode(line)
        if "event" in record or "voided" in record:
            yield record
