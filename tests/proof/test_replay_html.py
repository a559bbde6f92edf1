"""`interlock replay --html`: which records a page has, and what it says of those that it lacks."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from interlock.cli import main
from interlock.proof.replay_html import Pages
from tests.proof.replay_story import recorded


def data_of(page: Path) -> dict[str, Any]:
    """Return the data of a page."""
    found: dict[str, Any] = json.loads(re.findall(r'type="application/json">(.*?)</script>', page.read_text())[0])
    return found


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"".join(map(gzip.decompress, recorded()[0])))
    return path


def test_a_page_has_every_record_of_every_session(trace: Path, tmp_path: Path) -> None:
    assert main(["replay", str(trace), "--html", str(tmp_path / "page.html")]) == 0
    data = data_of(tmp_path / "page.html")
    lines = [json.loads(line) for line in trace.read_bytes().splitlines()]
    assert sum(len(each["records"]) for each in data["sessions"]) == sum("session" in line for line in lines)
    assert data["verdict"] == "conforms"
    assert data["report"].startswith("conforms: ")
    assert data["note"] == ""


def test_a_page_of_one_session_has_no_other(trace: Path, tmp_path: Path) -> None:
    name = json.loads(trace.read_bytes().splitlines()[1])["session"]
    assert main(["replay", str(trace), "--session", name, "--html", str(tmp_path / "page.html")]) == 0
    assert [each["id"] for each in data_of(tmp_path / "page.html")["sessions"]] == [name]


def test_what_does_not_fit_and_what_is_no_record_is_told() -> None:
    pages = Pages(largest=60)
    for line in (
        b'{"session":"a","n":1}\n',
        b"not json\n",
        b"7\n",
        b'{"session":"a","n":2}\n',
        b'{"session":"a","n":3}\n',
    ):
        pages(line)
    assert len(pages.sessions["a"]) == 2
    assert pages.note == (
        "1 records are not in this page; narrow it with --session and --to\n"
        "2 lines are no records any more, and are not in this page"
    )


def test_a_page_that_cannot_be_written_is_one_line(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(trace), "--html", str(tmp_path / "none" / "page.html")]) == 2
    assert "cannot be written: No such file or directory" in capsys.readouterr().err
