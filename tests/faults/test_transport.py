"""Faults of transports and of clients that reconnect, TW-01 to TW-12 (docs/faults.md), where no other test has them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from interlock.runtime.ports import TransportClosed
from interlock.transport.client import open_client
from interlock.transport.client_errors import ConnectionLost
from interlock.transport.dial import dial
from interlock.transport.limits import ClientLimits, SocketLimits
from interlock.wire import outbound
from interlock.workers.echo import VOICE
from tests.faults.door import alive, door, speak
from tests.runtime.stage_play import play, speak_up_to, state
from tests.transport.scripted import Seat, delta, played

SOURCE = Path(__file__).parents[2] / "src" / "interlock"


@pytest.mark.real_clock
@pytest.mark.timeout_s(20)
async def test_tw_01_a_slow_reader_gets_its_terminal_before_the_socket_ends() -> None:
    """vllm-omni: the endpoint returned when the terminal was queued, and the server cut the socket with it unsent."""
    async with door(frames=2000, journal_bytes=64 * 1024 * 1024) as opened:
        wire, _, _ = await opened.open()
        await speak(wire)
        await opened.until(lambda host: any(d.frames.size > 4 * 1024 * 1024 for d in host.drivers.values()))
        opened.host.stop()  # with megabytes unread, most of them now void
        events = await wire.to_the_end()
        assert [event["type"] for event in events].count("response.done") == 1
        assert (events[-1]["type"], events[-1]["reason"]) == ("session.closed", "server_shutdown")
        assert wire.transport.close_code == 1012


@pytest.mark.real_clock
@pytest.mark.timeout_s(20)
@pytest.mark.parametrize("query", ["", "?duplex=0", "?model=m&duplex=False"])
async def test_tw_04_whoever_asks_for_a_protocol_gets_that_one(query: str) -> None:
    """vllm-omni #7636: an explicit request silently got the other protocol."""
    async with door() as opened:
        realtime = opened.url.replace("duplex", "realtime")
        strict = await opened.dial(query, realtime)
        created = await strict.next()
        assert created is not None
        assert (created["type"], created["session"]["audio"]["input"]["format"]["rate"]) == ("session.created", 24000)
        with pytest.raises(TransportClosed, match="404"):
            await dial(opened.url.replace("duplex", "transcriptions"), SocketLimits())
        for url, asked in ((realtime, "?duplex=1"), (opened.url, "")):
            await alive(await opened.dial(asked, url))


async def test_tw_06_a_client_that_only_listens_is_not_idle() -> None:
    """vllm-omni: no client frame for 300 s detached the socket, although the server was streaming to it."""
    async with play(frames=20_000, idle_s=5.0) as scene:
        scene.fleet[VOICE].script.ahead = 1
        session, first = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.sleep(60.0)
        assert (state(session, "attachment"), first.is_open) == ("ATTACHED", True)
        assert first.types.count("response.output_audio.delta") == pytest.approx(60.0 / 0.04, abs=2)


@pytest.mark.real_clock
@pytest.mark.timeout_s(10)
async def test_tw_08_a_reconnect_has_a_budget_and_ends_with_whoever_wanted_it() -> None:
    """pipecat #4806: the loop had no cap and did not look whether it was still wanted; teardown never ended."""

    async def hold(seat: Seat) -> None:
        await seat.create()
        await seat.hold()

    async def silent(seat: Seat) -> None:
        await seat.hold()

    limits = ClientLimits(attempts=1000, attempt_s=0.05, backoff_s=0.01, backoff_max_s=0.02)
    async with played(hold, *[silent] * 1000) as (url, seats):
        with trio.move_on_after(0.5) as wanted:
            async with open_client(url, limits=limits) as client:
                await client.resume()
        count = len(seats.seats)
        assert (wanted.cancelled_caught, count > 2) == (True, True)
        await trio.testing.wait_all_tasks_blocked(0.1)
        assert len(seats.seats) == count


@pytest.mark.real_clock
@pytest.mark.timeout_s(20)
async def test_tw_10_a_command_that_is_malformed_or_not_ours_is_answered_and_both_loops_go_on() -> None:
    """openai_realtime_client #13: a malformed truncate was refused, and the client's loop died of the refusal."""

    async def refuses(seat: Seat) -> None:
        await seat.create()
        await seat.send(outbound.error("unknown_event", "no truncate"), delta(1))
        await seat.hold()

    async with played(refuses) as (url, _), open_client(url) as client:
        assert [(await anext(client))["type"] for _ in range(2)] == ["error", "response.output_audio.delta"]
    async with door() as opened:
        wire, _, _ = await opened.open()
        await wire.say("conversation.item.truncate", item_id="item_x", audio_end_ms="soon")
        await wire.say("playback.ack", played_ms=-1)
        assert [(await wire.until("error"))["error"]["code"] for _ in range(2)] == ["bad_event", "bad_event"]
        await alive(wire)


@pytest.mark.real_clock
@pytest.mark.timeout_s(10)
async def test_tw_11_a_client_that_left_while_it_was_reconnecting_does_not_come_back() -> None:
    """mattermost-plugin-calls #492: "left" was read off the socket, which a drop had cleared; it rejoined for hours."""

    async def hold(seat: Seat) -> None:
        await seat.create()
        await seat.hold()

    async def again(seat: Seat) -> None:
        await seat.resume("t2", 2)
        await seat.hold()

    limits = ClientLimits(backoff_s=0.05, backoff_max_s=0.05)
    async with played(hold, again) as (url, seats):
        async with open_client(url, limits=limits) as client:
            client.tear()
            with pytest.raises(ConnectionLost):
                await anext(client)
        await trio.testing.wait_all_tasks_blocked(0.2)
        assert len(seats.seats) == 1


def test_tw_12_nothing_hands_data_out_of_an_async_generator_whose_clean_up_could_await() -> None:
    """ray #64077: the generator was closed in mid-send, its clean-up yielded again, and the accounting was skipped."""
    found = {
        f"{file.relative_to(SOURCE)}:{function.name}"
        for folder in ("runtime", "transport", "workers", "embed")
        for file in (SOURCE / folder).rglob("*.py")
        for function in generators(ast.parse(file.read_text()))
    }
    assert found == {"runtime/host.py:open_host", "transport/client.py:open_client"}


def generators(tree: ast.AST) -> Iterator[ast.AsyncFunctionDef]:
    """Yield the async functions that yield."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef) and any(isinstance(inner, ast.Yield) for inner in ast.walk(node)):
            yield node
