"""docs/tutorial.md is done, block by block: files are written, commands run, and what they say is compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/tutorial.md").read_text()
NAMED = re.compile(r"(append to )?`([\w/]+\.(?:toml|py))`:\s*$")
OUTSIDE = ("pip install",)
"""Commands that change the machine they run on."""


def blocks() -> Iterator[tuple[str, str, str]]:
    """Yield the language of each block, its text, and the line that leads to it."""
    for match in re.finditer(r"([^\n]*)\n\n```(\w+)\n(.*?)```", TEXT, flags=re.DOTALL):
        yield match[2], match[3], match[1]


def run(command: str, folder: Path) -> str:
    """Run one command as a reader would, with our own Python, and return what it prints."""
    name, *rest = command.split()
    words = [sys.executable, *(["-m", name] if name != "python" else []), *rest]
    env = {**os.environ, "MYPYPATH": str(ROOT / "src"), "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False).stdout


def converse(session: str, folder: Path) -> None:
    """Run the commands of a console block, and compare what is printed where the block shows it."""
    for part in session.split("$ ")[1:]:
        command, _, expected = part.partition("\n")
        if not command.startswith(OUTSIDE):
            printed = run(command, folder)
            assert printed == expected or not expected, command


@pytest.mark.slow
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    done = 0
    for language, text, lead in blocks():
        if language == "console":
            converse(text, tmp_path)
        else:
            named = NAMED.search(lead)
            assert named, f"no file is named before: {text[:40]}"
            path = tmp_path / named[2]
            path.parent.mkdir(exist_ok=True)
            path.write_text((path.read_text() if named[1] else "") + text)
        done += 1
    assert done == TEXT.count("```") // 2 == 13
    assert (tmp_path / "diagrams/kettle.svg").exists()
