"""Clients that behave badly, over real sockets: each is told by a code, and a bystander notices nothing."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from interlock.workers.echo import EARS
from tests.faults.door import LOUD, alive, door, speak
from tests.serve.wire import Wire

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(20)]


async def code_of(wire: Wire) -> str:
    """Return the code of the next error."""
    code: str = (await wire.until("error"))["error"]["code"]
    return code


async def prove(wire: Wire, resumed: dict[str, Any]) -> None:
    """Ack the answer to a resume, with its generation."""
    generation = resumed["attachment_generation"]
    await wire.say("session.event_ack", server_event_seq=0, attachment_generation=generation)


async def test_a_client_that_never_reads_loses_its_own_session_and_no_other() -> None:
    async with door(frames=3000, journal_bytes=1024 * 1024, write_s=0.5, drain_s=0.5) as opened:
        bystander, _, _ = await opened.open()
        slow, session_id, _ = await opened.open()
        await speak(slow)
        await opened.until(lambda host: session_id not in host.drivers)
        assert "output_backpressure" in str(opened.host.tombs.error(session_id))
        await alive(bystander)


async def test_a_client_that_never_acks_is_served_for_as_long_as_it_reads() -> None:
    async with door(frames=60, journal_bytes=256 * 1024) as opened:
        wire, session_id, token = await opened.open()
        for _ in range(3):
            await speak(wire)
            await wire.until("response.done")
        driver = opened.host.drivers[session_id]
        assert driver.frames.size <= 256 * 1024
        assert driver.value.journal.trimmed > 0
        wire.tear()
        _, first = await opened.resume(session_id, token, 0)
        assert (first["type"], first["resumable_from"]) == ("session.resync_required", driver.value.journal.trimmed)
        _, first = await opened.resume(session_id, token, first["resumable_from"])
        assert first["type"] == "session.resumed"


async def test_a_client_that_acks_the_future_is_refused_each_time_and_proves_nothing() -> None:
    async with door() as opened:
        bystander, _, _ = await opened.open()
        wire, session_id, token = await opened.open()
        await alive(wire)
        before = opened.host.drivers[session_id].value
        for position in (1, 2**53):
            await wire.say("session.event_ack", server_event_seq=position, attachment_generation=1, event_id="e")
            assert await code_of(wire) == "invalid_event_ack"
        assert opened.host.drivers[session_id].value == before
        _, first = await opened.resume(session_id, token)
        assert first["type"] == "session.resumed"
        await alive(bystander)


async def test_old_tokens_are_refused_however_often_and_move_nothing() -> None:
    async with door() as opened:
        wire, session_id, zeroth = await opened.open()
        tokens = [zeroth]
        for _ in range(3):
            wire, first = await opened.resume(session_id, tokens[-1])
            tokens.append(first["resume_token"])
            await wire.say(
                "session.event_ack", server_event_seq=0, attachment_generation=first["attachment_generation"]
            )
            await alive(wire)
        before = opened.host.drivers[session_id].value
        for token in tokens[:-1] * 5:
            other, first = await opened.resume(session_id, token)
            assert first["error"]["code"] == "invalid_resume_token"
            other.tear()
        assert opened.host.drivers[session_id].value == before._replace(refused=15)
        await alive(wire)


async def test_two_clients_that_take_over_from_each_other_leave_one_attached_and_nothing_behind() -> None:
    async with door(evict_s=0.5) as opened:
        wire, session_id, token = await opened.open()
        for generation in range(2, 32):
            old = wire
            wire, first = await opened.resume(session_id, token)
            assert first["attachment_generation"] == generation
            token = first["resume_token"]
            await old.to_the_end()
            assert (old.events[-1]["type"], old.transport.close_code) == ("session.replaced", 4001)
        await opened.until(lambda host: not host.owed())
        assert len(opened.host.drivers[session_id].deliveries) == 1
        assert opened.host.limits()["max_evicting"]["high_water"] <= 2


async def test_a_token_is_spent_when_its_successor_was_proved_and_not_before() -> None:
    async with door() as opened:
        _, session_id, token = await opened.open()
        for _ in range(2):
            await opened.resume(session_id, token)
        wire, first = await opened.resume(session_id, token)
        assert first["type"] == "session.resumed"
        await prove(wire, first)
        await alive(wire)
        _, refused = await opened.resume(session_id, token)
        assert refused["error"]["code"] == "invalid_resume_token"
        _, again = await opened.resume(session_id, first["resume_token"])
        assert again["type"] == "session.resumed"


async def test_every_answer_on_a_connection_has_an_event_id_of_its_own() -> None:
    """Errors about messages without an event_id of their own were all called event_error_0."""
    async with door() as opened:
        wire = await opened.dial()
        for data in (b"not json", b"{}"):
            await wire.raw(data)
            await wire.until("error")
        await wire.say("session.update", session={})
        await wire.until("session.updated")
        for _ in range(3):
            await wire.raw(b"not json")
            await wire.say("playback.ack", played_ms=1, response_id="nobody", event_id="mine")
            await wire.say("session.heartbeat")
            await wire.say("session.update", session={"voice": "v"})
        await wire.until("session.updated")
        await wire.until("session.updated")
        await wire.until("session.updated")
        ids = [event["event_id"] for event in wire.events]
        assert len(set(ids)) == len(ids) == 2 + 2 + 12
        abouts = [event["error"].get("event_id") for event in wire.events if event["type"] == "error"]
        assert abouts == [None, None, *[None, "mine"] * 3]


async def test_turns_that_a_clear_takes_along_are_told_to_the_client() -> None:
    async with door() as opened:
        opened.fleet[EARS].script.submit = "hang"
        wire, _, _ = await opened.open()
        await wire.say("input_audio_buffer.append", audio=LOUD)
        for _ in range(2):
            await wire.say("input_audio_buffer.commit")
        await wire.say("input_audio_buffer.clear")
        assert [await code_of(wire) for _ in range(2)] == ["commit_aborted"] * 2
        await alive(wire)
        assert [event["type"] for event in wire.events].count("input_audio_buffer.cleared") == 1


async def test_a_clear_of_the_output_is_answered_when_there_was_something_and_refused_when_not() -> None:
    async with door() as opened:
        wire, _, _ = await opened.open()
        await wire.say("output_audio_buffer.clear")
        assert await code_of(wire) == "response_not_active"
        await speak(wire)
        done = await wire.until("response.done")
        await wire.say("output_audio_buffer.clear", response_id=done["response_id"])
        assert (await wire.until("output_audio_buffer.cleared"))["response_id"] == done["response_id"]
        await wire.say("playback.ack", played_ms=100, response_id=done["response_id"])
        assert await code_of(wire) == "playback_ack_too_late"


async def test_an_idle_time_has_an_upper_bound_and_an_update_reaches_the_lease() -> None:
    async with door(idle_s=5.0, idle_max_s=10.0) as opened:
        greedy = await opened.dial()
        await greedy.say("session.update", session={"idle_timeout_s": 1e9})
        error = (await greedy.until("error"))["error"]
        assert (error["code"], error["param"]) == ("invalid_session_config", "idle_timeout_s")
        wire, session_id, _ = await opened.open(idle_timeout_s=8)
        await wire.say("session.update", session={"idle_timeout_s": 11, "voice": "high"})
        assert await code_of(wire) == "invalid_session_config"
        assert opened.host.drivers[session_id].config == {"idle_timeout_s": 8}
        began = trio.current_time()
        await wire.say("session.update", session={"idle_timeout_s": 0.3})
        events = await wire.to_the_end()
        assert (events[-1]["type"], events[-1]["reason"]) == ("session.expired", "idle_ttl_expired")
        assert 0.3 <= trio.current_time() - began < 3.0
