"""Whatever two careless edits make of a machine: the difference is told, drawn and read, and is none to itself."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.draw.diff import difference
from interlock.draw.diff_dot import diff_dot
from interlock.draw.diff_text import markdown, text
from interlock.draw.svg import svg
from interlock.spec.finding import Faulty, Unusable
from interlock.spec.plan import Plan
from interlock.spec.read import parse
from tests.draw.layout import faults
from tests.spec.test_never_traceback import EDIT, edited

EDITS = st.lists(EDIT, max_size=3)


def plan(edits: list[tuple[str, int, int]]) -> Plan | None:
    try:
        return Plan(parse("house/door.toml", edited(edits)))
    except (Faulty, Unusable):
        return None


@settings(max_examples=300, deadline=None)
@given(EDITS, EDITS)
def test_any_two_versions_can_be_compared(
    before: list[tuple[str, int, int]], after: list[tuple[str, int, int]]
) -> None:
    old, new = plan(before), plan(after)
    if old is None or new is None:
        return
    there, back = difference(old, new), difference(new, old)
    assert len(there.changes) == len(back.changes)
    assert bool(there.changes) <= (old.source.text != new.source.text)
    assert difference(new, new).changes == ()
    lines = list(text([there]))
    assert len(lines) == len(there.changes) + 1
    assert all(line.isprintable() for line in lines)
    assert markdown([there], "a", "b").count("```") == (2 if there.changes else 0)
    assert diff_dot(there).endswith("}\n")


@settings(max_examples=40, deadline=None)
@given(EDITS, EDITS)
def test_any_difference_can_be_drawn_and_read(
    before: list[tuple[str, int, int]], after: list[tuple[str, int, int]]
) -> None:
    old, new = plan(before), plan(after)
    if old is not None and new is not None:
        drawing = svg(diff_dot(difference(old, new)))
        assert ET.fromstring(drawing).tag.endswith("svg")
        assert [fault for fault in faults(drawing) if "cut off" in fault or "stands over" in fault] == []
