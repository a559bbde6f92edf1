"""Faults of the journal and its replay, JR-01 to JR-15 (docs/faults.md), where no other test has them already."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from interlock.errors import ClientError
from interlock.runtime.acts import ResyncRequired
from interlock.session.books import Trimmed
from interlock.wire import outbound
from interlock.workers.echo import VOICE
from interlock.workers.scripted import Script
from tests.runtime.stage_play import play, speak_up_to, state

KIB = 1024


async def test_jr_03_a_session_whose_history_is_lost_says_so_or_ends_and_never_goes_on_without_numbers() -> None:
    """vllm-omni: after an overflow events went out without numbers, and the client believed that it could resume."""
    for overflow in ("close", "drop_oldest"):
        async with play(journal_bytes=64 * KIB, write_bytes=4 * KIB, overflow=overflow) as scene:
            scene.fleet[VOICE].script = Script()
            session, first = await scene.open()
            await speak_up_to(scene, session, "response")
            await trio.testing.wait_all_tasks_blocked()
            session.detach()
            (voice,) = scene.fleet[VOICE].held
            for index in range(60):
                scene.fleet[VOICE].audio(voice, index)
            if overflow == "close":
                await session.wait_closed()
                continue
            with pytest.raises(ResyncRequired) as lost:
                await scene.host.resume(session.session_id, first.credentials[1], first.numbers[-1], scene.transport())
            second = scene.transport()
            again = await scene.host.resume(session.session_id, first.credentials[1], lost.value.resumable_from, second)
            scene.fleet[VOICE].audio(voice)
            again.cancel_response()
            await second.wait_for("response.done")
            journaled = [event for event in second.events if not event["type"].startswith("session.")]
            assert all("server_event_seq" in event for event in journaled)


async def test_jr_06_a_notice_neither_breaks_a_replay_nor_follows_the_end() -> None:
    """vllm-omni: the reader wrote error replies itself, past the lock, into a replay and after session.closed."""
    async with play() as scene:
        session, first = await scene.open()
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        second = scene.transport(accepts=3)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(scene.host.resume, session.session_id, first.credentials[1], 0, second)
            await second.wait_frames(3)
            current = type(session)(scene.driver(session), 2)
            current.notify(lambda n: outbound.error("bad_event", "about one message", n=n))
            second.allow()
        assert second.numbers == sorted(set(second.numbers))
        await trio.testing.wait_all_tasks_blocked()
        assert second.types.count("error") == 1
        second.stall()
        current.close()
        await current.wait_closed()
        current.notify(lambda n: outbound.error("session_closed", "too late", n=n))
        second.allow()
        await second.wait_over()
        assert (second.types[-1], second.types.count("error")) == ("session.closed", 1)


async def test_jr_08_every_event_says_its_own_number_and_nobody_counts() -> None:
    """aspnetcore #55575: one of two code paths did not advance the counter, and both ends counted for themselves."""
    async with play() as scene:
        session, first = await scene.open()
        await scene.speak(session)
        session.heartbeat()
        session.barge_in()
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        numbered = [event for event in first.events if "server_event_seq" in event]
        assert [event["event_id"] for event in numbered] == [f"event_{number}" for number in first.numbers]
        assert len({event["event_id"] for event in first.events}) == len(first.events)


async def test_jr_10_a_position_is_compared_with_the_mark_and_not_looked_for() -> None:
    """socket.io #5282: the packet with the client's offset had been pruned, nothing was missed, the resume refused."""
    async with play(idle_s=3000.0, journal_age_s=60.0) as scene:
        session, first = await scene.open()
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        head = first.numbers[-1]
        await trio.sleep(2000.0)
        scene.driver(session).dispatch(Trimmed(head))
        assert len(scene.driver(session).frames) == 0
        second = scene.transport()
        again = await scene.host.resume(session.session_id, first.credentials[1], head, second)
        assert (again.is_attached, second.numbers) == (True, [])


async def test_jr_11_a_replay_has_the_events_of_its_own_session_alone() -> None:
    """fastmcp #4402: events were stored by ids that were unique only per transport; a replay had another's."""
    async with play() as scene:
        session, first = await scene.open()
        other, second = await scene.open()
        await scene.speak(session)
        await scene.speak(other)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(ClientError) as crossed:
            await scene.host.resume(other.session_id, first.credentials[1], 0, scene.transport())
        assert crossed.value.code == "invalid_resume_token"
        third = scene.transport()
        await scene.host.resume(session.session_id, first.credentials[1], 0, third)
        assert [frame for frame in third.frames[1:] if frame in second.frames] == []
        assert third.frames[1:] == [frame for frame in first.frames if b"server_event_seq" in frame]


async def test_jr_12_what_ends_in_a_gap_is_in_the_journal_when_the_client_comes_back() -> None:
    """cloudflare/agents #1607: the journal was cleared before the last response had been written to the wire."""
    async with play() as scene:
        scene.fleet[VOICE].script = Script()
        session, first = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        session.detach()
        (voice,) = scene.fleet[VOICE].held
        scene.fleet[VOICE].audio(voice)
        scene.fleet[VOICE].finish(voice)
        second = scene.transport()
        await scene.host.resume(session.session_id, first.credentials[1], first.numbers[-1], second)
        assert second.types.count("response.done") == second.types.count("response.output_audio.delta") == 1
        assert not set(first.numbers) & set(second.numbers)


async def test_jr_14_a_replacement_is_known_by_its_generation_and_not_by_an_edge() -> None:
    """hermes-agent #83147: the replacement was open before the old one had closed, and recovery never ran."""
    async with play() as scene:
        session, transport = await scene.open()
        for generation in range(2, 6):
            token, transport = transport.credentials[1], scene.transport()
            again = await scene.host.resume(session.session_id, token, 0, transport)
            assert (again.generation, transport.credentials[2]) == (generation, generation)
            assert state(again, "attachment") == "ATTACHED"
