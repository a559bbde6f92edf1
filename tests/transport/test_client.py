"""The reference client against a scripted server: what it keeps, what it says when, and what it never does."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import trio

from interlock.transport.client import Client, Credentials, open_client
from interlock.transport.client_errors import (
    BufferOverflow,
    ConnectionLost,
    Refused,
    ResumeFailed,
    ResyncRequired,
    SessionOver,
)
from interlock.transport.limits import ClientLimits, SocketLimits
from interlock.wire import outbound
from interlock.wire.lifecycle import LifecycleFacts, lifecycle
from tests.transport.scripted import Seat, deafened, delta, played

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(10)]

QUICK = ClientLimits(
    ack_s=0.05, attempt_s=0.3, backoff_s=0.01, attempts=3, close_s=1.0, socket=SocketLimits(close_s=1.0)
)
CLOSED = lifecycle("session.closed", 9, LifecycleFacts(session_id="s1", reason="client"))[0]


async def create_and_hold(seat: Seat) -> None:
    await seat.create()
    await seat.hold()


async def numbers(client: Client, count: int) -> list[int]:
    return [(await anext(client))["server_event_seq"] for _ in range(count)]


async def test_it_opens_a_session_with_its_first_message_and_keeps_the_credentials() -> None:
    async with played(create_and_hold) as (url, play), open_client(url, {"voice": "x"}, limits=QUICK) as client:
        assert play.seats[0].heard == [{"type": "session.update", "session": {"voice": "x"}}]
        assert client.credentials == Credentials("s1", "t1", 0)
        assert (client.attachment_generation, client.session["id"]) == (1, "s1")


async def test_it_says_what_it_is_told_to() -> None:
    async with played(create_and_hold) as (url, play), open_client(url, limits=QUICK) as client:
        await client.append(b"\x01\x02")
        await client.commit()
        await client.barge_in()
        await client.cancel_response("r1")
        await client.playback_ack(40, "r1")
        await client.say("session.heartbeat")
    assert play.seats[0].heard[1:] == [
        {"type": "input_audio_buffer.append", "audio": base64.b64encode(b"\x01\x02").decode()},
        {"type": "input_audio_buffer.commit"},
        {"type": "barge_in"},
        {"type": "response.cancel", "response_id": "r1"},
        {"type": "playback.ack", "played_ms": 40, "response_id": "r1"},
        {"type": "session.heartbeat"},
    ]
    assert (play.seats[0].transport.close_code, play.seats[0].transport.close_reason) == (1000, "left")


async def test_close_waits_for_the_terminal_event_and_iteration_ends_with_it() -> None:
    async def act(seat: Seat) -> None:
        await seat.create()
        await seat.until("session.close")
        await seat.send(delta(8), CLOSED)

    async with played(act) as (url, _), open_client(url, limits=QUICK) as client:
        await client.close("done")
        assert [event["type"] async for event in client] == ["response.output_audio.delta", "session.closed"]
        assert client.ended == "closed"
        for again in (client.commit(), client.resume()):
            with pytest.raises(SessionOver, match="closed"):
                await again


async def test_jr_01_acks_do_not_wait_for_the_application() -> None:
    acked: list[int] = []
    sent = trio.Event()

    async def act(seat: Seat) -> None:
        await seat.create()
        for seq in range(1, 101):
            await seat.send(delta(seq, 1000))
        while not acked or acked[-1] < 100:
            acked.append((await seat.until("session.event_ack"))["server_event_seq"])
        await seat.send(delta(101))
        assert (await seat.until("session.event_ack"))["server_event_seq"] == 101
        sent.set()
        await seat.hold()

    limits = ClientLimits(ack_s=0.05, buffer_bytes=20_000, socket=QUICK.socket)
    async with played(act) as (url, _), open_client(url, limits=limits) as client:
        await sent.wait()
        with pytest.raises(BufferOverflow) as overflow:
            await anext(client)
        left = await numbers(client, 101 - overflow.value.dropped)
        assert left == list(range(102 - len(left), 102))
    assert sorted(acked) == acked
    assert len(acked) < 20


async def test_one_ack_late_is_sent_alone() -> None:
    async def act(seat: Seat) -> None:
        await seat.create()
        await seat.send(delta(7))
        assert (await seat.read()) == {"type": "session.event_ack", "server_event_seq": 7}
        await seat.send(delta(8))
        await seat.hold()

    async with played(act) as (url, _), open_client(url, limits=QUICK) as client:
        assert await numbers(client, 2) == [7, 8]


async def test_a_torn_connection_resumes_from_the_received_position_proves_itself_and_drops_repetitions() -> None:
    async def first(seat: Seat) -> None:
        await seat.create()
        await seat.send(delta(1), delta(2), delta(5))
        await seat.hold()

    async def second(seat: Seat) -> None:
        await seat.resume("t2", 2, delta(5), delta(6))
        await seat.send(delta(6), delta(7))
        await seat.hold()

    async with played(first, second) as (url, play), open_client(url, limits=QUICK) as client:
        assert await numbers(client, 3) == [1, 2, 5]
        client.tear()
        with pytest.raises(ConnectionLost, match="torn"):
            await anext(client)
        with pytest.raises(ConnectionLost, match="torn"):
            await client.commit()
        await client.resume()
        assert await numbers(client, 2) == [6, 7]
        claim, proof = play.seats[1].heard[:2]
        assert client.credentials == Credentials("s1", "t2", 7)
        assert client.duplicates == 2
    assert play.seats[0].transport.ended == "reset"
    assert claim == {
        "type": "session.resume",
        "session_id": "s1",
        "resume_token": "t1",
        "last_received_server_event_seq": 5,
    }
    assert proof == {"type": "session.event_ack", "server_event_seq": 5, "attachment_generation": 2}


async def test_jr_15_the_position_moves_before_the_event_is_handed_out() -> None:
    async def first(seat: Seat) -> None:
        await seat.create()
        await seat.send(delta(1), delta(2))
        await seat.hold()

    async def second(seat: Seat) -> None:
        await seat.resume("t2", 2, delta(1), delta(2), delta(3))
        await seat.hold()

    seen: list[int] = []
    async with played(first, second) as (url, play), open_client(url, limits=QUICK) as client:
        while not seen or seen[-1] < 3:
            seen.append((await anext(client))["server_event_seq"])
            if seen == [1]:
                await client.resume()
        assert seen == [1, 2, 3]
        assert play.seats[1].heard[0]["last_received_server_event_seq"] >= 1


async def test_a_lost_session_resumed_is_asked_for_again_with_the_same_token() -> None:
    async def never_proved(seat: Seat) -> None:
        await seat.resume(f"lost{len(seat.heard)}", 2, delta(1))
        await seat.hold()

    async def last(seat: Seat) -> None:
        await seat.resume("t4", 4, delta(1))
        await seat.hold()

    async with (
        played(create_and_hold, never_proved, never_proved, last) as (url, play),
        deafened(url, connections={2, 3}) as lossy,
        open_client(lossy, limits=QUICK) as client,
    ):
        client.tear()
        await client.resume()
        assert await numbers(client, 1) == [1]
        assert client.resume_token == "t4"
        claims = [seat.heard[0] for seat in play.seats[1:]]
        assert [claim["resume_token"] for claim in claims] == ["t1", "t1", "t1"]
        assert [claim["last_received_server_event_seq"] for claim in claims] == [0, 0, 0]
        assert [len(seat.heard) for seat in play.seats[1:3]] == [1, 1]


async def test_attempts_are_bounded_and_leave_everything_as_it_was() -> None:
    async def hang_up(seat: Seat) -> None:
        await seat.read()

    async def last(seat: Seat) -> None:
        await seat.resume("t2", 2)
        await seat.hold()

    async with played(create_and_hold, *[hang_up] * 3, last) as (url, play), open_client(url, limits=QUICK) as client:
        with pytest.raises(ResumeFailed, match=r"3 attempts failed.*before session\.resumed"):
            await client.resume()
        assert (len(play.seats), client.credentials) == (4, Credentials("s1", "t1", 0))
        await client.resume()
        assert client.resume_token == "t2"


async def test_a_cancelled_resume_keeps_the_token_that_it_presented() -> None:
    async def silent(seat: Seat) -> None:
        await seat.hold()

    async def last(seat: Seat) -> None:
        await seat.resume("t2", 2)
        await seat.hold()

    async with played(create_and_hold, silent, last) as (url, play), open_client(url, limits=QUICK) as client:
        with trio.move_on_after(0.1) as scope:
            await client.resume()
        assert scope.cancelled_caught
        await client.resume()
        assert [seat.heard[0]["resume_token"] for seat in play.seats[1:]] == ["t1", "t1"]


def refusing(code: str, retryable: bool | None = None) -> Any:
    async def act(seat: Seat) -> None:
        await seat.read()
        await seat.send(outbound.error(code, "no", retryable=retryable))
        await seat.hold()

    return act


async def test_a_refusal_is_final_unless_it_may_succeed_later() -> None:
    acts = [create_and_hold, refusing("resource_exhausted"), refusing("invalid_resume_token")]
    async with played(*acts) as (url, play), open_client(url, limits=QUICK) as client:
        with pytest.raises(Refused) as refused:
            await client.resume()
        assert (refused.value.code, len(play.seats)) == ("invalid_resume_token", 3)


async def test_an_open_that_is_refused_raises_and_leaves_nothing() -> None:
    async with played(refusing("resource_exhausted")) as (url, _):
        with pytest.raises(Refused, match="no"):
            async with open_client(url, limits=QUICK):
                raise AssertionError("not opened")
    with pytest.raises(ConnectionLost, match="cannot connect"):
        async with open_client(url, limits=QUICK):
            raise AssertionError("not opened")


async def test_at_19_a_replaced_client_never_comes_back() -> None:
    async def first(seat: Seat) -> None:
        await seat.create()
        await seat.until("session.heartbeat")
        await seat.send(outbound.session_replaced("s1", 2))
        await seat.transport.close(4001, "session_replaced")

    async def second(seat: Seat) -> None:
        await seat.resume("t2", 2)
        await seat.hold()

    async with (
        played(first, second) as (url, play),
        open_client(url, limits=QUICK) as old,
        open_client(url, credentials=old.credentials, limits=QUICK) as new,
    ):
        await old.say("session.heartbeat")
        assert [event["type"] async for event in old] == ["session.replaced"]
        with pytest.raises(SessionOver, match="replaced"):
            await old.resume()
        assert (new.attachment_generation, new.resume_token, len(play.seats)) == (2, "t2", 2)


async def test_lost_history_is_told_and_may_be_accepted() -> None:
    async def gap(seat: Seat) -> None:
        await seat.read()
        await seat.send(outbound.resync_required("s1", "journal_gap", 40, 50))
        await seat.hold()

    async def second(seat: Seat) -> None:
        await seat.resume("t2", 2, delta(41))
        await seat.hold()

    async with played(create_and_hold, gap, second) as (url, play), open_client(url, limits=QUICK) as client:
        with pytest.raises(ResyncRequired) as lost:
            await client.resume()
        assert (lost.value.resumable_from, lost.value.head, client.position) == (40, 50, 0)
        await client.resume(position=lost.value.resumable_from)
        assert await numbers(client, 1) == [41]
        assert play.seats[2].heard[0]["last_received_server_event_seq"] == 40


async def test_a_resync_while_connected_is_an_event() -> None:
    async def act(seat: Seat) -> None:
        await seat.create()
        await seat.send(outbound.resync_required("s1", "journal_overflow", None, 50))
        await seat.hold()

    async with played(act) as (url, _), open_client(url, limits=QUICK) as client:
        assert (await anext(client))["reason"] == "journal_overflow"


async def test_what_arrives_on_a_connection_that_was_given_up_is_ignored() -> None:
    async def first(seat: Seat) -> None:
        await seat.create()
        await seat.send(*[delta(seq) for seq in range(1, 4)])
        await seat.hold()

    async def second(seat: Seat) -> None:
        await seat.resume("t2", 2, delta(1), delta(2))
        await seat.hold()

    async with played(first, second) as (url, _), open_client(url, limits=QUICK) as client:
        client.tear()
        await client.resume()
        assert await numbers(client, 2) == [1, 2]


@pytest.mark.parametrize("nonsense", [b"{", b"[]", b"[" * 5000])
async def test_a_server_that_sends_no_events_loses_the_connection_only(nonsense: bytes) -> None:
    async def act(seat: Seat) -> None:
        await seat.create()
        await seat.send(nonsense)
        await seat.hold()

    async with played(act) as (url, _), open_client(url, limits=QUICK) as client:
        with pytest.raises(ConnectionLost, match="no event"):
            await anext(client)


async def test_saying_waits_for_room_and_a_cancelled_word_was_not_said() -> None:
    release = trio.Event()

    async def act(seat: Seat) -> None:
        await seat.create()
        await release.wait()
        await seat.hold()

    limits = ClientLimits(outbox_bytes=100_000, socket=QUICK.socket)
    said = 0
    async with played(act) as (url, play), open_client(url, limits=limits) as client:
        with trio.move_on_after(0.3) as scope:
            while True:
                await client.append(bytes(60_000))
                said += 1
        assert scope.cancelled_caught
        release.set()
        await client.leave()
        await play.seats[0].over.wait()
    heard = [message["type"] for message in play.seats[0].heard]
    assert heard.count("input_audio_buffer.append") == said


async def test_closing_a_client_whose_connection_went_says_so() -> None:
    async def act(seat: Seat) -> None:
        await seat.create()
        await seat.until("session.close")
        seat.transport.abort("crash")

    async with played(act) as (url, _), open_client(url, limits=QUICK) as client:
        with pytest.raises(ConnectionLost):
            await client.close()


async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    async with played(create_and_hold, create_and_hold) as (url, play):
        with pytest.raises(ZeroDivisionError):
            async with open_client(url, limits=QUICK):
                raise ZeroDivisionError
        with trio.move_on_after(0.1) as scope:
            async with open_client(url.replace("realtime", "duplex"), limits=QUICK):
                await trio.sleep_forever()
    assert (scope.cancelled_caught, len(play.seats)) == (True, 2)


async def test_only_ws_urls_are_dialled() -> None:
    for url in ("wss://127.0.0.1/v1/realtime", "http://127.0.0.1/"):
        with pytest.raises(ValueError, match="ws"):
            async with open_client(url):
                raise AssertionError("not opened")
