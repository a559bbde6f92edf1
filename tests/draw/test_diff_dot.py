"""The drawing of a difference: sign, line and colour of what came, went and changed; a changed target drawn twice."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from interlock.draw.diff import Difference, difference
from interlock.draw.diff_dot import MARK, diff_dot
from interlock.draw.diff_ink import COLOURS, SIGNS, STYLES
from interlock.draw.svg import svg
from interlock.spec.plan import Plan
from interlock.spec.read import parse
from tests.draw.versions import GUARD, REMOVED, ROW, TARGET, changed, door
from tests.spec.house import BELL

SVG = "{http://www.w3.org/2000/svg}"


def edges(one: Difference) -> dict[str, str]:
    """Return the look of each arrow that has one of its own, by the node that holds its words."""
    halves = re.findall(r'"([^"]* -> [^"]*, (?:added|removed|changed))" -> "[^"]*" \[dir=\w+, (.*)\];', diff_dot(one))
    return dict(halves)


def state(one: Difference, name: str) -> str:
    return next(line for line in diff_dot(one).splitlines() if line.startswith(f'    "{name}" [shape='))


def test_sign_line_and_colour_each_tell_the_three_apart() -> None:
    for told in (SIGNS, STYLES, COLOURS):
        assert len(set(told.values())) == 3


def test_a_changed_target_is_drawn_where_it_led_and_where_it_leads() -> None:
    assert edges(changed(TARGET)) == {
        "OPENING -> SHUT, changed": f'style=dotted, penwidth=2.4, color="{COLOURS["changed"]}"',
        "OPENING -> STUCK, removed": f'style=dashed, penwidth=1.6, color="{COLOURS["removed"]}"',
    }
    text = diff_dot(changed(TARGET))
    assert "now to SHUT" in text
    assert "to STUCK -&#62; SHUT" in text


def test_an_arrow_that_is_gone_and_one_that_is_new() -> None:
    assert list(edges(changed(REMOVED))) == ["OPEN -> SHUT, removed"]
    assert list(edges(difference(door(REMOVED), door()))) == ["OPEN -> SHUT, changed"]
    assert list(edges(changed(('cancel   = { to = "SHUT" }', "")))) == ["OPENING -> SHUT, removed"]


def test_a_changed_row_says_what_changed() -> None:
    text = diff_dot(changed(ROW))
    assert "~ ShutAsked" in text
    assert "emits + StartMotor" in text
    assert "assigns + turn" in text
    assert "guard is_known -&#62; is_welcome" in diff_dot(changed(GUARD))


def test_states_that_came_went_and_changed() -> None:
    ajar = ("[state.OPEN]", '[state.AJAR]\ndoc = "A bit."\non.ShutAsked = { to = "SHUT" }\n\n[state.OPEN]')
    assert "+ AJAR" in state(changed(ajar), "AJAR")
    assert "rounded,solid" in state(changed(ajar), "AJAR")
    gone = difference(door(ajar), door())
    assert "- AJAR" in state(gone, "AJAR")
    assert "rounded,dashed" in state(gone, "AJAR")
    doc = changed(('"Nobody gets in."', '"Closed."'))
    assert "~ SHUT" in state(doc, "SHUT")
    assert "rounded,dotted" in state(doc, "SHUT")
    assert "~ " not in state(doc, "OPEN")


def test_what_changed_within_a_state_is_marked_there() -> None:
    one = changed(('ignore = ["MotorDone", "BellAnswered"]', 'ignore = ["MotorDone"]'))
    assert "- ignores BellAnswered" in state(one, "SHUT")
    assert "ignores MotorDone" in state(one, "SHUT")


def test_messages_and_settings_stand_under_the_title_with_the_legend() -> None:
    text = diff_dot(changed(('settings = ["motor_s"]', 'settings = ["open_s", "motor_s"]'))).splitlines()
    title = next(line for line in text if "labelloc=t" in line)
    assert "~ machine: settings + open_s" in title
    assert all(word in title for word in ("+ added", "- removed", "changed", "as it was", "dashed", "dotted"))


def test_a_target_that_is_no_state_is_drawn_all_the_same() -> None:
    odd = changed(('on.MotorOverdue = { to = "STUCK" }', 'on.MotorOverdue = { to = "NOWHERE" }'))
    assert "label=<<FONT COLOR" in state(odd, "NOWHERE")
    ET.fromstring(svg(diff_dot(odd)))


@pytest.mark.parametrize("sides", [(None, "door"), ("door", None), ("door", "bell"), ("bell", "door"), ("bell", None)])
def test_any_two_machines_can_be_drawn(sides: tuple[str | None, str | None]) -> None:
    plans = {"door": door(), "bell": Plan(parse("house/bell.toml", BELL)), None: None}
    one = difference(*(plans[side] for side in sides))
    root = ET.fromstring(svg(diff_dot(one)))
    said = " ".join(text.text or "" for text in root.iter(f"{SVG}text"))
    names = {name for side in sides for name in (plans[side].form.state if plans[side] else ())}  # type: ignore[union-attr]
    assert [name for name in names if name not in said] == []


def test_the_head_names_both_sides_and_their_hashes() -> None:
    one = changed(TARGET)
    assert one.old is not None
    assert one.new is not None
    assert diff_dot(one).splitlines()[:2] == [
        f"// {MARK}house/door.toml -> house/door.toml; never edited.",
        f"// sha256: {one.old.source.sha256} -> {one.new.source.sha256}",
    ]
    assert diff_dot(difference(None, door())).startswith(f"// {MARK}nothing -> house/door.toml")


def test_the_drawing_is_the_same_each_time() -> None:
    assert diff_dot(changed(TARGET, ROW)) == diff_dot(changed(TARGET, ROW))
