"""DOT text: what is drawn how, in the order of the table, and nothing in a name that DOT would act on."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from interlock.draw.dot import MARK, dot, markup, quoted
from interlock.draw.sketch import Arrow, Cause, Group, arrows, words
from interlock.machine import Message, Row, StateInfo, Table
from interlock.spec.build import built
from tests.spec.house import house

TABLES = built(house())
DOOR, BELL = TABLES["door"], TABLES["bell"]


def arrow(start: str, end: str, cancels: bool = False) -> Arrow:
    """Return one arrow of the door."""
    return next(one for one in arrows(DOOR) if (one.start, one.end, one.cancels) == (start, end, cancels))


def node(name: str, table: Table = DOOR) -> str:
    """Return the line that draws a state."""
    return next(line for line in dot(table).splitlines() if line.startswith(f'    "{name}" [shape='))


def test_rows_to_another_state_are_arrows_with_guard_and_emits() -> None:
    assert arrow("SHUT", "OPENING").groups == (Group((Cause("event", "OpenAsked\u00a0[is_known]"),), ("StartMotor",)),)


def test_rows_between_the_same_states_share_an_arrow() -> None:
    assert arrow("OPEN", "SHUT").groups == (
        Group((Cause("event", "ShutAsked"), Cause("timer", "after open_s: OpenOverdue")), ()),
    )


def test_a_cancel_has_an_arrow_of_its_own_and_is_dashed() -> None:
    assert arrow("OPENING", "SHUT", cancels=True).groups == (Group((Cause("cancel", "cancel"),), ()),)
    red = [line for line in dot(DOOR).splitlines() if "style=dashed" in line]
    assert red == [
        '    "SHUT" -> "OPENING -> SHUT, cancel" [dir=back, style=dashed, color="#a40e26"];',
        '    "OPENING -> SHUT, cancel" -> "OPENING" [dir=none, style=dashed, color="#a40e26"];',
    ]


def test_a_machine_that_exists_once_begins_at_a_dot_and_an_instance_with_its_birth() -> None:
    assert arrows(DOOR)[0] == Arrow("", "SHUT", False, ())
    assert arrows(BELL)[0] == Arrow("", "RINGING", False, (Group((Cause("birth", "BellRung"),), ("PlaySound",)),))
    assert '    "(birth)" -> "SHUT";' in dot(DOOR).splitlines()


def test_causes_that_emit_nothing_stand_behind_those_that_do() -> None:
    assert [group.emits for group in arrows(BELL)[1].groups] == [("BellAnswered",), ()]
    assert arrows(BELL)[1].groups[1].causes == (Cause("event", "BellHeard\u00a0[else]"),)


def test_rows_that_stay_are_words_in_the_state() -> None:
    said = {info.name: words(DOOR, info) for info in DOOR.states}
    assert said["SHUT"] == (
        "OpenAsked\u00a0[else] / BellRung",
        "refuses ShutAsked: already_shut",
        "ignores MotorDone, BellAnswered",
    )
    assert said["OPEN"] == ("OpenAsked / rearm OpenOverdue after open_left_s", "ignores MotorDone, BellAnswered")
    assert said["STUCK"][:2] == ("awaits Turn", "shielded: only the motor knows where the door is")


def test_shapes_tell_the_kinds_apart() -> None:
    assert 'shape=box, style="rounded,filled"' in node("SHUT")
    assert "shape=box, peripheries=2" in node("OPENING")
    assert "shape=octagon" in node("STUCK")
    assert "shape=ellipse, peripheries=2" in node("GONE")


def test_the_text_says_how_it_is_made_and_from_which_hash() -> None:
    assert dot(DOOR).splitlines()[:3] == [
        f"// {MARK}house/door.toml; never edited.",
        f"// sha256: {DOOR.sha256}",
        'digraph "door" {',
    ]


def test_states_come_in_the_order_of_the_table_and_the_text_is_stable() -> None:
    names = re.findall(r'^    "([A-Z_]+)" \[shape=', dot(DOOR), flags=re.MULTILINE)
    assert names == [info.name for info in DOOR.states]
    assert dot(DOOR) == dot(replace(DOOR))


def test_an_arrow_up_the_drawing_is_laid_out_downwards() -> None:
    lines = dot(DOOR).splitlines()
    assert '    "SHUT" -> "OPEN -> SHUT" [dir=back];' in lines
    assert '    "OPEN -> SHUT" -> "OPEN" [dir=none];' in lines


NASTY = ['say "hi"', "a\nb", "<B>", "-->", "a & b", "back\\slash", "\\l", "]; evil [", "tab\there", "\x00", "ü→🚪", ""]


def odd(text: str) -> Table:
    """Return a table in which every text is ``text``."""
    event = type(text or "Nameless", (Message,), {"__slots__": ()}) if text.isprintable() else Message
    return Table(
        name=text,
        doc=text,
        initial="A",
        final=(text,),
        states=(StateInfo("A", "shielded", text, work=text, shielded=text), StateInfo(f"B{text}", "final", text)),
        rows=(Row("A", event, guard=text, to=f"B{text}", emit=(text,)), Row("A", event, refuse=text)),
        events=(event,),
        source=text,
    )


@pytest.mark.parametrize("text", NASTY)
def test_no_name_breaks_out_of_its_quotes(text: str) -> None:
    lines = dot(odd(text)).splitlines()
    assert lines[0].startswith(f"// {MARK}")
    assert lines[2].startswith("digraph ")
    assert lines[-1] == "}"
    for line in lines[3:-1]:
        assert line == "" or line.endswith(";")


def test_what_is_special_is_escaped() -> None:
    assert quoted('a "b" \\ \n c') == '"a \\"b\\" \\\\ c"'
    assert markup('<B> & "q" --> x') == "&#60;B&#62; &#38; &#34;q&#34; --&#62; x"
