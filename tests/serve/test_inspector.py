"""/inspect: every session, for whoever knows the token, and nobody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from interlock.errors import WorldError
from interlock.proof.replay import Replay
from interlock.proof.replay_input import Input
from interlock.proof.replay_target import Target
from interlock.serve.config import PageSettings
from interlock.serve.feed import DENIED
from interlock.serve.inspector import Inspector, only_here
from interlock.serve.shown import Pages, token_of
from interlock.transport.opening import Opening, Page
from tests.serve.shown import TOKEN, end_of, hear, records, say, shown

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(15)]


@pytest.mark.parametrize(
    "first", [{"type": "hello", "token": TOKEN[:-1]}, {"type": "hello", "token": "\ud800"}, {"type": "hello"}, {}]
)
async def test_without_the_token_nothing_is_shown(first: dict[str, Any]) -> None:
    async with shown(inspect_token=TOKEN) as server, server.at("/inspect/live") as live:
        await say(live, first)
        assert await end_of(live) == (DENIED, "the inspector's token is needed")


async def test_sessions_are_listed_and_what_changes_follows() -> None:
    async with shown(inspect_token=TOKEN) as server, server.at("/v1/duplex") as socket:
        name = (await server.session(socket))["session_id"]
        async with server.at("/inspect/live") as live:
            await say(live, {"type": "hello", "token": TOKEN})
            rows = (await hear(live, "sessions"))["rows"]
            assert [row[0] for row in rows] == [name]
            await say(socket, {"type": "session.close"})
            states: list[str] = []
            while "CLOSED" not in states:
                states += [row[1] for row in (await hear(live, "changed"))["rows"]]


async def test_one_session_is_followed_and_its_trace_replays(tmp_path: Path) -> None:
    async with shown(inspect_token=TOKEN) as server, server.at("/v1/duplex") as socket:
        credentials = await server.session(socket)
        name = credentials["session_id"]
        async with server.at("/inspect/live") as live:
            await say(live, {"type": "hello", "token": TOKEN})
            await hear(live, "sessions")
            await say(live, {"type": "follow", "session": name})
            found = await records(live, "ReplayDelivered")
            assert (await hear(live, "look"))["states"]["attachment"] == "ATTACHED"
            await say(live, {"type": "download", "session": name})
            text = (await hear(live, "trace"))["text"]
            await say(live, {"type": "follow", "session": "sess_of_nobody"})
            assert (await hear(live, "unknown"))["session"] == "sess_of_nobody"
        path = tmp_path / "trace.jsonl"
        path.write_text(text)
        replay = Replay(Target())
        Input(replay, Target(), lambda *_: None).read([str(path)])
        assert replay.findings == []
        assert replay.events >= 3
        assert credentials["resume_token"] not in json.dumps(found) + text


async def test_a_page_that_does_not_keep_up_gets_everything_anew() -> None:
    """Changes that wait are one frame; when the next one comes, the page is behind, and is told all."""
    async with shown(inspect_token=TOKEN) as server, server.at("/v1/duplex") as socket:
        await server.session(socket)
        history = server.host.record
        inspector = Inspector(server.host, history, TOKEN)  # type: ignore[arg-type]
        page = inspector.open(None)  # type: ignore[arg-type]
        assert [json.loads(frame)["type"] for frame in page.take()] == ["sessions"]
        page.put(b"one", set())
        assert page.take() == [b"one"]
        page.put(b"two", set())
        page.put(b"three", set())
        assert [json.loads(frame)["type"] for frame in page.take()] == ["sessions"]


async def test_other_machines_are_refused_unless_it_is_said() -> None:
    here, there = Opening("/inspect", peer="127.0.0.1"), Opening("/inspect", peer="192.0.2.7")
    assert await only_here(here) is here
    refusal = await only_here(there)
    assert isinstance(refusal, Page)
    assert refusal.status == 403


def test_the_first_line_of_a_server_says_where_its_pages_are() -> None:
    settings = PageSettings(inspect_token=SecretStr(TOKEN))
    there = {"talk": "https://[::1]:8765/talk", "inspect": "https://[::1]:8765/inspect"}
    assert Pages(settings).told("wss://[::1]:8765/v1/realtime") == there
    assert Pages(PageSettings(talk=False)).told("ws://localhost:8765/v1/realtime") == {}


def test_a_token_is_long_and_comes_from_a_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\nand a remark\n")
    assert token_of(PageSettings(inspect_token_file=file)) == TOKEN
    assert token_of(PageSettings(inspect_token=SecretStr(TOKEN))) == TOKEN
    assert token_of(PageSettings()) == ""
    file.write_text("short\n")
    with pytest.raises(WorldError, match="has 5 characters, and at least 16 are wanted"):
        token_of(PageSettings(inspect_token_file=file))
    with pytest.raises(WorldError, match="cannot be read"):
        token_of(PageSettings(inspect_token_file=tmp_path / "none"))
    with pytest.raises(WorldError, match="there is no inspector without a token"):
        token_of(PageSettings(inspect_anywhere=True))
