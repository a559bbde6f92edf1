"""Tables in plain text."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Lay rows out under their head: the first column to the left, numbers to the right. No rows, no lines."""
    cells = [list(head)] + [["" if cell == 0 else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = []
    for row in cells if rows else ():
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join(["", first.strip().ljust(widths[0]), *others]).rstrip())
    return lines
