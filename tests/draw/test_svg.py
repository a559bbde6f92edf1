"""SVG: Graphviz draws what DOT says, no line runs through words, and the picture says what it was made from."""

from __future__ import annotations

import builtins
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import pytest

from interlock.draw.dot import dot
from interlock.draw.svg import NoGraphviz, digest, drawn_from, render, svg
from interlock.tables import TABLES
from tests.draw.test_dot import NASTY, odd

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_carries_the_hash_of_its_dot() -> None:
    text = dot(TABLES["lease"])
    assert drawn_from(svg(text)) == digest(text)
    assert drawn_from("<svg></svg>") is None


@pytest.mark.parametrize("text", NASTY)
def test_graphviz_reads_whatever_a_table_says(text: str) -> None:
    root = ET.fromstring(svg(dot(odd(text))))
    assert len([group for group in root.iter(f"{SVG}g") if group.get("class") == "node"]) == 4


@pytest.mark.parametrize("name", TABLES)
def test_every_state_event_guard_and_emit_is_in_the_picture(name: str) -> None:
    table = TABLES[name]
    said = " ".join(text.text or "" for text in ET.fromstring(svg(dot(table))).iter(f"{SVG}text"))
    words = set(re.findall(r"\w+", said))
    names = {info.name for info in table.states} | {row.guard for row in table.rows if row.guard}
    names |= {row.event.__name__ for row in table.rows if row.event.__name__ != "Cancelled"}
    names |= {emit for row in table.rows for emit in row.emit}
    assert names - words == set()


@pytest.mark.parametrize("name", TABLES)
def test_no_line_runs_through_words(name: str) -> None:
    root = ET.fromstring(render(dot(TABLES[name]), "svg"))
    lines = [point for path in root.iter(f"{SVG}path") if _is_edge(root, path) for point in _points(path.get("d", ""))]
    words = [box for text in root.iter(f"{SVG}text") for box in [_box(text)]]
    crossed = {said for left, top, right, low, said in words for x, y in lines if left < x < right and top < y < low}
    assert crossed == set()


def _is_edge(root: ET.Element, path: ET.Element) -> bool:
    return any(path in list(group) for group in root.iter(f"{SVG}g") if group.get("class") == "edge")


def _box(text: ET.Element) -> tuple[float, float, float, float, str]:
    """Return where a text stands, from a cautious guess at the width of its letters."""
    x, y, size = (float(text.get(name, "0")) for name in ("x", "y", "font-size"))
    said = (text.text or "").lstrip("\u00a0")
    return x + 1, y - size * 0.7, x + len(said) * size * 0.45, y, said


def _points(d: str) -> Iterator[tuple[float, float]]:
    """Return points along a path of Bezier curves."""
    spots = [tuple(map(float, spot.split(","))) for spot in re.findall(r"-?[\d.]+,-?[\d.]+", d)]
    for i in range(0, len(spots) - 3, 3):
        for step in range(33):
            t = step / 32
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            x, y = (sum(w * spot[axis] for w, spot in zip(weights, spots[i : i + 4], strict=True)) for axis in (0, 1))
            yield x, y


def test_without_graphviz_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "pygraphviz":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "pygraphviz", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(NoGraphviz, match=r"pip install 'interlock\[diagrams\]'"):
        svg("digraph {}")
