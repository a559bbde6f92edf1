"""SVG: Graphviz draws what DOT says, and the picture says what it was made from."""

from __future__ import annotations

import builtins
import re
import sys
import xml.etree.ElementTree as ET
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


def test_a_drawing_is_a_png_and_a_pdf_as_well() -> None:
    text = dot(TABLES["lease"])
    assert render(text, "png").startswith(b"\x89PNG")
    assert render(text, "pdf").startswith(b"%PDF")


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
