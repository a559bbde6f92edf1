"""docs/ci.md and the hooks of pre-commit: every command in them is one that works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock.cli import CLEAN, main
from tests.spec.house import BELL, DOOR

ROOT = Path(__file__).parents[2]
HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text()
DOC = (ROOT / "docs/ci.md").read_text()
ENTRIES = re.findall(r"- id: (\S+)\n(?:  .*\n)*?  entry: interlock (.+)\n", HOOKS)
ARGS = dict(re.findall(r"- id: (\S+)\n +args: \[(.+)\]", DOC))
TABLES = ["tables", "machines", "--out", "src/shop/tables", "--package", "shop.tables"]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a project whose tables and drawings are up to date."""
    (tmp_path / "machines").mkdir()
    (tmp_path / "machines/door.toml").write_text(DOOR)
    (tmp_path / "machines/bell.toml").write_text(BELL)
    monkeypatch.chdir(tmp_path)
    assert (main(TABLES), main(["draw", "machines"])) == (CLEAN, CLEAN)


@pytest.mark.parametrize("command", re.findall(r"- run: interlock (.+)", DOC))
def test_a_step_of_the_workflow_passes(command: str) -> None:
    assert main(command.split()) == CLEAN


@pytest.mark.parametrize(("hook", "entry"), ENTRIES)
def test_a_hook_passes_with_the_arguments_that_the_page_shows(hook: str, entry: str) -> None:
    assert main([*entry.split(), *ARGS[hook].split(", ")]) == CLEAN


def test_the_page_shows_every_hook() -> None:
    assert [hook for hook, _ in ENTRIES] == list(ARGS) == ["interlock-check", "interlock-tables", "interlock-draw"]
