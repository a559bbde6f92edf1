"""Machines from their files alone: what is wrong between two of them is found, and what is right is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.machine import Cell
from interlock.proof.fuzz import Target
from interlock.proof.fuzz_bound import Bound
from interlock.proof.fuzz_campaign import fuzz
from interlock.proof.fuzz_machines import machines_target
from interlock.proof.fuzz_schedule import Event, Schedule, Unusable
from interlock.spec.check import checked
from interlock.spec.start import STARTING_POINT

ROOT = Path(__file__).parents[2]

GATE = """
machine = "gate"
doc = "A gate that is let down for good by its keeper."
initial = "UP"
final = ["GONE"]
[events]
keeper = ["Lowered"]
[message.Lowered]
doc = "The keeper lets it down."
[state.UP]
doc = "Up."
on.Lowered = { to = "DOWN" }
[state.DOWN]
doc = "Down."
on.Lowered = { to = "GONE" }
[state.GONE]
doc = "Gone."
"""

KEEPER = """
machine = "keeper"
doc = "Lets a gate down, twice; or, with a guard, once too often."
initial = "AWAKE"
final = ["ASLEEP"]
[events]
client = ["Called"]
timer = ["Tired"]
[message.Called]
doc = "Somebody calls."
[message.Tired]
doc = "It is late."
[state.AWAKE]
doc = "Awake."
timeouts = [{ after = "day_s", event = "Tired" }]
on.Called = [
    { guard = "is_night", to = "WATCHFUL", emit = ["Lowered"] },
    { emit = [] },
]
on.Tired = { to = "ASLEEP", emit = ["Lowered", "Lowered"] }
[state.WATCHFUL]
doc = "Has let it down once."
timeouts = [{ after = "day_s", event = "Tired" }]
on.Called = {}
on.Tired = { to = "ASLEEP", emit = ["Lowered"] }
[state.ASLEEP]
doc = "Asleep."
refuse = { Called = "asleep" }
"""


def target_of(tmp_path: Path, **files: str) -> Target:
    for name, text in files.items():
        (tmp_path / f"{name}.toml").write_text(text)
    return machines_target((str(tmp_path),))


def test_two_machines_that_agree(tmp_path: Path) -> None:
    target = target_of(tmp_path, gate=GATE, keeper=KEEPER)
    assert target.acts == ("keeper.Called", "keeper.Tired")
    report = fuzz(target, examples=200)
    assert report.failures == []
    assert ("gate", "DOWN", "Lowered", "GONE") in report.reached
    assert ("keeper", "ASLEEP", "Called", "ASLEEP") not in report.reached


def test_a_message_that_meets_a_state_which_does_not_list_it(tmp_path: Path) -> None:
    once_more = KEEPER.replace('doc = "Has let it down once."', 'doc = "Has let it down once."\nignore = []').replace(
        "on.Called = {}", 'on.Called = { emit = ["Lowered"] }'
    )
    lower = GATE.replace('on.Lowered = { to = "GONE" }', 'ignore = []\non.Raised = { to = "GONE" }').replace(
        'keeper = ["Lowered"]', 'keeper = ["Lowered"]\nclient = ["Raised"]'
    )
    lower = lower.replace('[state.UP]\ndoc = "Up."', '[state.UP]\ndoc = "Up."\nrefuse = { Raised = "is_up" }')
    lower = lower.replace("[state.GONE]\n", '[state.GONE]\nrefuse = { Raised = "gone" }\n')
    lower = lower.replace("[state.UP]", '[message.Raised]\ndoc = "Somebody raises it."\n[state.UP]')
    report = fuzz(target_of(tmp_path, gate=lower, keeper=once_more), examples=200, enough=1)
    (found,) = report.failures
    assert "gate: DOWN does not list Lowered" in found.broken[0]
    assert found.schedule in {
        Schedule((Event("keeper.Tired"),)),
        Schedule((Event("keeper.Called", 1), Event("keeper.Called"))),
        Schedule((Event("keeper.Called", 1), Event("keeper.Tired"))),
    }
    assert found.machines == (str(tmp_path),)


def test_two_machines_that_wait_for_each_other_for_ever(tmp_path: Path) -> None:
    deaf = KEEPER.replace('on.Tired = { to = "ASLEEP", emit = ["Lowered"] }', 'on.Tired = { to = "ASLEEP" }')
    report = fuzz(target_of(tmp_path, gate=GATE, keeper=deaf), examples=300, enough=1)
    (found,) = report.failures
    assert found.broken == ("no end can be reached: gate is DOWN, keeper is WATCHFUL",)
    assert found.schedule == Schedule((Event("keeper.Called", 1),))


def test_the_machine_to_begin_with_and_one_of_ours(tmp_path: Path) -> None:
    assert fuzz(target_of(tmp_path, door=STARTING_POINT), examples=200).failures == []
    report = fuzz(machines_target((str(ROOT / "machines" / "worker.toml"),)), examples=200)
    assert report.failures == []
    assert len(report.reached) > 20


def test_a_timer_fires_only_while_it_is_armed(tmp_path: Path) -> None:
    target_of(tmp_path, gate=GATE, keeper=KEEPER)
    bound = Bound(checked([str(tmp_path)]))
    sent = bound.send(bound.start(), bound.acts["keeper.Tired"], 0)
    assert sent is not None
    assert bound.is_end(sent[0])
    assert bound.send(sent[0], bound.acts["keeper.Tired"], 0) is None


def test_instances_have_numbers_and_the_oldest_is_meant() -> None:
    bound = Bound(checked([str(ROOT / "machines")]))
    assert {name for (name, _), _ in bound.start().cells} == {"attachment", "lease", "session"}
    bound.answers.begin({("request", 2): Cell("RESERVED", None), ("request", 3): Cell("RESERVED", None)}, 0)
    assert bound.answers.key_for("request", new=False) == 2
    assert [bound.answers.key_for("request", new=True) for _ in range(2)] == [1, 4]
    assert bound.answers.key_for("fence", new=False) == 0


def test_a_machine_that_hears_nothing_cannot_be_fuzzed(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"interlock check"):
        target_of(tmp_path, gate=GATE.replace('to = "DOWN"', 'to = "DAWN"'))
