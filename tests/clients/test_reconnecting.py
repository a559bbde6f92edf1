"""Lines that tear and servers that stop, under client SDKs as they are: what is resumed, and what begins anew.

The proof that nothing was lost and nothing came twice is in what the client was handed: consecutive sequence numbers
over all connections, and every frame of the scripted reply once and in order.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from tests.clients.clients import (
    AGENTS,
    CLIENTS,
    NPM_AGENTS,
    NPM_OPENAI,
    OPENAI,
    Client,
    Door,
    both_doors,
    both_doors_in_time,
    stage,
)
from tests.clients.puppet import Event, Puppet
from tests.clients.talk import LONG, SHORT, answered, ask, frames_of, of_response, ready, script, takes_turns

pytestmark = pytest.mark.real_clock

SWALLOWED = 5
"""Reads of what the server has sent and the client never sees: about as many frames of audio."""

resuming = pytest.mark.parametrize("client", [client for client in CLIENTS if client.resumes], ids=str)
leaving = pytest.mark.parametrize("client", [AGENTS, NPM_AGENTS], ids=str)
reconnecting = pytest.mark.parametrize("client", [client for client in CLIENTS if client.reconnects], ids=str)


async def in_mid_reply(talking: Puppet) -> Event:
    """Have the client be in the middle of an answer; return the session that it is in."""
    await ready(talking, "manual")
    await ask(talking)
    await talking.until("response.output_audio.delta")
    return talking.seen("session.created")[-1]


def credentials(events: list[Event]) -> str:
    """Return what a client that comes back says in its query, as docs/clients.md has it."""
    created = [event for event in events if event["type"] == "session.created"][-1]
    last = max((event["server_event_seq"] for event in events if "server_event_seq" in event), default=0)
    token = [event["resume_token"] for event in events if "resume_token" in event][-1]
    return f"&session_id={created['session']['id']}&resume_token={token}&last_received_server_event_seq={last}"


def judge_whole(events: list[Event], response: Event) -> None:
    """Nothing was lost, nothing came twice: neither a number, nor a frame of the reply."""
    numbers = [event["server_event_seq"] for event in events if "server_event_seq" in event]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert response["status"] == "completed"
    assert frames_of(events, response["id"]) == script(int(LONG[1]))
    assert [event["type"] for event in of_response(events, response)].count("response.done") == 1


@resuming
@both_doors
async def test_a_torn_client_comes_back_by_itself_and_misses_nothing(
    client: Client, door: Door, nursery: trio.Nursery, tmp_path: Path
) -> None:
    setting = await stage(nursery, tmp_path, tls=client.tls, door=door)
    async with setting.serve(*LONG), setting.enter(client, "manual") as talking:
        before = await in_mid_reply(talking)
        for number in (2, 3):
            await setting.line.tear(SWALLOWED)
            back = await talking.until("session.created")
            assert (back["resumed"], back["attachment_generation"]) == (True, number)
            assert back["session"]["id"] == before["session"]["id"]
            assert back["resume_token"] != before["resume_token"]
        response = await answered(talking)
        judge_whole(talking.events, response)
        await ask(talking)
        assert (await answered(talking))["status"] == "completed"
        await talking.leave()


@leaving
@both_doors
async def test_a_client_that_does_not_reconnect_says_so_and_a_new_one_takes_up_its_session(
    client: Client, door: Door, nursery: trio.Nursery, tmp_path: Path
) -> None:
    setting = await stage(nursery, tmp_path, tls=client.tls, door=door)
    async with setting.serve(*LONG):
        async with setting.enter(client, "manual") as torn:
            await in_mid_reply(torn)
            await setting.line.tear(SWALLOWED)
            await torn.until("puppet.ended")
        async with setting.enter(client, "manual", credentials(torn.events)) as talking:
            back = await talking.until("session.created")
            assert (back["resumed"], back["attachment_generation"]) == (True, 2)
            response = await answered(talking)
            judge_whole(torn.events + talking.events, response)
            await talking.leave()


@pytest.mark.parametrize("client", [OPENAI, NPM_OPENAI, AGENTS, NPM_AGENTS], ids=str)
@both_doors_in_time
async def test_a_client_whose_session_was_taken_over_is_told_so_and_does_not_come_back(
    client: Client, door: Door, nursery: trio.Nursery, tmp_path: Path
) -> None:
    setting = await stage(nursery, tmp_path, tls=client.tls, door=door)
    async with setting.serve(*LONG), setting.enter(client, "manual") as first:
        await in_mid_reply(first)
        taker = NPM_AGENTS if client.tls else AGENTS
        async with setting.enter(taker, "manual", credentials(first.events)) as second:
            assert (await second.until("session.created"))["resumed"]
            assert (await first.until("puppet.ended"))["code"] == 4001
            assert not first.seen("puppet.reconnecting")
            assert (await answered(second))["status"] == "completed"
            await second.leave()
        assert setting.line.carried == 2


@reconnecting
@both_doors_in_time
async def test_after_a_restart_a_client_comes_back_to_a_fresh_session(
    client: Client, door: Door, nursery: trio.Nursery, tmp_path: Path
) -> None:
    setting = await stage(nursery, tmp_path, tls=client.tls, door=door)
    async with setting.serve(*SHORT) as first, setting.enter(client, "manual", errors=client.losses) as talking:
        await ready(talking, "manual")
        await ask(talking)
        await answered(talking)
        before = talking.seen("session.created")[-1]
        await first.stop()
        assert first.process.returncode == 0
        async with setting.serve(*SHORT):
            fresh = await talking.until("session.created")
            assert fresh["session"]["id"] != before["session"]["id"]
            assert fresh.get("resumed") is (False if client.resumes else None)
            await talking.until("session.updated", lambda event: takes_turns(event) == "manual")
            await ask(talking)
            assert (await answered(talking))["status"] == "completed"
            await talking.leave()


@leaving
@both_doors_in_time
async def test_a_client_that_does_not_reconnect_ends_with_its_server(
    client: Client, door: Door, nursery: trio.Nursery, tmp_path: Path
) -> None:
    setting = await stage(nursery, tmp_path, tls=client.tls, door=door)
    async with setting.serve(*LONG) as first, setting.enter(client, "manual") as talking:
        await in_mid_reply(talking)
        await first.stop()
        assert first.process.returncode == 0
        ended = await talking.until("puppet.ended")
        assert ended["code"] == 1012
        done = talking.seen("response.done")
        assert [event["response"]["status"] for event in done] == ["cancelled"]
