from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock.demo.server import Stopped, serving
from interlock.errors import WorldError


@pytest.mark.real_clock
async def test_a_server_that_ends_before_it_listens_has_its_last_words_told(tmp_path: Path) -> None:
    with pytest.raises(
        WorldError, match=re.compile(r"before it listened \(exit code 2\).*--port: port = 99999: .*65535", re.S)
    ):
        async with serving(tmp_path, ["--scripted", "1", "--port", "99999"], print):
            pass


@pytest.mark.real_clock
async def test_a_server_shows_its_books_and_stops_well(tmp_path: Path) -> None:
    async with serving(tmp_path, ["--scripted", "1"], print) as server:
        books = await server.books()
        stopped = await server.stop()
    assert (books["slots"], books["longest_stall_ms"] < 5_000) == (0, True)
    assert (stopped.code, stopped.books["event"], stopped.books["owed"]) == (0, "stopped", [])
    assert isinstance(stopped, Stopped)


@pytest.mark.real_clock
async def test_a_server_is_left_behind_by_nobody(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with serving(tmp_path, ["--scripted", "1"], print) as server:
            raise ZeroDivisionError
    assert server.process.returncode == 0
