"""How a drawing writes a change: added is green, solid, thick and marked ``+``; removed is red, dashed and marked
``-``; changed is amber, dotted, thick and marked ``~``. So each is told apart by sign, by line and by colour.
"""

from __future__ import annotations

from collections.abc import Iterable

from interlock.draw.diff_words import Mark
from interlock.draw.ink import coloured, lined, markup, quoted, wrapped

DIM = "#6e7781"
COLOURS: dict[Mark, str] = {"added": "#116329", "removed": "#a40e26", "changed": "#8a4600"}
SIGNS: dict[Mark, str] = {"added": "+ ", "removed": "- ", "changed": "~ "}
STYLES: dict[Mark, str] = {"added": "solid", "removed": "dashed", "changed": "dotted"}
WIDTHS: dict[Mark, float] = {"added": 2.4, "removed": 1.6, "changed": 2.4}


def colour(mark: Mark | None) -> str:
    """Return the colour of a change, or the grey of what is as it was."""
    return COLOURS[mark] if mark else DIM


def line(mark: Mark | None) -> str:
    """Return how the line of an arrow looks."""
    return f'color="{DIM}"' if mark is None else f"style={STYLES[mark]}, {_pen(mark)}"


def border(mark: Mark | None, kind_style: str) -> str:
    """Return how the border of a state looks, beside its shape."""
    styles = [*kind_style.split(","), *([STYLES[mark]] if mark else [])]
    return f'style="{",".join(filter(None, styles))}", {_pen(mark) if mark else f"color={quoted(DIM)}"}'


def note(text: str, mark: Mark, width: int) -> str:
    """Return a change as a block of small lines."""
    return lined(wrapped(SIGNS[mark] + text, width), COLOURS[mark])


def speech(heads: Iterable[str], tails: Iterable[str], mark: Mark | None) -> str:
    """Return the words of an arrow: ``heads`` behind the sign of their change, ``tails`` indented below."""
    sign = SIGNS[mark] if mark else ""
    lines = [part for head in heads for part in wrapped(sign + head, 36)]
    lines += [f"\u00a0\u00a0{part}" for tail in tails for part in wrapped(tail, 34)]
    return "".join(f"{coloured(markup(text), colour(mark))}<BR/>" for text in lines)


def legend() -> str:
    """Return the markup of what the lines mean: a box each, written as they are."""
    cells = [
        f'<TD BORDER="{WIDTHS[mark]:.0f}" STYLE="{STYLES[mark]}" COLOR="{COLOURS[mark]}">'
        f'<FONT POINT-SIZE="10" COLOR="{COLOURS[mark]}">{markup(SIGNS[mark] + mark)}</FONT></TD>'
        for mark in COLOURS
    ]
    cells.append(f'<TD BORDER="1" COLOR="{DIM}"><FONT POINT-SIZE="10" COLOR="{DIM}">as it was</FONT></TD>')
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="6" CELLPADDING="3"><TR>{"".join(cells)}</TR></TABLE>'


def _pen(mark: Mark) -> str:
    return f'penwidth={WIDTHS[mark]}, color="{COLOURS[mark]}"'
