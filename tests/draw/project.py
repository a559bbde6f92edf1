"""A user's folder with two machines, with and without git."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.spec.house import BELL, DOOR


def project(folder: Path) -> Path:
    """Make ``folder`` one with machines/door.toml and bell.toml, and return it."""
    machines = folder / "machines"
    machines.mkdir()
    (machines / "door.toml").write_text(DOOR)
    (machines / "bell.toml").write_text(BELL)
    return folder


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text that must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def git(folder: Path, *words: str) -> None:
    """Run git in ``folder``, with a name of its own and no configuration from outside."""
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def committed(folder: Path) -> Path:
    """Commit all of ``folder`` on ``main``, and return it."""
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder
