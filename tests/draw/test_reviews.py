"""docs/reviews.md: every command in it does what it says, and its picture is the one that the command draws."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from interlock.cli import main
from interlock.draw.diff import compared
from interlock.draw.diff_dot import diff_dot
from interlock.draw.svg import digest, drawn_from
from interlock.spec.check import checked
from interlock.spec.plan import blueprint
from interlock.spec.read import read
from tests.draw.project import committed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reviews.md").read_text()
FENCES = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
COMMANDS = [part for fence in FENCES for part in re.split(r"^\$ interlock ", fence, flags=re.MULTILINE) if part.strip()]


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a copy of the repository, as far as the page needs it, whose branch is `main`."""
    for folder in ("machines", "diagrams", "docs/examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "docs/diff.svg", tmp_path / "docs/diff.svg")
    monkeypatch.chdir(tmp_path)
    return committed(tmp_path)


@pytest.mark.usefixtures("copy")
def test_the_commands_say_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(COMMANDS) == 8
    for part in COMMANDS:
        command, _, expected = part.partition("\n")
        main(shlex.split(command))
        told = capsys.readouterr()
        assert told.err == ""
        if expected:
            assert told.out == expected, command


@pytest.mark.usefixtures("copy")
def test_the_moment_of_the_page_is_detached() -> None:
    command = next(part for part in COMMANDS if "--trace" in part).partition("\n")[0]
    main(shlex.split(command))
    (line,) = [line for line in Path("now/attachment.dot").read_text().splitlines() if "penwidth" in line]
    assert line.startswith('    "DETACHED" [')


def test_the_picture_is_the_one_that_the_command_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    before, after = (blueprint(read([f"docs/examples/{side}"])).plans for side in ("before", "after"))
    (difference,) = compared(before, after)
    assert drawn_from((ROOT / "docs/diff.svg").read_text()) == digest(diff_dot(difference))


def test_the_change_has_no_findings_beside_the_other_machines(tmp_path: Path) -> None:
    for path in sorted((ROOT / "machines").glob("*.toml")):
        shutil.copy(path, tmp_path)
    shutil.copy(ROOT / "docs/examples/after/attachment.toml", tmp_path)
    assert len(checked([str(tmp_path)]).plans) == len(list(tmp_path.iterdir()))


def test_links_of_the_page_lead_somewhere() -> None:
    assert [link for link in re.findall(r"\]\(([^)]+)\)", PAGE) if not (ROOT / "docs" / link).exists()] == []
