"""Where a key stands: line numbers for a TOML text that :mod:`tomllib` has already accepted.

tomllib gives values without positions, and a finding without a line is a search. This walks the same text once and
notes the line of every key and of every array element, by path. It trusts that the text is valid.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_right
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_BLANK = " \t\r"
_QUOTES = ('"""', "'''", '"', "'")


def lines_of(text: str) -> dict[Path, int]:
    """Return the line, counted from 1, of every key and element of ``text``."""
    return _Scanner(text).document()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.starts = [0, *(i + 1 for i, char in enumerate(text) if char == "\n")]
        self.lines: dict[Path, int] = {}
        self.counts: dict[Path, int] = {}

    def document(self) -> dict[Path, int]:
        table: Path = ()
        self.skip(newlines=True)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
            self.skip(newlines=True)
        return self.lines

    def header(self) -> Path:
        many = self.text.startswith("[[", self.at)
        start = self.at
        self.at += 2 if many else 1
        path: Path = self.key()
        self.at += 2 if many else 1
        if many:
            self.counts[path] = self.counts.get(path, -1) + 1
            path = (*path, self.counts[path])
        self.note(path, start)
        return path

    def pair(self, table: Path) -> None:
        start = self.at
        path = (*table, *self.key())
        self.note(path, start)
        self.at += 1  # the equals sign
        self.value(path)

    def key(self) -> Path:
        parts: list[str] = []
        while True:
            self.skip()
            parts.append(self.part())
            self.skip()
            if self.peek() != ".":
                return tuple(parts)
            self.at += 1

    def part(self) -> str:
        if self.peek() in "\"'":
            start = self.at
            self.string()
            return next(iter(tomllib.loads(f"{self.text[start : self.at]} = 0")))
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in " \t.=]\r\n":
            self.at += 1
        return self.text[start : self.at]

    def value(self, path: Path) -> None:
        self.skip()
        match self.peek():
            case "[":
                self.array(path)
            case "{":
                self.inline(path)
            case '"' | "'":
                self.string()
            case _:
                while self.at < len(self.text) and self.text[self.at] not in ",]}\n#":
                    self.at += 1

    def array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while self.opens("]"):
            self.note((*path, index), self.at)
            self.value((*path, index))
            index += 1

    def inline(self, path: Path) -> None:
        self.at += 1
        while self.opens("}"):
            self.pair(path)

    def opens(self, close: str) -> bool:
        """Step over blanks and commas; say whether another element follows, and step over ``close`` if not."""
        self.skip(newlines=True)
        while self.peek() == ",":
            self.at += 1
            self.skip(newlines=True)
        if self.peek() in ("", close):
            self.at += 1
            return False
        return True

    def string(self) -> None:
        quote = next(q for q in _QUOTES if self.text.startswith(q, self.at))
        self.at += len(quote)
        while self.at < len(self.text) and not self.text.startswith(quote, self.at):
            self.at += 2 if quote[0] == '"' and self.text[self.at] == "\\" else 1
        self.at += len(quote)
        while len(quote) == 3 and self.peek() == quote[0]:  # a long string may end with quotes of its own
            self.at += 1

    def skip(self, *, newlines: bool = False) -> None:
        while (char := self.peek()) and (char in _BLANK or (newlines and char in "\n#")):
            if char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                self.at += 1

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def note(self, path: Path, offset: int) -> None:
        line = bisect_right(self.starts, offset)
        for size in range(1, len(path) + 1):
            self.lines.setdefault(path[:size], line)
