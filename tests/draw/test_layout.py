"""Every picture, looked at by arithmetic: fit to read and fit to print. Each rule catches its fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.draw.diff import compared, difference
from interlock.draw.diff_dot import diff_dot
from interlock.draw.dot import dot
from interlock.draw.overview import overview
from interlock.draw.svg import render
from interlock.spec.build import built
from interlock.spec.plan import blueprint
from interlock.spec.read import read
from tests.draw.layout import SMALLEST, faults, letters_on_a4
from tests.draw.versions import GUARD, REMOVED, ROW, TARGET, changed

ROOT = Path(__file__).parents[2]
MACHINES = blueprint(read([str(ROOT / "machines")]))
TABLES = built(MACHINES)
BEFORE, AFTER = (blueprint(read([str(ROOT / "docs/examples" / side)])).plans for side in ("before", "after"))

PICTURES = {name: dot(table) for name, table in TABLES.items()}
PICTURES |= {
    f"{name}, now": dot(table, {state.name: "now: sess_Kt5pB20mXS8YQ7kf2MYRZQ.listen1, resp_1 and 3 more"})
    for name, table in TABLES.items()
    for state in [table.states[-2]]
}
PICTURES |= {"overview": overview(MACHINES), "docs/diff": diff_dot(compared(BEFORE, AFTER)[0])}
PICTURES |= {f"{plan.name}, added": diff_dot(difference(None, plan)) for plan in MACHINES.plans}
PICTURES |= {f"{plan.name}, the same": diff_dot(difference(plan, plan)) for plan in MACHINES.plans}
PICTURES |= {
    "door, four changes": diff_dot(changed(TARGET, REMOVED, ROW, GUARD)),
    "fence to lease": diff_dot(difference(MACHINES.machines["fence"], MACHINES.machines["lease"])),
    "worker to request": diff_dot(difference(MACHINES.machines["worker"], MACHINES.machines["request"])),
}


@pytest.mark.parametrize("name", PICTURES)
def test_no_line_runs_through_words_and_no_word_is_covered_or_cut_off(name: str) -> None:
    assert faults(render(PICTURES[name], "svg").decode()) == []


@pytest.mark.parametrize("name", [*TABLES, "overview", "docs/diff"])
def test_the_letters_can_be_read_on_a_page_of_a4(name: str) -> None:
    assert letters_on_a4(render(PICTURES[name], "svg").decode()) >= SMALLEST


PICTURE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{wide}pt" height="100pt"><g>
<polygon points="0,0 0,100 100,100 100,0"/>
<g class="node"><polygon points="10,10 10,30 {right},30 {right},10"/><text x="12" y="25" font-size="10">STATE</text></g>
<g class="node"><text x="{x}" y="{y}" font-size="10">Event</text></g>
<g class="edge"><path d="M50,30C50,50 50,60 {end},90"/></g></g></svg>"""
SOUND = {"wide": 100, "right": 60, "x": 60, "y": 70, "end": 50}


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({}, []),
        ({"x": 40}, ["a line runs through 'Event'"]),
        ({"x": 14, "y": 24}, ["'STATE' stands over 'Event'"]),
        ({"x": 90}, ["'Event' is cut off"]),
        ({"right": 20}, ["'STATE' is wider than its state"]),
    ],
)
def test_each_rule_catches_its_fault(wrong: dict[str, int], fault: list[str]) -> None:
    assert faults(PICTURE.format(**(SOUND | wrong))) == fault


def test_a_wide_picture_has_small_letters() -> None:
    assert letters_on_a4(PICTURE.format(**SOUND)) == 10
    assert letters_on_a4(PICTURE.format(**(SOUND | {"wide": 1588}))) == 5
