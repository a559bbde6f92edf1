"""The pages of the documentation, and the blocks of code in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

FENCE = re.compile(r"^(?P<tick>`{3,})(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=tick)$", re.M | re.S)
NOTE = re.compile(r"<!-- (?P<kind>not run|from|before it):(?P<said>(?:(?!-->).)*)-->\s*\Z", re.S)


class Block(NamedTuple):
    """One fenced block: where it stands, in which language, and what a comment right before it says about it.

    ``not run``: why. ``from``: the file in which its lines stand. ``before it``: Python that it needs to be run.
    """

    page: str
    line: int
    language: str
    text: str
    note: str = ""
    said: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """Return every page that a reader may open."""
    above = sorted(ROOT.glob("*.md"))
    return [*above, ROOT / "tests/README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks() -> Iterator[Block]:
    """Yield every block of code of every page, those that only build the pages left out."""
    for path in pages():
        page, text = path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
        for found in FENCE.finditer(text):
            if not found["info"].startswith("{"):
                line = text[: found.start()].count("\n") + 1
                note = NOTE.search(text[: found.start()])
                kind, said = (note["kind"], note["said"].strip()) if note else ("", "")
                yield Block(page, line, found["info"].strip(), found["text"], kind, said)
