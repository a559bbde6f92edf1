"""The few SVG elements that the picture is made of. Every word that comes from outside is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

FONT = "font-family='DejaVu Sans, Verdana, sans-serif'"
CHARACTER = 0.62
"""Width of a character, as a part of the font's size: enough for the widest of our fonts."""


def attributes(**named: object) -> str:
    """Write attributes; ``_`` in a name is ``-``."""
    return " ".join(f"{name.replace('_', '-')}={quoteattr(_number(value))}" for name, value in named.items())


def rect(x: float, y: float, width: float, height: float, fill: str, title: str = "", **more: object) -> str:
    """Draw a box, with a tooltip."""
    tip = f"<title>{escape(title)}</title>" if title else ""
    return f"<rect {attributes(x=x, y=y, width=max(width, 0), height=height, fill=fill, **more)}>{tip}</rect>"


def line(x1: float, y1: float, x2: float, y2: float, stroke: str, **more: object) -> str:
    """Draw a line."""
    return f"<line {attributes(x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **more)}/>"


def text(x: float, y: float, words: str, size: float = 11, fill: str = "#222", **more: object) -> str:
    """Write words, from ``x`` on unless ``text_anchor`` says otherwise."""
    return f"<text {attributes(x=x, y=y, font_size=size, fill=fill, **more)}>{escape(words)}</text>"


def area(points: Iterable[tuple[float, float]], middle: float, fill: str) -> str:
    """Fill between ``middle`` plus and minus each height: an envelope. Points are (x, height)."""
    above = [(x, middle - height) for x, height in points]
    below = [(x, 2 * middle - y) for x, y in reversed(above)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in above + below)
    return f"<polygon {attributes(points=path, fill=fill)}/>"


def width_of(words: str, size: float = 11) -> float:
    """Return about how wide words are."""
    return len(words) * size * CHARACTER


def document(width: float, height: float, elements: Sequence[str], title: str) -> str:
    """Put elements together as one SVG file."""
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' width='{width:g}' {FONT}>"
    ground = rect(0, 0, width, height, "#ffffff")
    return "\n".join([head, f"<title>{escape(title)}</title>", ground, *elements, "</svg>", ""])


def _number(value: object) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
