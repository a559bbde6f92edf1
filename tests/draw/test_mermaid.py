"""Mermaid: what GitHub shows. Every name is escaped, and one row more is one line more."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from interlock.draw.mermaid import STYLES, mermaid, mermaid_overview, shown
from interlock.machine import Table
from interlock.spec.build import built
from interlock.tables import TABLES
from tests.draw.test_dot import NASTY, odd
from tests.spec.house import house

DOOR = built(house())["door"]
TEXT = r"(?:[\w .,/()\[\]=+\-]|\#\d+;)*"
LABEL = rf"{TEXT}(?:<br/>{TEXT})*"
LINE = re.compile(
    rf"""%%\ .*|stateDiagram-v2|flowchart\ TB|\ {{4}}(?:
    acc(?:Title|Descr):\ {TEXT} | classDef\ \w+\ [\w:\#, -]+ | class\ \w+\ \w+ | \w+\ :\ {TEXT}
    | (?:\w+|\[\*\])\ -->\ (?:\w+|\[\*\])(?:\ :\ {LABEL})?
    | \w+\["<b>{TEXT}</b>(?:<br/>{TEXT})*"\] | \w+\ -->\|"{LABEL}"\|\ \w+)""",
    re.VERBOSE,
)


def lines(table: Table) -> list[str]:
    return [line.strip() for line in mermaid(table).splitlines()]


def test_states_arrows_and_the_words_in_a_state() -> None:
    assert "s_SHUT : OpenAsked [else] / BellRung" in lines(DOOR)
    assert "s_SHUT --> s_OPENING : OpenAsked [is_known] / StartMotor" in lines(DOOR)
    assert "s_OPEN --> s_SHUT : ShutAsked<br/>after open_s#58; OpenOverdue" in lines(DOOR)
    assert "[*] --> s_SHUT" in lines(DOOR)


def test_kinds_are_told_apart_by_border_and_words_not_by_colour() -> None:
    assert not any("fill" in STYLES[kind] or "#" in STYLES[kind] for kind in ("awaiting", "shielded"))
    assert {"class s_OPENING awaiting", "class s_STUCK shielded", "s_GONE --> [*]"} <= set(lines(DOOR))
    assert "s_STUCK : shielded#58; only the motor knows where the door is" in lines(DOOR)
    assert not any(line.startswith("class s_SHUT") for line in lines(DOOR))


def test_a_cancel_shares_the_arrow_between_the_same_states() -> None:
    assert "s_OPENING --> s_SHUT : cancel" in lines(DOOR)
    both = [line for line in lines(TABLES["attachment"]) if line.startswith("s_REPLAYING --> s_ROLLED_BACK")]
    assert len(both) == 1
    assert "cancel / " in both[0]
    assert "<br/>TransportLost / " in both[0]


def test_the_state_of_now_is_marked_and_says_so() -> None:
    text = mermaid(DOOR, {"OPENING": "now: a"})
    assert "    s_OPENING : now#58; a" in text.splitlines()
    assert "    class s_OPENING now" in text.splitlines()


@pytest.mark.parametrize("text", [*NASTY, "end", "state", "%% x", "`fence`", "a;b", "{", "classDef x fill:#fff;"])
def test_every_line_is_of_the_grammar_whatever_a_name_says(text: str) -> None:
    assert [line for line in mermaid(odd(text)).splitlines() if not LINE.fullmatch(line)] == []


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_line_of_ours_is_of_the_grammar(table: Table) -> None:
    assert [line for line in mermaid(table).splitlines() if not LINE.fullmatch(line)] == []


def test_the_overview_is_a_flowchart() -> None:
    text = mermaid_overview(house())
    assert [line for line in text.splitlines() if not LINE.fullmatch(line)] == []
    assert '    m_door -->|"BellRung"| m_bell' in text.splitlines()
    assert "from client#58; OpenAsked, ShutAsked" in text


def test_names_that_are_alike_stay_apart() -> None:
    first, *others = DOOR.states
    twins = replace(DOOR, states=(replace(first, name="SHUT!"), replace(first, name="SHUT?"), first, *others))
    ids = re.findall(r"^    (s_SHUT_*) : SHUT", mermaid(twins), flags=re.MULTILINE)
    assert sorted(set(ids)) == ["s_SHUT", "s_SHUT_", "s_SHUT__"]


def test_an_empty_text_is_still_a_text() -> None:
    assert shown("") == "#32;"
    assert shown("\n<b>") == "#60;b#62;"
