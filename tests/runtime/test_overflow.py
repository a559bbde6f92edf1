"""A journal that is full: who is told, who ends, and that nobody loses a frame without a word."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from interlock.errors import ClientError
from interlock.runtime.acts import ClaimLost, ResyncRequired
from interlock.runtime.talk import Session
from interlock.transport.memory import MemoryTransport
from interlock.workers.echo import MIND, VOICE
from interlock.workers.scripted import Script
from tests.runtime.stage_play import LOUD, Play, play, speak_up_to, state

KIB = 1024
SMALL: dict[str, Any] = {"journal_bytes": 64 * KIB, "reserve_bytes": 16 * KIB, "write_bytes": 4 * KIB}


async def test_a_backlog_over_the_limit_ends_an_attached_session_with_its_terminal() -> None:
    async with play(journal_bytes=64 * KIB, reserve_bytes=16 * KIB, write_bytes=4 * KIB, drain_s=10.0) as scene:
        scene.fleet[VOICE].script = Script()
        session, first = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        first.stall()
        (voice,) = scene.fleet[VOICE].held
        for index in range(100):
            scene.fleet[VOICE].audio(voice, index)
        assert state(session, "session") != "OPEN"
        first.allow()
        await first.wait_over()
        assert (first.types[-1], first.events[-1]["reason"]) == ("session.closed", "output_backpressure")
        assert first.types.count("response.done") == 1
        assert scene.host.limits()["journal_bytes"]["high_water"] <= 64 * KIB + 4 * KIB


async def test_sr_11_text_over_the_limit_costs_its_own_session_only() -> None:
    async with play(journal_bytes=64 * KIB, reserve_bytes=16 * KIB, write_bytes=4 * KIB) as scene:
        scene.fleet[MIND].script = Script()
        session, first = await scene.open()
        other, _ = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        first.stall()
        (mind,) = scene.fleet[MIND].held
        for _ in range(100):
            scene.fleet[MIND].output(mind, "text", b"words " * 500)
        assert state(session, "session") != "OPEN"
        assert (state(other, "session"), scene.host.is_stopping) == ("OPEN", False)


async def overflow_detached(scene: Play) -> tuple[Session, MemoryTransport]:
    """Let a reply of many times the journal be made while nobody is attached."""
    scene.fleet[VOICE].script = Script()
    session, first = await scene.open()
    await speak_up_to(scene, session, "response")
    await trio.testing.wait_all_tasks_blocked()
    session.detach()
    (voice,) = scene.fleet[VOICE].held
    for index in range(100):
        scene.fleet[VOICE].audio(voice, index)
    return session, first


async def test_an_overflow_while_detached_closes_the_session() -> None:
    async with play(**SMALL, overflow="close") as scene:
        session, first = await overflow_detached(scene)
        await session.wait_closed()
        with pytest.raises(ClientError, match="journal_overflow"):
            await scene.host.resume(session.session_id, first.credentials[1], 0, scene.transport())


async def test_an_overflow_while_detached_may_drop_the_oldest_and_says_so() -> None:
    async with play(**SMALL, overflow="drop_oldest") as scene:
        session, first = await overflow_detached(scene)
        assert scene.driver(session).frames.size <= 64 * KIB
        token, position = first.credentials[1], first.numbers[-1]
        with pytest.raises(ResyncRequired) as caught:
            await scene.host.resume(session.session_id, token, position, scene.transport())
        second = scene.transport()
        await scene.host.resume(session.session_id, token, caught.value.resumable_from, second)
        assert second.numbers == list(range(caught.value.resumable_from + 1, caught.value.head + 1))


async def test_a_replay_under_way_loses_nothing_to_make_room() -> None:
    """What an earlier transport was handed is not what this one was: it is let go only when this one had it too."""
    async with play(**SMALL, drain_s=10.0, write_s=1000.0) as scene:
        scene.fleet[VOICE].script = Script()
        session, first = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        (voice,) = scene.fleet[VOICE].held
        for index in range(20):
            scene.fleet[VOICE].audio(voice, index)
        await trio.testing.wait_all_tasks_blocked()
        session.detach()
        second = scene.transport(accepts=1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(resume_quietly, scene, session, first, second)
            await second.wait_for("session.resumed")
            await trio.testing.wait_all_tasks_blocked()
            for index in range(20):
                scene.fleet[VOICE].audio(voice, index)
            second.allow()
            await second.wait_over()
        lost = set(first.numbers) - set(second.numbers) - set(voided(scene))
        assert lost == set()
        assert second.events[-1]["reason"] == "output_backpressure"


async def resume_quietly(scene: Play, session: Session, first: MemoryTransport, second: MemoryTransport) -> None:
    with pytest.raises(ClaimLost, match="output_backpressure"):
        await scene.host.resume(session.session_id, first.credentials[1], 0, second)


def voided(scene: Play) -> list[int]:
    """Return the numbers that an interrupt freed: each is a hole, and no loss."""
    found = [record["voided"] for record in scene.trace.records if "voided" in record]
    return [number for record in found for number in (*record["unsent"], *record["sent"])]


async def test_a_piece_of_text_that_overflows_the_journal_ends_the_session_and_is_no_defect(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Found by fuzzing: the response was gone when the text that had ended it went on to the next stage."""
    async with play(journal_bytes=64 * 1024, write_bytes=4096, reserve_bytes=4096) as scene:
        scene.fleet[MIND].script.texts = ()
        session, first = await scene.open()
        session.append(LOUD)
        session.commit()
        await trio.testing.wait_all_tasks_blocked()
        first.stall()
        (mind,) = scene.fleet[MIND].held
        for _ in range(21):
            if scene.fleet[MIND].held:
                scene.fleet[MIND].output(mind, "text", b"x" * 3000)
        await session.wait_closed()
        assert scene.driver(session).value.cells["session", None].data.reason == "output_backpressure"
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
