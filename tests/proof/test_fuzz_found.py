"""Faults that are planted in the runtime are found, and what found them is short, a file, and a regression test.

The schedules in `fuzz_found/` were found by `python -m tests.proof.fuzz_faults`, which searches for every fault anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interlock.proof.fuzz import FLAT
from interlock.proof.fuzz_acts import ACTS
from interlock.proof.fuzz_campaign import fuzz
from interlock.proof.fuzz_cli import main
from interlock.proof.fuzz_schedule import as_text, load
from interlock.proof.fuzz_shrink import likeness
from tests.proof.fuzz_faults import FAULTS, FOUND, planted, without_ids
from tests.proof.test_fuzz_cli import parsed

MOST = 6
"""Events that a shrunk schedule may have."""


def test_there_are_ten_faults_and_a_schedule_for_each() -> None:
    assert len(FAULTS) >= 10
    assert {path.stem for path in FOUND.glob("*.json")} == set(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_a_recorded_schedule_finds_its_fault_and_nothing_without_it(name: str) -> None:
    found = load(FOUND / f"{name}.json")
    assert len(found.schedule.events) <= MOST
    assert {event.act for event in found.schedule.events} <= set(ACTS)
    with planted(name):
        broken = FLAT.run(found.schedule).broken
    assert likeness([without_ids(broken[0])]) == likeness(found.broken)
    assert FLAT.run(found.schedule).broken == ()


@pytest.mark.slow
@pytest.mark.timeout_s(120)
@pytest.mark.parametrize("name", FAULTS)
def test_a_campaign_finds_it_within_a_minute(name: str) -> None:
    with planted(name):
        report = fuzz(FLAT, seed=1, budget_s=60.0, enough=1)
    (found,) = report.failures
    assert len(found.schedule.events) <= MOST


def test_the_command_replays_the_same_file(capsys: pytest.CaptureFixture[str]) -> None:
    path = FOUND / "void_not_performed.json"
    assert main(parsed("--replay", str(path))) == 0
    assert "nothing is broken" in capsys.readouterr().out
    with planted("void_not_performed"):
        assert main(parsed("--replay", str(path))) == 1
    told = capsys.readouterr().out
    assert "BROKEN  promise 2" in told
    assert "attachment=ATTACHED" in told


def test_a_file_says_the_same_when_it_is_written_again(tmp_path: Path) -> None:
    for path in FOUND.glob("*.json"):
        text = as_text(load(path))
        assert text == path.read_text()
        again = tmp_path / "again.json"
        again.write_text(text)
        assert load(again) == load(path)
        assert json.loads(text)["kind"] == "flat"
