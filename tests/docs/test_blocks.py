"""Every block of code in every page: run where that is cheap, else read by what would read it, and never just text.

Python is run as a program, or by pytest where it is a test; commands are run in a copy of the folders that they need.
Where a page promises more, a test of its own is named in :data:`THEIR_OWN`. A comment before a block says what it needs
(``<!-- before it: ... -->``), in which file its lines stand (``<!-- from: PATH -->``), or why it is not run
(``<!-- not run: why -->``); its Python must still compile and find what it imports, and its commands be ones that there
are, with options that there are.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from interlock.cli import main, whole_parser
from interlock.spec.check import findings
from interlock.spec.plan import blueprint
from interlock.spec.read import parse
from tests.docs.blocks import ROOT, Block, blocks

ALL = list(blocks())

THEIR_OWN = {
    ("README.md", "python"): "tests/examples/test_embed.py",
    ("docs/ci.md", "yaml"): "tests/spec/test_ci.py",
    ("docs/fuzz.md", "json"): "tests/proof/test_fuzz_docs.py",
    ("docs/fuzz.md", "sh"): "tests/proof/test_fuzz_docs.py",
    ("docs/machines.md", "toml"): "tests/spec/test_docs.py",
    ("docs/replay.md", "console"): "tests/proof/test_replay_cli.py",
    ("docs/replay.md", "toml"): "tests/proof/test_replay_cli.py",
    ("docs/operations.md", "toml"): "tests/serve/test_layers.py",
    ("docs/reviews.md", "console"): "tests/draw/test_reviews.py",
    ("docs/tutorial.md", "console"): "tests/spec/test_tutorial.py",
    ("docs/tutorial.md", "python"): "tests/spec/test_tutorial.py",
    ("docs/tutorial.md", "toml"): "tests/spec/test_tutorial.py",
}
"""What is run by a test that knows what its page promises."""

OUTPUT = {"text", "diff", ""}
"""Blocks that show what something prints."""


def of(*languages: str) -> list[Block]:
    return [block for block in ALL if block.language in languages]


def test_every_language_has_somebody_who_reads_it() -> None:
    read = OUTPUT | {"python", "js", "sh", "console", "toml", "json", "yaml"}
    assert [f"{block}: {block.language}" for block in ALL if block.language not in read] == []


@pytest.mark.parametrize(("of_page", "test"), THEIR_OWN.items(), ids=lambda one: str(one))
def test_the_tests_of_pages_name_their_page(of_page: tuple[str, str], test: str) -> None:
    page, language = of_page
    assert any(block.page == page and block.language == language for block in ALL)
    assert Path(page).name in (ROOT / test).read_text()


def runs(block: Block) -> bool:
    """Say whether a block is run here."""
    return (block.page, block.language) not in THEIR_OWN and block.note in ("", "before it")


@pytest.mark.parametrize("block", [block for block in ALL if block.note == "from"], ids=str)
def test_what_is_shown_of_a_file_stands_in_it(block: Block) -> None:
    there = {plain(line) for line in (ROOT / block.said).read_text().splitlines()}
    assert [line for line in map(plain, block.text.splitlines()) if line not in there] == []


def test_javascript_is_shown_of_files_that_are_run_elsewhere() -> None:
    assert [str(block) for block in of("js") if block.note != "from"] == []


def test_what_is_not_run_says_why() -> None:
    assert [str(block) for block in ALL if block.note and len(block.said) < 10] == []


# ------------------------------------------------------------------------------------------------------------- Python


@pytest.mark.parametrize("block", of("python"), ids=str)
def test_python_compiles_and_imports_what_there_is(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text, filename=str(block))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("interlock"):
            module = __import__(node.module or "", fromlist=[alias.name for alias in node.names])
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder that has what a checkout has, as far as the pages need it."""
    for folder in ("machines", "diagrams", "examples", "docs/examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("node_modules"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("block", [block for block in of("python") if runs(block)], ids=str)
def test_python_runs(block: Block, copy: Path) -> None:
    is_test = "def test_" in block.text
    program = copy / ("test_shown.py" if is_test else "shown.py")
    program.write_text((f"{block.said}\n" if block.note else "") + block.text)
    command = [sys.executable, *(["-m", "pytest", "-q", "-p", "no:cacheprovider"] if is_test else []), str(program)]
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{copy}"}
    done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    shown = [after.text for before, after in pairwise(ALL) if before is block and after.page == block.page]
    if shown and block is next(one for one in ALL if one.page == block.page) and not is_test:
        assert done.stdout == shown[0]


# ----------------------------------------------------------------------------------------------------------- commands

LINE = re.compile(r"^(?:\$ |\.venv/bin/)?(?:\.venv/bin/)?(interlock|make|pip)\b(.*)$")
TARGETS = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.M))


def commands(block: Block) -> list[list[str]]:
    """Return the commands of a block, as words, without what a shell does around them."""
    found = [match for line in block.text.splitlines() if (match := LINE.match(line))]
    texts = [re.split(r"\s#\s|\s*[|>]\s*|\s*\|\|", match[1] + match[2])[0] for match in found]
    return [shlex.split(text) for text in texts]


@pytest.mark.parametrize("block", of("sh", "console"), ids=str)
def test_commands_are_ones_that_there_are(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(argparse.ArgumentParser, "exit", refused)
    parser = whole_parser()
    for program, *words in commands(block):
        if program == "make":
            assert {word for word in words if "=" not in word} <= TARGETS
        if program == "interlock":
            parser.parse_args(words)


def refused(parser: argparse.ArgumentParser, status: int = 0, message: str | None = None) -> None:
    raise AssertionError(f"{parser.prog}: {message}")


def test_a_command_that_there_is_not_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("interlock draw --chekc\n", "make nonsense\n"):
        with pytest.raises(AssertionError):
            test_commands_are_ones_that_there_are(Block("a.md", 1, "sh", text), monkeypatch)


@pytest.mark.slow
@pytest.mark.timeout_s(120)
@pytest.mark.usefixtures("copy")
@pytest.mark.parametrize("block", [block for block in of("sh", "console") if runs(block)], ids=str)
def test_commands_run(block: Block) -> None:
    told = [words for words in commands(block) if words[0] == "interlock"]
    assert told, "nothing here is Interlock's: say why it is not run"
    for _, *words in told:
        assert main(words) == 0, words


# --------------------------------------------------------------------------------------------------------------- data


@pytest.mark.parametrize("block", of("toml"), ids=str)
def test_toml_is_a_machine_without_findings_or_stands_in_one(block: Block) -> None:
    tomllib.loads(block.text)
    if (block.page, block.language) in THEIR_OWN:
        return
    if block.text.startswith("machine"):
        assert findings(blueprint((parse("shown.toml", block.text),))) == ()
    else:
        there = {plain(line) for path in HOUSE for line in path.read_text().splitlines()}
        assert [line for line in map(plain, block.text.splitlines()) if line not in there] == []


HOUSE = [*ROOT.glob("machines/**/*.toml"), *ROOT.glob("tests/mutants/*.toml"), ROOT / "pyproject.toml"]


def plain(line: str) -> str:
    """Return a line without the comment behind it and without its layout."""
    return " ".join(line.partition("  #")[0].split())


@pytest.mark.parametrize("block", of("json"), ids=str)
def test_json_is_json(block: Block) -> None:
    assert json.loads(block.text)


@pytest.mark.parametrize("block", of("yaml"), ids=str)
def test_yaml_is_yaml(block: Block) -> None:
    assert yaml.safe_load(block.text)
