"""/talk: the page and its files, and its own session's records and plug, for whoever holds the session's token."""

from __future__ import annotations

import json

import pytest
import trio
from websockets.exceptions import InvalidStatus

from interlock.observe.history import History
from interlock.pages.assets import POLICY
from interlock.serve.feed import DENIED
from interlock.session.books import Sequenced
from tests.serve.shown import TOKEN, end_of, hear, records, say, shown
from tests.transport.served import deaf, frame, raw, reset, rest

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(15)]


async def get(port: int, path: str) -> tuple[int, str, bytes]:
    """Send a plain GET; return status, head and body."""
    answer = await rest(await raw(port, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head.decode(), body


async def test_the_page_and_its_files_come_under_a_policy_that_lets_in_nothing_else() -> None:
    async with shown() as server:
        status, head, body = await get(server.port, "/talk")
        assert status == 200
        assert f"Content-Security-Policy: {POLICY}" in head
        assert "X-Content-Type-Options: nosniff" in head
        assert b"Pull the plug" in body
        status, head, _ = await get(server.port, "/")
        assert (status, "Location: /talk" in head.splitlines()) == (302, True)
        status, head, body = await get(server.port, "/pages/talk.js")
        assert (status, "text/javascript" in head) == (200, True)
        machines = json.loads((await get(server.port, "/pages/machines.json"))[2])
        assert [machine["name"] for machine in machines][1] == "attachment"
        for path in ("/pages/", "/pages/../assets.py", "/pages/%2e%2e/assets.py", "/pages/none.js", "/inspect"):
            assert (await get(server.port, path))[0] == 404


async def test_without_talk_there_is_no_page_and_nothing_is_recorded_for_it() -> None:
    async with shown(talk=False) as server:
        assert (await get(server.port, "/talk"))[0] == 404
        assert (await get(server.port, "/pages/talk.js"))[0] == 404
        assert type(server.host.record).__name__ == "Silent"


async def test_a_session_is_followed_from_its_beginning_with_its_own_token() -> None:
    async with shown() as server, server.at("/v1/duplex") as socket, server.at("/talk/live") as live:
        credentials = await server.session(socket)
        name, token = credentials["session_id"], credentials["resume_token"]
        await say(live, {"type": "watch", "session_id": name, "resume_token": token})
        found = await records(live, "ReplayDelivered")
        assert found[1]["event"]["type"] == "Prepared"
        await say(socket, {"type": "session.close"})
        assert (await records(live, "CloseRequested"))[-1]["session"] == name
        assert token not in json.dumps(found)


@pytest.mark.parametrize(
    "first",
    [
        {"type": "watch", "session_id": "{id}", "resume_token": "wrong"},
        {"type": "watch", "session_id": "sess_of_nobody", "resume_token": "{token}"},
        {"type": "watch", "session_id": "{id}"},
        {"type": "pull_plug", "resume_token": "{token}", "attachment_generation": 1},
    ],
    ids=["another token", "another session", "no token", "another message"],
)
async def test_without_the_token_nothing_is_shown(first: dict[str, object]) -> None:
    async with shown() as server, server.at("/v1/duplex") as socket, server.at("/talk/live") as live:
        credentials = await server.session(socket)
        known = {"{id}": credentials["session_id"], "{token}": credentials["resume_token"]}
        await say(live, {name: known.get(str(value), value) for name, value in first.items()})
        assert await end_of(live) == (DENIED, "this session's own token is needed")


async def test_the_plug_is_a_reset_and_the_session_lives() -> None:
    async with shown() as server, server.at("/v1/duplex") as socket, server.at("/talk/live") as live:
        credentials = await server.session(socket)
        name, token = credentials["session_id"], credentials["resume_token"]
        await say(live, {"type": "watch", "session_id": name, "resume_token": token})
        await records(live, "ReplayDelivered")
        await say(live, {"type": "pull_plug", "resume_token": token, "attachment_generation": 1})
        lost = (await records(live, "TransportLost"))[-1]
        assert lost["event"]["reason"] == "plug_pulled"
        assert await end_of(socket) == (None, "")
        assert [row["to"] for row in lost["rows"]] == ["DETACHED", "GRACE"]
        assert server.host.drivers[name].value.state("session") == "OPEN"


async def test_who_was_superseded_cannot_pull_the_plug_of_the_successor() -> None:
    """Neither with its old token, nor by naming the old generation."""
    async with shown() as server, server.at("/v1/duplex") as one, server.at("/v1/duplex") as two:
        old = await server.session(one)
        resume = {"type": "session.resume", "session_id": old["session_id"], "resume_token": old["resume_token"]}
        async with server.at("/talk/live") as live:
            await say(live, {**resume, "type": "watch"})
            await records(live, "ReplayDelivered")
            await say(two, resume)
            new = await hear(two, "session.resumed")
            await say(two, {"type": "session.event_ack", "server_event_seq": 0, "attachment_generation": 2})
            await records(live, "Acknowledged")
            for token, generation in ((old["resume_token"], 2), (old["resume_token"], 1), (new["resume_token"], 1)):
                await say(live, {"type": "pull_plug", "resume_token": token, "attachment_generation": generation})
            await say(two, {"type": "session.heartbeat"})
            await hear(two, "session.heartbeat_ack")
            driver = server.host.drivers[old["session_id"]]
            assert (driver.value.generation, driver.value.state("attachment")) == (2, "ATTACHED")


@pytest.mark.parametrize("path", ["/talk/live", "/inspect/live"])
async def test_a_page_of_another_origin_is_refused(path: str) -> None:
    async with shown(inspect_token=TOKEN) as server:
        with pytest.raises(InvalidStatus) as refused:
            async with server.at(path, origin="https://elsewhere.example"):
                pass
        assert refused.value.response.status_code == 403
        async with server.at(path, origin=f"http://127.0.0.1:{server.port}") as live:
            assert live.request is not None


async def test_a_page_that_leaves_without_a_word_or_does_not_read_costs_nobody_anything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One is torn while there is much to tell it, one never reads; the session goes on, and nothing waits for them."""
    async with shown() as server, server.at("/v1/duplex") as socket:
        credentials = await server.session(socket)
        watch = {"type": "watch"} | {name: credentials[name] for name in ("session_id", "resume_token")}
        pages = [await deaf(server.port, "/talk/live") for _ in range(2)]
        for page in pages:
            await page.send_all(frame(1, json.dumps(watch).encode()))
        history = server.host.record
        assert isinstance(history, History)
        driver = server.host.drivers[credentials["session_id"]]
        while len(history.books[driver.session_id].followers) < 2:
            await trio.lowlevel.checkpoint()
        for _ in range(20_000):
            driver.dispatch(Sequenced())
        reset(pages[0])
        await say(socket, {"type": "session.heartbeat"})
        await hear(socket, "session.heartbeat_ack")
        while len(history.books[driver.session_id].followers) > 1:
            await trio.lowlevel.checkpoint()
        (slow,) = history.books[driver.session_id].followers
        assert slow.gaps > 0
        reset(pages[1])
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
