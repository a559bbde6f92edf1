"""Clocks of the lease: exact, on no task of their own, and never held up by another session."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from interlock.errors import ClientError
from interlock.runtime.talk import Session
from interlock.tables import messages as m
from interlock.workers.echo import EARS, VOICE
from interlock.workers.scripted import Script
from tests.runtime.stage_play import LOUD, Play, play, state


async def ended_after(session: Session, since: float) -> float:
    """Wait for the end; return how many seconds after ``since`` it came."""
    await session.wait_closed()
    return trio.current_time() - since


async def test_le_01_a_detached_session_ends_when_the_grace_is_over_and_not_before() -> None:
    async with play(grace_s=30.0) as scene:
        session, first = await scene.open()
        await trio.sleep(3.0)
        session.detach()
        assert await ended_after(session, trio.current_time()) == pytest.approx(30.0)
        assert (first.closings, first.aborts, scene.host.slots) == ([], ["disconnected"], 0)


async def test_an_idle_session_ends_at_idle_s_exactly_and_is_told_why() -> None:
    async with play(idle_s=120.0) as scene:
        session, first = await scene.open()
        assert await ended_after(session, trio.current_time()) == pytest.approx(120.0)
        await first.wait_over()
        assert (first.types[-1], first.events[-1]["reason"]) == ("session.expired", "idle_ttl_expired")
        assert first.closings == [(1000, "idle_ttl_expired")]


async def test_activity_leaves_a_whole_idle_time_from_itself() -> None:
    async with play(idle_s=120.0) as scene:
        session, _ = await scene.open()
        for _ in range(5):
            await trio.sleep(100.0)
            session.heartbeat()
        assert await ended_after(session, trio.current_time()) == pytest.approx(120.0)


async def test_a_session_that_speaks_is_not_idle() -> None:
    async with play(frames=10_000, idle_s=10.0) as scene:
        scene.fleet[VOICE].script.ahead = 1
        session, _ = await scene.open()
        session.append(LOUD)
        session.commit()
        await trio.sleep(300.0)
        assert state(session, "session") == "OPEN"
        session.barge_in()
        assert await ended_after(session, trio.current_time()) == pytest.approx(10.0)


async def test_a_session_that_waits_for_its_stage_is_not_idle() -> None:
    """Nothing comes and nothing goes, but an answer is owed: asked again after a whole idle time, not in a spin."""
    async with play(idle_s=10.0) as scene:
        scene.fleet[VOICE].script = Script()
        session, _ = await scene.open()
        session.append(LOUD)
        session.commit()
        await trio.testing.wait_all_tasks_blocked()
        before = len(scene.trace.records)
        await trio.sleep(95.0)
        assert state(session, "session") == "OPEN"
        assert len(scene.trace.records) - before == 9


async def test_the_idle_time_is_the_one_of_the_session_s_own_configuration() -> None:
    async with play(idle_s=120.0) as scene:
        began = trio.current_time()
        short, _ = await scene.open(idle_timeout_s=7)
        plain, _ = await scene.open(idle_timeout_s=None)
        assert await ended_after(short, began) == pytest.approx(7.0)
        assert await ended_after(plain, began) == pytest.approx(120.0)


async def test_le_02_two_signals_of_one_loss_do_not_restart_the_grace() -> None:
    async with play(grace_s=30.0) as scene:
        session, first = await scene.open()
        began = trio.current_time()
        session.detach()
        for _ in range(20):
            await trio.sleep(1.0)
            session.detach()
            scene.driver(session).dispatch(m.TransportLost(session.generation, "reset"))
        assert await ended_after(session, began) == pytest.approx(30.0)
        assert len(first.aborts) == 1


async def test_a_bad_token_every_second_does_not_move_the_exact_expiry() -> None:
    async with play(grace_s=30.0) as scene:
        session, first = await scene.open()
        began = trio.current_time()
        session.detach()
        for _ in range(29):
            await trio.sleep(1.0)
            with pytest.raises(ClientError, match="invalid_resume_token"):
                await scene.host.resume(session.session_id, "wrong", 0, scene.transport())
            with pytest.raises(ClientError, match="session_resume_conflict"):
                await scene.host.resume(session.session_id, first.credentials[1], 99, scene.transport())
        assert await ended_after(session, began) == pytest.approx(30.0)


async def test_at_02_each_detach_starts_one_whole_grace() -> None:
    async with play(grace_s=30.0) as scene:
        session, transport = await scene.open()
        for _ in range(3):
            session.detach()
            await trio.sleep(29.0)
            token, transport = transport.credentials[1], scene.transport()
            session = await scene.host.resume(session.session_id, token, 0, transport)
            await trio.sleep(29.0)
        began = trio.current_time()
        transport.tear()
        session.heartbeat()
        assert await ended_after(session, began) == pytest.approx(30.0)


async def test_le_04_a_stage_that_hangs_for_one_session_delays_the_expiry_of_no_other() -> None:
    async with play(grace_s=30.0, cleanup_s=5.0) as scene:
        scene.fleet[EARS].script.abort = "hang"
        stuck, _ = await scene.open()
        stuck.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        stuck.detach()
        await trio.sleep(1.0)
        other, _ = await scene.open()
        other.detach()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(expect_end, stuck, began + 35.0)
            nursery.start_soon(expect_end, other, began + 31.0)
        assert (state(stuck, "session"), state(other, "session")) == ("QUARANTINED", "CLOSED")
        (held,) = scene.fleet[EARS].held
        scene.fleet[EARS].confirm(held)


async def expect_end(session: Session, at: float) -> None:
    await session.wait_closed()
    assert trio.current_time() == pytest.approx(at)


async def test_a_write_without_progress_loses_its_transport_after_write_s() -> None:
    async with play(write_s=20.0) as scene:
        session, first = await scene.open()
        first.stall()
        session.heartbeat()
        began = trio.current_time()
        await first.wait_over()
        assert trio.current_time() - began == pytest.approx(20.0)
        assert (first.aborts, state(session, "attachment")) == (["write_timeout"], "DETACHED")


async def test_jr_05_frames_that_were_handed_over_age_while_attached_and_never_while_detached() -> None:
    async with play(journal_age_s=60.0, grace_s=60.0, idle_s=1000.0) as scene:
        session, first = await scene.open()
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        old = first.numbers[-1]
        await trio.sleep(61.0)
        await speak_again(scene, session)
        assert scene.driver(session).value.journal.trimmed == old
        session.detach()
        await trio.sleep(59.0)
        second = scene.transport()
        await scene.host.resume(session.session_id, first.credentials[1], old, second)
        assert second.numbers == first.numbers[first.numbers.index(old) + 1 :]


async def speak_again(scene: Play, session: Session) -> None:
    """Say something more, and return when the reply has arrived."""
    session.append(LOUD)
    session.commit()
    await scene.until(session, lambda driver: sum(entry.ended for entry in driver.value.playback) == 2)
    await trio.testing.wait_all_tasks_blocked()
