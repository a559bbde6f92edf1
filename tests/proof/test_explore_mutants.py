"""Mutants: each is planted, and the shortest path that was recorded when it was found still shows it.

`interlock explore --mutants --record` looks for all of them again and writes the paths anew.
"""

from __future__ import annotations

import contextlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from interlock.proof.explore.chart import text_chart
from interlock.proof.explore.kill import killed_in
from interlock.proof.explore.mutant import Mutant, Unplantable, changed, planted, written
from interlock.proof.explore.mutate import generated
from interlock.proof.explore.reach import Reach
from interlock.proof.explore.replay import Unplayable, replayed
from interlock.proof.explore.search import Limits, search
from interlock.proof.explore.survivors import explained
from interlock.proof.explore.verdict import judged
from interlock.proof.mutants_cli import one
from interlock.proof.world.bounds import WORLDS
from interlock.proof.world.model import SessionWorld
from interlock.proof.world.properties import ALWAYS
from interlock.session import decide as core

FOLDER = Path(__file__).parent.parent / "mutants"
MACHINES = str(FOLDER.parent.parent / "machines")
MUTANTS = {mutant.name: mutant for mutant in written(str(FOLDER))}
RECORDED: dict[str, dict[str, Any]] = json.loads((FOLDER / "paths.json").read_text("utf-8"))
SHOWN = [name for name, kill in RECORDED.items() if kill["finds"] in ALWAYS]


def made(name: str) -> Mutant:
    return next(mutant for mutant in generated(core.COMPOSITION.machines) if mutant.name == name)


@cache
def world(name: str) -> SessionWorld:
    return SessionWorld(name, WORLDS[name], f"{MACHINES}/world")


def test_every_mutant_is_found_or_says_why_it_cannot_be() -> None:
    assert set(RECORDED) == {mutant.name for mutant in MUTANTS.values() if not mutant.survives}


@pytest.mark.parametrize("name", SHOWN)
def test_the_recorded_path_shows_the_mutant_and_nothing_else(name: str) -> None:
    kill = RECORDED[name]
    with planted(MUTANTS[name], MACHINES):
        assert kill["finds"] in replayed(world(kill["world"]), kill["path"]).names
    with contextlib.suppress(Unplayable):  # without the fault it does not even come so far
        assert replayed(world(kill["world"]), kill["path"]).names == ()


def test_attached_clears_presented_fails_with_a_chart() -> None:
    kill = one(MUTANTS["ATTACHED clears presented"], MACHINES)
    assert (kill.finds, len(kill.path)) == ("promise 3", 6)
    with planted(kill.mutant, MACHINES):
        replay = replayed(world(kill.world), kill.path)
    chart = text_chart(replay, world(kill.world).lifelines)
    assert "ResumeRequested(claim=2, token=T0, position=1)" in chart
    assert chart.splitlines()[-1].startswith("      => promise 3: ReplayDelivered is no proof")


def test_a_mutant_is_gone_when_its_block_is_left() -> None:
    before = core.COMPOSITION
    with planted(MUTANTS["AT-01"], MACHINES):
        assert core.COMPOSITION is not before
    assert core.COMPOSITION is before


def test_a_line_that_is_not_there_or_stands_twice_is_refused() -> None:
    mutant = Mutant("x", "x", "a.toml", "line", "other")
    with pytest.raises(Unplantable, match="has no line"):
        changed("nothing", mutant)
    with pytest.raises(Unplantable, match="more than once"):
        changed("line line", mutant)


def test_mutants_are_made_of_every_row_that_does_something() -> None:
    mutants = generated(core.COMPOSITION.machines)
    assert len({mutant.name for mutant in mutants}) == len(mutants)
    assert {mutant.file for mutant in mutants} == {f"{name}.toml" for name in core.COMPOSITION.machines}


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("attachment ACTIVATING Cancelled: has no landing", "claim"),
        ("fence OPEN EpochEnded if owes: drops VoidOutput", "answer"),
    ],
)
def test_a_made_mutant_is_found(name: str, where: str) -> None:
    assert one(made(name), MACHINES, [where]).finds


@pytest.fixture(scope="module")
def overlap() -> Reach:
    return Reach(world("overlap"))


@pytest.mark.timeout_s(240)
@pytest.mark.parametrize(
    "which", ["fence OPEN EpochEnded: stays", "session OPEN StageLost if is_answered_by: drops EpochEnded"]
)
def test_what_the_fault_is_not_about_may_be_copied(overlap: Reach, which: str) -> None:
    mutant = made(which)
    assert mutant.at is not None
    with planted(mutant, MACHINES):
        whole = search(world("overlap"), stop_at_first=True)
        copied = overlap.with_fault(mutant.at, Limits())
    assert copied is not None
    assert (copied.states, copied.steps, copied.depth) == (whole.states, whole.steps, whole.depth)
    assert (set(copied.keys), copied.violations.keys()) == (set(whole.keys), whole.violations.keys())
    assert [finding.verdict for finding in judged(copied).findings] == [one.verdict for one in judged(whole).findings]


@pytest.mark.timeout_s(240)
def test_a_world_in_which_no_step_leads_elsewhere_is_the_same(overlap: Reach) -> None:
    (mutant,) = (
        made for made in generated(core.COMPOSITION.machines) if made.name == "lease HELD LeaseDetached: stays"
    )
    assert overlap.graph.steps == 27_015
    assert overlap.with_fault(("lease", "HELD", "LeaseDetached"), Limits()) is None
    with planted(mutant, MACHINES):
        assert overlap.with_fault(("fence", "OPEN", "EpochEnded"), Limits()) is None
    kill = killed_in(mutant, {"overlap": overlap}, MACHINES)
    assert (kill.finds, kill.seen) == ("", "no step of any world leads elsewhere")


def test_a_survivor_has_a_reason_in_the_file_and_each_name_there_is_made(tmp_path: Path) -> None:
    mutants = generated(core.COMPOSITION.machines)
    file = tmp_path / "survivors.toml"
    file.write_text(f'[[survivor]]\nwhy = "because"\nmutants = ["{mutants[3].name}"]\n')
    told = explained(mutants, str(tmp_path))
    assert [mutant.survives for mutant in told[2:5]] == ["", "because", ""]
    file.write_text('[[survivor]]\nwhy = "because"\nmutants = ["nobody"]\n')
    with pytest.raises(Unplantable, match="'nobody' is not made of any row"):
        explained(mutants, str(tmp_path))


def test_every_survivor_that_is_named_is_made() -> None:
    mutants = generated(core.COMPOSITION.machines)
    assert [mutant.name for mutant in explained(mutants, str(FOLDER))] == [mutant.name for mutant in mutants]
