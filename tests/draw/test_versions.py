"""Two sides of a difference: from the disk and from git, and one clear line for what neither has."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.draw.versions import plans_of
from interlock.spec.finding import Faulty, Unusable
from interlock.spec.read import LARGEST
from tests.draw.project import committed, edit, git, project


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a repository whose door was changed since it was committed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    committed(project(tmp_path))
    edit(tmp_path / "machines/door.toml", '"Nobody gets in."', '"Closed."')
    return tmp_path


def shut(name: str) -> str:
    return next(plan.form.state["SHUT"].doc for plan in plans_of(name) if plan.name == "door")


@pytest.mark.parametrize("name", ["machines", "./machines", "machines/door.toml"])
def test_the_disk_has_what_is_there_now(name: str) -> None:
    assert shut(name) == "Closed."


@pytest.mark.parametrize(
    "name", ["main:machines", "HEAD:machines/", "HEAD:./machines", "main:machines/door.toml", ":machines/door.toml"]
)
def test_a_revision_has_what_was_committed(name: str) -> None:
    assert shut(name) == "Nobody gets in."


def test_a_path_of_a_revision_starts_at_the_root_or_here_with_a_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("machines")
    assert shut("main:machines") == shut("main:./") == shut("main:./door.toml") == "Nobody gets in."


def test_files_of_a_revision_carry_their_place() -> None:
    assert [plan.source.path for plan in plans_of("main:machines")] == [
        "main:machines/bell.toml",
        "main:machines/door.toml",
    ]
    assert next(plan.source.label for plan in plans_of("main:machines")) == "main:machines/bell.toml"


def test_a_file_whose_name_has_a_colon_is_that_file() -> None:
    Path("main:machines").mkdir()
    Path("main:machines/door.toml").write_text(Path("machines/door.toml").read_text())
    assert shut("main:machines") == "Closed."


WRONG = [
    ("nowhere", "nowhere: no such file or folder"),
    ("nope:machines", "nope:machines: no such file or folder, and as a revision: "),
    ("main:nowhere", "as a revision: path 'nowhere' does not exist in 'main'"),
    ("main:", "main:: no *.toml in this folder"),
    ("--help:x", "a revision does not begin with a dash"),
    ("-:x", "a revision does not begin with a dash"),
    ("a\0b:x", "git cannot be asked: embedded null byte"),
    ("a\nb:machines", "as a revision: "),
    ("<script>:\"'", "as a revision: "),
    ("main:\udcff", "as a revision: "),
    ("HEAD@{yesterday:x", "as a revision: "),
    (":(top)machines", "as a revision: "),
]


@pytest.mark.parametrize(("name", "says"), WRONG)
def test_what_neither_has_is_one_clear_line(name: str, says: str) -> None:
    with pytest.raises(Unusable) as caught:
        plans_of(name)
    assert says in str(caught.value)
    assert str(caught.value).count("\n") <= name.count("\n")


def test_without_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(Unusable, match="not a git repository"):
        plans_of("main:machines")


def test_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unusable, match="git, which would know revisions, is not here"):
        plans_of("main:machines")


BAD = [
    (b"machine = ", "not TOML"),
    (b"\xff\xfe", "not UTF-8 at byte 0"),
    (b"#" * (LARGEST + 1), f"over {LARGEST} bytes"),
    (b"a = " + b"[" * 100_000, "nested too deeply"),
]


@pytest.mark.parametrize(("content", "says"), BAD)
def test_a_committed_file_that_is_no_machine(here: Path, content: bytes, says: str) -> None:
    (here / "bad.toml").write_bytes(content)
    git(here, "add", "bad.toml")
    for name in ("bad.toml", ":bad.toml"):
        with pytest.raises(Unusable, match=says):
            plans_of(name)


def test_a_committed_file_of_another_shape_has_findings(here: Path) -> None:
    (here / "machines/odd.toml").write_text("machine = 5\n")
    git(here, "add", ".")
    git(here, "commit", "-q", "-m", "odd")
    with pytest.raises(Faulty) as caught:
        plans_of("HEAD:machines")
    assert {finding.file for finding in caught.value.findings} == {"HEAD:machines/odd.toml"}


def test_links_and_folders_that_are_called_like_machines(here: Path) -> None:
    (here / "machines/link.toml").symlink_to("nowhere")
    (here / "machines/deep.toml").mkdir()
    (here / "machines/deep.toml/x").write_text("")
    git(here, "add", ".")
    git(here, "commit", "-q", "-m", "odd")
    with pytest.raises(Unusable):
        plans_of("HEAD:machines")


def test_two_files_with_one_machine_cannot_be_told_apart(here: Path) -> None:
    (here / "machines/gate.toml").write_text((here / "machines/door.toml").read_text())
    with pytest.raises(Unusable, match=r"machines/gate.toml: `door` is also in machines/door.toml"):
        plans_of("machines")
