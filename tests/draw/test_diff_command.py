"""`interlock diff` as a user meets it: text, Markdown, drawings, exit codes, and one line for what is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from interlock.cli import main
from interlock.draw.diff_command import DIFFERENT, SAME
from interlock.draw.diff_dot import MARK
from tests.draw.project import committed, edit, project
from tests.draw.versions import GUARD, TARGET

UNUSABLE = 2
OLD = ["diff", "main:machines", "machines"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return committed(project(tmp_path))


def change(*edits: tuple[str, str]) -> None:
    for edited in edits:
        edit(Path("machines/door.toml"), *edited)


@pytest.mark.parametrize("sides", [["machines", "machines"], ["main:machines", "machines"], ["machines/bell.toml"] * 2])
def test_the_same_is_one_line_and_exit_0(sides: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *sides]) == SAME
    assert capsys.readouterr().out == "no difference: the machines are the same\n"


def test_comments_and_layout_are_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    change(('doc    = "Nobody gets in."', 'doc = "Nobody gets in." # indeed'))
    assert main(OLD) == SAME
    assert capsys.readouterr().out == "no difference in meaning: only comments, layout or order were edited\n"


def test_each_change_is_a_line_and_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    change(TARGET, GUARD)
    assert main(OLD) == DIFFERENT
    assert capsys.readouterr().out.splitlines() == [
        "door: SHUT on OpenAsked [is_welcome]: guard is_known -> is_welcome",
        "door: OPENING on MotorOverdue: to STUCK -> SHUT",
        "2 changes (2 changed) in door",
    ]


def test_machines_that_came_and_went(capsys: pytest.CaptureFixture[str]) -> None:
    Path("machines/bell.toml").unlink()
    assert main(OLD) == DIFFERENT
    assert capsys.readouterr().out.startswith('bell: machine: removed, "One ring of the bell."\n')
    assert main(["diff", "machines", "main:machines", "--out", "review"]) == DIFFERENT
    assert capsys.readouterr().out.startswith('bell: machine: added, "One ring of the bell."\n')
    assert [path.name for path in Path("review").iterdir()] == ["bell.diff.svg"]


def test_markdown_for_a_comment(capsys: pytest.CaptureFixture[str]) -> None:
    change(TARGET)
    assert main([*OLD, "--markdown"]) == DIFFERENT
    assert capsys.readouterr().out.splitlines() == [
        "### Machines: `main:machines` to `machines`",
        "",
        "**`door`**: 1 change (1 changed)",
        "",
        "```diff",
        "! OPENING on MotorOverdue: to STUCK -> SHUT",
        "```",
        "",
    ]


def test_markdown_of_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "machines", "machines", "--markdown"]) == SAME
    assert "No difference: the machines are the same." in capsys.readouterr().out


def test_a_folder_gets_the_drawing_of_each_machine_that_changed(capsys: pytest.CaptureFixture[str]) -> None:
    change(TARGET)
    assert main([*OLD, "--out", "review", "--format", "svg,dot,png,pdf"]) == DIFFERENT
    made = sorted(path.name for path in Path("review").iterdir())
    assert made == ["door.diff.dot", "door.diff.pdf", "door.diff.png", "door.diff.svg"]
    assert (
        Path("review/door.diff.dot").read_text().startswith(f"// {MARK}main:machines/door.toml -> machines/door.toml")
    )
    assert Path("review/door.diff.png").read_bytes().startswith(b"\x89PNG")
    assert f"review/{made[0]}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["change.svg", "deep/change.dot", "change.png", "change.pdf"])
def test_a_file_gets_the_drawing_of_one_machine(name: str) -> None:
    change(TARGET)
    assert main([*OLD, "--out", name]) == DIFFERENT
    assert Path(name).stat().st_size > 500


def test_no_change_draws_nothing() -> None:
    assert main(["diff", "machines", "machines", "--out", "review"]) == SAME
    assert not list(Path("review").iterdir() if Path("review").exists() else [])


WRONG = [
    (["diff", "nope:machines", "machines"], "nope:machines: no such file or folder, and as a revision"),
    (["diff", "machines", "nowhere"], "nowhere: no such file or folder"),
    (["diff", "machines", "x" * 5000], "File name too long"),
    (["diff", "machines", "machines/door.toml", "--out", "a.svg", "--format", "svg"], "name the folder with --out"),
    ([*OLD, "--format", "svg"], "name the folder with --out"),
    (
        ["diff", "main:machines", "changed", "--out", "a.svg"],
        "a.svg: is one file, and bell, door changed; name a folder",
    ),
    (["diff", "main:machines", "changed", "--out", "b", "--format", "gif"], "--format 'gif': "),
    (["diff", "main:machines", "changed", "--out", "machines/door.toml"], "machines/door.toml: cannot be written"),
    (["diff", "main:machines/door.toml", "changed/door.toml", "--out", "taken.svg"], "was not generated by interlock"),
    (["diff", "bad.toml", "machines"], "bad.toml:1: [missing-key]"),
]


@pytest.mark.parametrize(("given", "says"), WRONG)
def test_what_cannot_be_compared_or_drawn_is_told_and_exit_2(
    given: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("changed").mkdir()
    for name in ("door", "bell"):
        Path(f"changed/{name}.toml").write_text(
            Path(f"machines/{name}.toml").read_text().replace('doc    = "', 'doc = "Now: ')
        )
    Path("taken.svg").write_text("<svg>mine</svg>")
    Path("bad.toml").write_text("")
    assert main(given) == UNUSABLE
    told = capsys.readouterr()
    assert says in told.err
    assert Path("taken.svg").read_text() == "<svg>mine</svg>"


def test_whoever_reads_only_the_first_line_gets_no_traceback() -> None:
    change(TARGET, GUARD)
    program = f"{sys.executable} -m interlock diff main:machines machines | head -c 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (DIFFERENT, b"")
