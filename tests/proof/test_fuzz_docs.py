"""docs/fuzz.md: its commands run, its file is a file, its Python is right."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from interlock.cli import COMMANDS
from interlock.cli import main as interlock
from interlock.proof.fuzz import FLAT, Target, schedules
from interlock.proof.fuzz_acts import ACTS
from interlock.proof.fuzz_campaign import fuzz
from interlock.proof.fuzz_machines import machines_target
from interlock.proof.fuzz_schedule import load, read
from interlock.spec.start import STARTING_POINT
from tests.proof.test_fuzz_cli import parsed

PAGE = (Path(__file__).parents[2] / "docs" / "fuzz.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)


COMMANDS_SHOWN = [line for block in blocks("sh") for line in block.splitlines()]
IN_CI = re.findall(r"run: (interlock .*)", PAGE)


def test_there_is_something_to_run() -> None:
    assert len(COMMANDS_SHOWN) == 3
    assert len(IN_CI) == 3
    assert "fuzz" in COMMANDS


@pytest.mark.parametrize("line", COMMANDS_SHOWN)
def test_a_command_runs(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "machines").mkdir()
    (tmp_path / "machines" / "door.toml").write_text(STARTING_POINT)
    name, *words = shlex.split(re.sub(r"--(budget|examples) \w+", r"--examples 25", line))
    assert name == "interlock"
    assert interlock(words) == 0


@pytest.mark.parametrize("line", IN_CI)
def test_a_command_of_the_recipe_is_understood(line: str) -> None:
    words = shlex.split(re.sub(r"\$\{\{.*?\}\}", "7", line))
    assert parsed(*words[2:]).seed == 7


def test_the_file_is_a_schedule(tmp_path: Path) -> None:
    (shown,) = blocks("json")
    found = read(json.loads(shown))
    assert {event.act for event in found.schedule.events} <= set(ACTS)
    path = tmp_path / "shown.json"
    path.write_text(shown)
    assert FLAT.run(load(path).schedule).broken == ()


def test_the_python_has_the_names_that_there_are() -> None:
    shown = "".join(blocks("python"))
    for name in (fuzz, machines_target, schedules, load):
        assert f"{name.__name__}(" in shown
    assert "`Target`" in PAGE
    assert {"acts", "run"} <= set(Target.__annotations__)
