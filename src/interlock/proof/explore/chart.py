"""A path as a sequence chart: in text for a terminal, and as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from interlock.proof.explore.model import Letter
from interlock.proof.explore.replay import Replayed

GAP = 12
"""Characters between two lifelines."""


class Row(NamedTuple):
    """One line of a chart: the number of its move (0 if it is not the first of it), from where to where, and a text."""

    number: int
    sender: int
    receiver: int
    text: str


def rows_of(replay: Replayed, lifelines: Sequence[str]) -> list[Row]:
    """Return the lines of a chart. A letter from or to an unknown place stands in the last column."""
    place = {name: index for index, name in enumerate(lifelines)}
    found: list[Row] = []
    for number, step in enumerate(replay.steps, 1):
        letters = step.letters or (Letter(lifelines[-1], lifelines[-1], step.label),)
        for index, letter in enumerate(letters):
            ends = [place.get(end, len(lifelines) - 1) for end in (letter.sender, letter.receiver)]
            found.append(Row(0 if index else number, ends[0], ends[1], letter.text))
    return found


def text_chart(replay: Replayed, lifelines: Sequence[str]) -> str:
    """Return the chart as text: one letter a line, an arrow between two lifelines or a mark on one."""
    columns = [6 + GAP * index for index in range(len(lifelines))]
    width = columns[-1] + GAP // 2
    head = [" "] * (width + GAP)
    for column, name in zip(columns, lifelines, strict=True):
        start = max(column - len(name) // 2, 0)
        head[start : start + len(name)] = name
    lines = ["".join(head).rstrip()]
    lines += [_line(row, columns, width) for row in rows_of(replay, lifelines)]
    lines += [f"      => {sentence}" for sentence in replay.broken]
    return "\n".join(lines)


def _line(row: Row, columns: Sequence[int], width: int) -> str:
    line = [" "] * width
    for column in columns:
        line[column] = "|"
    start, end = sorted((columns[row.sender], columns[row.receiver]))
    if start == end:
        line[start] = "*"
    else:
        line[start + 1 : end] = "-" * (end - start - 1)
        line[end - 1 if row.receiver > row.sender else start + 1] = ">" if row.receiver > row.sender else "<"
    if row.number:
        label = str(row.number)
        line[: len(label)] = label
    return f"{''.join(line)} {row.text}"


# --------------------------------------------------------------------------------------------------------------- SVG

FONT = 'font-family="Helvetica, Arial, sans-serif" font-size="12"'
STEP, SIDE, TOP, WIDE = 22, 46, 44, 150


def svg_chart(replay: Replayed, lifelines: Sequence[str], title: str) -> str:
    """Return the chart as SVG."""
    rows = rows_of(replay, lifelines)
    right = SIDE + WIDE * (len(lifelines) - 1)
    width = right + 30 + 7 * max([len(row.text) for row in rows] + [len(text) for text in replay.broken] + [20])
    height = TOP + STEP * (len(rows) + len(replay.broken) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {FONT}>',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *_lifelines(lifelines, TOP + STEP * (len(rows) + 0.5)),
    ]
    for index, row in enumerate(rows):
        parts += _drawn(row, TOP + STEP * (index + 1), right)
    for index, sentence in enumerate(replay.broken):
        y = TOP + STEP * (len(rows) + index + 1)
        parts.append(f'<text x="{SIDE}" y="{y + 4}" fill="#b3261e" font-weight="bold">{escape(sentence)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _lifelines(lifelines: Sequence[str], bottom: float) -> Iterator[str]:
    for index, name in enumerate(lifelines):
        x = SIDE + WIDE * index
        yield f'<text x="{x}" y="20" text-anchor="middle" font-weight="bold">{escape(name)}</text>'
        yield f'<line x1="{x}" y1="28" x2="{x}" y2="{bottom}" stroke="#b0b0b0"/>'


def _drawn(row: Row, y: int, right: int) -> Iterator[str]:
    if row.number:
        yield f'<text x="6" y="{y + 4}" fill="#707070">{row.number}</text>'
    start, end = SIDE + WIDE * row.sender, SIDE + WIDE * row.receiver
    if start == end:
        yield f'<circle cx="{start}" cy="{y}" r="3.5" fill="#404040"/>'
    else:
        tip = -7 if end > start else 7
        yield f'<line x1="{start}" y1="{y}" x2="{end + tip}" y2="{y}" stroke="#404040"/>'
        yield f'<path d="M {end} {y} l {tip} -4 v 8 z" fill="#404040"/>'
    yield f'<text x="{right + 20}" y="{y + 4}">{escape(row.text)}</text>'
