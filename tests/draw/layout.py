"""What is wrong with how a picture is laid out: lines through words, words covered or cut off, letters too small.

Widths of letters are guessed with caution, because SVG leaves the font to whoever shows it.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

SVG = "{http://www.w3.org/2000/svg}"
A4 = (547.0, 794.0)
"""Points of a page of A4 within margins of about 8 mm."""

SLIM = frozenset(" !'()*,-./:;I[\\]fijlrt|")
NARROW, BROAD = 0.28, 0.5
"""Widths of letters in units of their size, below what the common sans-serif fonts have."""

SMALLEST = 5.0
"""Points of the smallest letters that people read on paper."""


class Box(NamedTuple):
    """Where something stands, and what it says."""

    left: float
    top: float
    right: float
    low: float
    said: str = ""

    def within(self, other: Box) -> bool:
        return other.left <= self.left and other.top <= self.top and self.right <= other.right and self.low <= other.low

    def over(self, other: Box) -> bool:
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.low <= other.top or other.low <= self.top)


def faults(svg: str) -> list[str]:
    """Return one sentence for each fault of the layout."""
    root = ET.fromstring(svg)
    texts = [_text(text) for text in root.iter(f"{SVG}text")]
    found = [f"a line runs through {box.said!r}" for box in texts if any(_in(box, at) for at in _lines(root))]
    found += [f"{one.said!r} stands over {other.said!r}" for one, other in combinations(texts, 2) if one.over(other)]
    canvas = _bounds(next(root.iter(f"{SVG}polygon")))
    found += [f"{box.said!r} is cut off" for box in texts if not box.within(canvas)]
    for node in _groups(root, "node"):
        borders = [_bounds(shape) for tag in ("polygon", "ellipse", "path") for shape in node.iter(f"{SVG}{tag}")]
        inside = [_text(text) for text in node.iter(f"{SVG}text")]
        found += [
            f"{box.said!r} is wider than its state" for box in inside for border in borders if not box.within(border)
        ]
    return sorted(set(found))


def letters_on_a4(svg: str) -> float:
    """Return the size in points of the smallest letters when the picture fills a page of A4, upright or across."""
    root = ET.fromstring(svg)
    width, height = (float(root.get(name, "0").removesuffix("pt")) for name in ("width", "height"))
    scale = max(min(a / width, b / height) for a, b in (A4, A4[::-1]))
    return min(1.0, scale) * min(float(text.get("font-size", "0")) for text in root.iter(f"{SVG}text"))


def _text(text: ET.Element) -> Box:
    x, y, size = (float(text.get(name, "0")) for name in ("x", "y", "font-size"))
    said = (text.text or "").lstrip("\u00a0")
    width = sum(NARROW if letter in SLIM else BROAD for letter in said) * size
    left = {"middle": x - width / 2, "end": x - width}.get(text.get("text-anchor", "start"), x + 1)
    return Box(left, y - size * 0.7, left + width - 1, y, said)


def _lines(root: ET.Element) -> list[tuple[float, float]]:
    paths = [path for edge in _groups(root, "edge") for path in edge.iter(f"{SVG}path")]
    return [point for path in paths for point in _points(path.get("d", ""))]


def _groups(root: ET.Element, kind: str) -> list[ET.Element]:
    return [group for group in root.iter(f"{SVG}g") if group.get("class") == kind]


def _in(box: Box, at: tuple[float, float]) -> bool:
    return box.left < at[0] < box.right and box.top < at[1] < box.low


def _bounds(shape: ET.Element) -> Box:
    if shape.tag == f"{SVG}ellipse":
        x, y, rx, ry = (float(shape.get(name, "0")) for name in ("cx", "cy", "rx", "ry"))
        return Box(x - rx, y - ry, x + rx, y + ry)
    spots = re.findall(r"(-?[\d.]+),(-?[\d.]+)", shape.get("points") or shape.get("d") or "")
    xs, ys = [float(x) for x, _ in spots], [float(y) for _, y in spots]
    return Box(min(xs), min(ys), max(xs), max(ys))


def _points(d: str) -> Iterator[tuple[float, float]]:
    """Return points along a path of Bezier curves."""
    spots = [tuple(map(float, spot.split(","))) for spot in re.findall(r"-?[\d.]+,-?[\d.]+", d)]
    for i in range(0, len(spots) - 3, 3):
        for step in range(33):
            t = step / 32
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            x, y = (sum(w * spot[axis] for w, spot in zip(weights, spots[i : i + 4], strict=True)) for axis in (0, 1))
            yield x, y
