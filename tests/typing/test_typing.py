"""mypy --strict and pyright find every planted error in a user's code, at its line, and nothing where none is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.spec.check import checked
from interlock.spec.compile import compiled

HERE = Path(__file__).parent
PLANTED = (HERE / "planted.txt").read_text()
SOURCE = HERE.parents[1] / "src"

Errors = set[tuple[int, str]]
"""Line and rule of each error."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a user's project: the generated tables of one machine, and code with planted errors."""
    folder = tmp_path_factory.mktemp("shop")
    tables = folder / "shop/tables"
    tables.mkdir(parents=True)
    (folder / "shop/__init__.py").touch()
    for name, text in compiled(checked([str(HERE / "lamp.toml")]), "shop.tables").items():
        (tables / name).write_text(text)
    (folder / "planted.py").write_text(PLANTED)
    return folder


def planted(checker: str) -> Iterator[tuple[int, str]]:
    """Yield what a checker must find."""
    for number, line in enumerate(PLANTED.splitlines(), 1):
        for rule in re.findall(rf"# {checker}: (\S+)", line):
            yield number, rule


def test_mypy_finds_what_is_planted_and_no_more(shop: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context"]
    done = subprocess.run(
        [*command, "--config-file=", "--cache-dir", str(shop / "cache"), "planted.py", "shop"],
        cwd=shop,
        env={"MYPYPATH": str(SOURCE), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    found = [re.fullmatch(r"planted\.py:(\d+): error: .*\[([a-z-]+)\]", line) for line in lines]
    assert None not in found, done.stdout
    assert done.stderr == ""
    assert {(int(match[1]), match[2]) for match in found if match} == set(planted("mypy"))


def test_pyright_finds_what_is_planted_and_no_more(shop: Path) -> None:
    settings = {"include": ["planted.py", "shop"], "extraPaths": [str(SOURCE)], "pythonVersion": "3.11"}
    (shop / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable],
        cwd=shop,
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout.lstrip().startswith("{"):
        pytest.skip(f"pyright does not start here; it loads its Node package on first use: {done.stderr[-200:]}")
    errors = [error for error in json.loads(done.stdout)["generalDiagnostics"] if error["severity"] == "error"]
    assert {Path(error["file"]).name for error in errors} == {"planted.py"}, errors
    assert {(error["range"]["start"]["line"] + 1, error["rule"]) for error in errors} == set(planted("pyright"))


def test_every_kind_of_error_of_the_docs_is_planted_for_both() -> None:
    assert len(list(planted("mypy"))) == len(list(planted("pyright"))) == 19
