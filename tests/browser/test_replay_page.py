"""The page that `interlock replay --html` writes, in a real browser: from a file, with no server and no other file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from interlock.cli import main
from tests.browser.conftest import Open, Shoot
from tests.browser.serving import lit, wait_lit
from tests.proof.replay_story import recorded

pytestmark = [pytest.mark.browser]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Give a trace of two sessions."""
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"".join(map(gzip.decompress, recorded()[0])))
    return path


def session_with(word: bytes, trace: Path) -> str:
    """Return the first session that has a record with this word."""
    return str(next(json.loads(line)["session"] for line in trace.read_bytes().splitlines() if word in line))


@pytest.mark.timeout_s(40)
def test_a_trace_is_looked_at_without_a_server(tabs: Open, trace: Path, tmp_path: Path, shoot: Shoot) -> None:
    """The verdict, the sessions, one of them at each of its records; nothing is asked of any network."""
    out = tmp_path / "report.html"
    assert main(["replay", str(trace), "--html", str(out)]) == 0
    page = tabs(offline=True).new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(out.as_uri())
    page.wait_for_selector("body[data-ready]")
    assert page.inner_text("#verdict h2") == "Every record is what the tables say."
    assert page.inner_text(".finder output") == "2 of 2 sessions"
    page.click(f".entry[data-session='{session_with(b'LeaseDetached', trace)}']")
    wait_lit(page, "session", "CLOSED")
    page.fill("input[type=range]", "1")
    wait_lit(page, "session", "OPENING")
    assert lit(page, "attachment") == ["DETACHED"]
    page.fill(".view input[type=search]", "LeaseDetached")
    page.wait_for_selector(".tall .line.found")
    page.click(".tall .line.found")
    wait_lit(page, "lease", "GRACE")
    shoot(page, "replay-light")
    assert [url for url in asked if not url.startswith(out.as_uri())] == []


@pytest.mark.timeout_s(40)
def test_a_trace_that_was_changed_is_shown_for_what_it_is(tabs: Open, trace: Path, tmp_path: Path) -> None:
    """A record that was tampered with is named, and what it tries to be as markup stays text."""
    lines = trace.read_bytes().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if b'"TransportLost"' in line)
    lines[place] = lines[place].replace(b'"reason":"', b'"reason":"</script><img src=x onerror=alert(1)>')
    trace.write_bytes(b"".join(lines))
    out = tmp_path / "report.html"
    assert main(["replay", str(trace), "--html", str(out)]) == 1
    page = tabs(offline=True).new_page()
    page.goto(out.as_uri())
    page.wait_for_selector("body[data-ready]")
    assert page.inner_text("#verdict h2") == "The trace parts from the tables."
    page.click(f".entry[data-session='{session_with(b'onerror', trace)}']")
    page.fill(".view input[type=search]", "onerror")
    assert "</script><img src=x onerror=alert(1)>" in page.inner_text(".tall .line.found .label")
    assert page.query_selector("main img") is None
