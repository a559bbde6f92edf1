"""The files of the pages: what is served, how it hangs together, and that it asks nobody else for anything."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import PurePosixPath

import pytest

from interlock.pages.assets import HEADERS, POLICY, TYPES, asset, text
from interlock.pages.drawn import SHOWN, machines
from interlock.tables import TABLES

NAMES = sorted(file.name for file in (files("interlock.pages") / "static").iterdir())
MODULES = [name for name in NAMES if name.endswith(".js")]


def test_every_file_is_served_and_nothing_else() -> None:
    for name in NAMES:
        found = asset(name)
        assert found is not None
        assert found.content_type == TYPES[PurePosixPath(name).suffix]
    for name in ("", ".", "..", "../assets.py", "static/talk.js", "talk.js/", "/etc/passwd", "talk.py"):
        assert asset(name) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_file_asks_no_other_host(name: str) -> None:
    """What is named with a scheme is a namespace of XML, and never fetched."""
    found = set(re.findall(r"\b(?:https?|wss?):?//[^\s\"'`]+", text(name)))
    assert found <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("name", ["talk.html", "inspect.html"])
def test_a_page_needs_nothing_that_its_policy_refuses(name: str) -> None:
    """No script and no style stands in the page itself; what it loads is there."""
    page = text(name)
    assert not re.search(r"<style|\sstyle=|\son\w+=", page)
    assert re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL) == [""]
    loaded = re.findall(r'(?:src|href)="/pages/([\w.]+)"', page)
    assert len(loaded) == 4
    assert all(asset(each) is not None for each in loaded)
    assert "'unsafe" not in POLICY
    assert "default-src 'none'" in dict(HEADERS)["Content-Security-Policy"]


@pytest.mark.parametrize("name", MODULES)
def test_what_a_module_imports_is_exported(name: str) -> None:
    for names, source in re.findall(r'import \{ ([^}]+) \} from "\./([\w.]+)"', text(name)):
        exported = set(re.findall(r"^export (?:const|function|class) ([\w$]+)", text(source), re.MULTILINE))
        assert set(names.split(", ")) <= exported


@pytest.mark.parametrize("name", MODULES)
def test_no_page_makes_markup_of_data(name: str) -> None:
    """What a session says is text, whatever it looks like."""
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text(name))


def test_the_machines_are_the_tables_row_by_row() -> None:
    """A trace names rows by their numbers, so that the numbers here have to be those of the tables."""
    assert [machine["name"] for machine in machines()] == list(SHOWN)
    for machine in machines():
        table = TABLES[machine["name"]]
        assert [state["name"] for state in machine["states"]] == [info.name for info in table.states]
        assert [row["event"] for row in machine["rows"]] == [row.event.__name__ for row in table.rows]
        assert [row.get("to") for row in machine["rows"]] == [row.to for row in table.rows]
