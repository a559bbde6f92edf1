from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

from interlock.demo import picture, shapes
from interlock.demo.evidence import moves
from interlock.demo.recordings import Recording
from interlock.demo.script import Utterance
from tests.demo.story import told

NAMESPACE = "{http://www.w3.org/2000/svg}"


def words_of(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")]


def test_all_that_comes_from_outside_is_escaped() -> None:
    nasty = "</text><script>alert('&\"')</script>"
    said = Utterance(1.0, 2.0, Recording("x", nasty, b"\1\2" * 16000))
    svg = picture.draw(told(), [said], 0.0)
    assert nasty in words_of(svg)
    assert "<script" not in svg


def test_attributes_and_tooltips_are_escaped() -> None:
    drawn = shapes.rect(0, 0, 1, 1, "\"'><a/>", "<b> & c")
    element = ElementTree.fromstring(drawn)
    assert (element.attrib["fill"], element[0].text) == ("\"'><a/>", "<b> & c")


def test_the_lanes_and_the_three_moments_are_there() -> None:
    words = words_of(picture.draw(told(), [], 0.0))
    lanes = ["user", "reply heard", "client A", "client B", "attachment", "response", "fence", "session"]
    assert [word for word in words if word in lanes] == lanes
    assert [word.split(",")[0] for word in words if ", " in word and word.endswith(" s")] == [
        "barge-in",
        "connection torn",
        "taken over",
    ]
    assert "reply 2, stopped" in words


def test_connections_end_as_they_did() -> None:
    spans = picture.connections(list(moves(told().trace)))
    assert [(span.name, span.cause) for span in spans] == [
        ("opened", "torn"),
        ("resumed", "session.replaced"),
        ("resumed", "session.closed"),
    ]


def test_a_conversation_without_any_sound_can_be_drawn(tmp_path: Path) -> None:
    picture.save(tmp_path / "t.svg", replace(told(), received=told().received[:1]), [], 0.0)
    assert (tmp_path / "t.svg").read_text().startswith("<svg")


def test_names_that_are_too_close_are_joined() -> None:
    short = [(10.0, "ACTIVATING"), (12.0, "REPLAYING"), (200.0, "CLOSED")]
    assert picture.clusters(short) == [(10.0, "ACTIVATING, REPLAYING"), (200.0, "CLOSED")]
