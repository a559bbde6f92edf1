"""The documentation builds without a warning, leads everywhere that it says, and says what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from interlock import __all__ as public
from interlock.cli import COMMANDS
from interlock.spec.rules import RULES
from interlock.tables import TABLES
from tests.docs.blocks import ROOT, pages

DOCS = ROOT / "docs"
LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\((?!\w+:)([^)\s]+)\)")
NAMED = [path.relative_to(ROOT).as_posix() for path in pages()]


def build(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-d",
        str(out / "trees"),
        str(source),
        str(out),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.timeout_s(120)
def test_the_pages_are_built_without_a_warning(tmp_path: Path) -> None:
    done = build(DOCS, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    built = {path.relative_to(tmp_path).with_suffix(".md").as_posix() for path in tmp_path.rglob("*.html")}
    assert {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - built == set()
    front = (tmp_path / "index.html").read_text()
    assert "_images/promise.svg" in front
    assert 'href="tutorial.html"' in front


@pytest.mark.slow
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text("extensions = ['myst_parser']\n")
    (tmp_path / "index.md").write_text("# One\n\n[two](nowhere.md)\n")
    assert build(tmp_path, tmp_path / "out").returncode == 1


def headings(text: str) -> set[str]:
    """Return the anchors that a forge and the pages give to the headings of a text."""
    titles = re.findall(r"^#{1,6} (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower().replace("`", "")).strip().replace(" ", "-") for title in titles}


def broken(path: Path, text: str) -> list[str]:
    """Return the links of a page that lead to no file, or to no heading of a page."""
    wrong = []
    for link in LINK.findall(re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)):
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in headings(target.read_text())):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", NAMED)
def test_every_link_leads_somewhere(page: str) -> None:
    assert broken(ROOT / page, (ROOT / page).read_text()) == []


def test_a_link_to_no_file_and_one_to_no_heading_are_seen() -> None:
    text = "# A title\n\n[a](#a-title) [b](README.md) [c](gone.md) [d](#gone) [e](https://example.org/)\n"
    assert broken(ROOT / "seen.md", text.replace("(#a-title)", "(README.md#run-it)")) == ["gone.md", "#gone"]


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"^([\w./*-]+)$", (DOCS / "index.md").read_text(), re.M)
    there = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert [page for page in there if not any(fnmatch(page, pattern) for pattern in listed)] == []


def test_the_generated_reference_is_what_the_code_says() -> None:
    command = [sys.executable, "-c", "import reference, json; print(json.dumps(reference.pages()))"]
    done = subprocess.run(command, cwd=DOCS, capture_output=True, text=True, check=True)
    made: dict[str, str] = __import__("json").loads(done.stdout)
    stale = [name for name, text in made.items() if (DOCS / name).read_text("utf-8") != text]
    assert stale == [], "run `make reference` and commit what it writes"


def test_the_reference_names_every_command_and_every_public_name() -> None:
    commands, names = (DOCS / "cli.md").read_text(), (DOCS / "api.md").read_text()
    assert [name for name in COMMANDS if f"## interlock {name}\n" not in commands] == []
    assert [name for name in public if name != "__version__" and f":: interlock.{name}\n" not in names] == []
    assert [rule.name for rule in RULES if f"`{rule.name}`" not in (DOCS / "machines.md").read_text()] == []


@pytest.mark.parametrize("picture", ["docs/promise.svg", "docs/architecture.svg"])
def test_the_states_in_a_picture_are_those_of_the_tables(picture: str) -> None:
    states = {info.name for table in TABLES.values() for info in table.states}
    named = set(
        re.findall(r"\b[A-Z][A-Z_]{3,}\b", re.sub(r"<style>.*?</style>", "", (ROOT / picture).read_text(), flags=re.S))
    )
    assert named - states - {"TOML", "JSON"} == set()


def test_every_page_that_the_code_names_is_there() -> None:
    """A docstring that sends its reader to a page which is no more sends them nowhere."""
    sources = [path for folder in ("src", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
    named = {
        page for path in sources for page in re.findall(r"(?<![\w./-])docs/[\w./-]+\.md\b", path.read_text("utf-8"))
    }
    assert len(named) > 10
    assert [page for page in sorted(named) if not (ROOT / page).exists()] == []
    lone = {page for path in sources for page in re.findall(r"(?<![\w./'\"-])[A-Z]{4,}\.md\b", path.read_text("utf-8"))}
    assert [page for page in sorted(lone) if not (ROOT / page).exists()] == []


def test_each_decision_has_a_number_of_its_own_and_says_it() -> None:
    pages = sorted((DOCS / "decisions").glob("0*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        assert page.read_text(encoding="utf-8").startswith(f"# {int(page.name[:4])}. "), page.name
