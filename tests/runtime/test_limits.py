"""Every limit is met by whoever caused it, with a code, and leaves nothing behind."""

from __future__ import annotations

import contextlib

import pytest
import trio
import trio.testing

from interlock.errors import ClientError, LimitReached
from interlock.runtime.talk import Session
from interlock.tables import messages as m
from interlock.transport.memory import MemoryTransport
from interlock.workers.echo import EARS, MIND, VOICE
from interlock.workers.scripted import Script
from tests.runtime.stage_play import LOUD, Play, play, speak_up_to, state

KIB = 1024


def codes(transport: MemoryTransport) -> list[str]:
    return [event["error"]["code"] for event in transport.events if event["type"] == "error"]


async def test_ap_08_input_over_the_limit_is_refused_and_what_was_heard_makes_room() -> None:
    async with play(input_bytes=64 * KIB) as scene:
        scene.fleet[EARS].script.takes_input = False
        session, _ = await scene.open()
        session.append(b"\0" * 40 * KIB)
        with pytest.raises(LimitReached) as caught:
            session.append(b"\0" * 25 * KIB)
        assert (caught.value.code, caught.value.retryable) == ("input_backpressure", True)
        assert scene.driver(session).value.input_bytes == 40 * KIB
        session.append(b"\0" * 24 * KIB)
        await trio.testing.wait_all_tasks_blocked()
        (listening,) = scene.fleet[EARS].held
        with trio.move_on_after(1.0) as waiting:
            await session.wait_room()
        assert waiting.cancelled_caught
        scene.fleet[EARS].consume(listening)
        await session.wait_room()
        assert scene.driver(session).value.input_bytes == 0


async def test_ap_08_clear_gives_back_what_it_clears_when_the_stage_confirms() -> None:
    async with play() as scene:
        scene.fleet[EARS].script.takes_input = False
        session, _ = await scene.open()
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        session.clear_input()
        session.append(LOUD + LOUD)
        assert scene.driver(session).value.input_bytes == 3 * len(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        assert scene.driver(session).value.input_bytes == 2 * len(LOUD)


async def test_ap_08_a_refused_append_keeps_no_room() -> None:
    """No request can listen any more: the append has not happened, nor has its reservation."""
    async with play(max_requests=2) as scene:
        scene.fleet[EARS].script.abort = "hang"
        session, _ = await scene.open()
        for _ in range(2):
            session.append(LOUD)
            await trio.testing.wait_all_tasks_blocked()
            session.clear_input()
        before = scene.driver(session).value.input_bytes
        with pytest.raises(LimitReached, match="max_requests"):
            session.append(LOUD)
        assert scene.driver(session).value.input_bytes == before
        for held in list(scene.fleet[EARS].held):
            scene.fleet[EARS].confirm(held)
        assert scene.driver(session).value.input_bytes == 0


async def test_ap_10_turns_over_the_limit_are_refused_and_each_is_released_once() -> None:
    async with play(max_turns=2) as scene:
        scene.fleet[EARS].script = Script()
        session, _ = await scene.open()
        with pytest.raises(ClientError, match="no audio"):
            session.commit()
        session.append(LOUD)
        session.commit()
        session.commit()
        with pytest.raises(LimitReached, match="max_turns"):
            session.commit()
        await trio.testing.wait_all_tasks_blocked()
        (listening,) = scene.fleet[EARS].held
        for _ in range(3):
            scene.fleet[EARS].say(listening, "", reason="commit")
        assert scene.driver(session).value.turns == 0


async def test_ap_10_turns_that_waited_for_a_worker_are_all_heard() -> None:
    """Two turns are committed before the ears have a worker: they come as two turns, in their order."""
    async with play() as scene:
        scene.fleet[EARS].script.delay_s = None
        scene.fleet.gone(EARS)
        session, first = await scene.open()
        for _ in range(2):
            session.append(LOUD)
            session.commit()
        assert scene.driver(session).value.turns == 2
        scene.fleet.come_back(EARS)
        await first.wait_for("response.done")
        await trio.testing.wait_all_tasks_blocked()
        assert scene.driver(session).value.turns == 0
        assert first.types.count("conversation.item.input_audio_transcription.completed") == 2


async def test_a_turn_that_finds_no_room_at_the_stages_is_told_and_costs_nobody_else() -> None:
    async with play(max_requests=3) as scene:
        scene.fleet[VOICE].script = Script(abort="hang")
        session, first = await scene.open()
        other, second = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        session.barge_in()
        await trio.testing.wait_all_tasks_blocked()
        session.append(LOUD)
        session.commit()
        await first.wait_for("error")
        assert codes(first) == ["resource_exhausted"]
        assert scene.host.is_stopping is False
        assert scene.driver(session).speeches == {}
        other.heartbeat()
        await second.wait_for("session.heartbeat_ack")
        release(scene)
        session.append(LOUD)
        session.commit()
        await scene.until(session, lambda d: d.value.answered == 2)
        release(scene)


def release(scene: Play) -> None:
    """Let the voice confirm from now on, and everything that it has held back."""
    scene.fleet[VOICE].script.abort = "confirm"
    for held in list(scene.fleet[VOICE].held):
        scene.fleet[VOICE].confirm(held)


async def test_an_answer_over_max_fences_is_not_begun_and_every_interrupt_goes_through() -> None:
    async with play(max_fences=2) as scene:
        scene.fleet[VOICE].script = Script(abort="hang")
        session, first = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        for epoch in (2, 3, 4):
            session.barge_in()
            assert scene.driver(session).value.epoch == epoch
        session.append(LOUD)
        session.commit()
        await first.wait_for("error")
        assert (codes(first), scene.driver(session).value.answered) == (["resource_exhausted"], 1)
        with pytest.raises(LimitReached, match="max_fences = 2"):
            session.create_response()
        assert scene.host.limits()["max_fences"] == {"limit": 2, "now": 2, "high_water": 2}
        release(scene)
        session.create_response()
        assert scene.driver(session).value.answered == 2
        release(scene)


@pytest.mark.parametrize("way", ["barge_in", "cancel", "turn", "lost"])
async def test_no_way_of_ending_an_epoch_passes_max_fences(way: str) -> None:
    async with play(max_fences=3, max_requests=64) as scene:
        scene.fleet[MIND].script.abort = scene.fleet[VOICE].script.abort = "hang"
        scene.fleet[VOICE].script.frames = 0
        session, _ = await scene.open()
        for _ in range(5):
            session.append(LOUD)
            session.commit()
            await trio.testing.wait_all_tasks_blocked()
            end_the_epoch(scene, session, way)
        assert scene.host.limits()["max_fences"]["high_water"] == 3
        for name in (MIND, VOICE):
            for held in list(scene.fleet[name].held):
                scene.fleet[name].confirm(held)
        assert scene.host.limits()["max_fences"]["now"] == 1


def end_the_epoch(scene: Play, session: Session, way: str) -> None:
    match way:
        case "barge_in":
            session.barge_in()
        case "cancel":
            with contextlib.suppress(ClientError):
                session.cancel_response()
        case "turn":
            scene.host.answer(scene.driver(session))
        case _:
            scene.driver(session).dispatch(m.StageLost(VOICE, 1))


async def test_notices_that_nobody_reads_lose_their_transport() -> None:
    async with play(max_notices=4) as scene:
        session, first = await scene.open()
        first.stall()
        session.heartbeat()
        await trio.testing.wait_all_tasks_blocked()  # it is in the write that hangs
        for _ in range(4):
            session.heartbeat()
        assert state(session, "attachment") == "ATTACHED"
        session.heartbeat()
        assert state(session, "attachment") == "DETACHED"
        assert first.aborts == ["notices_overflowed"]
        assert scene.host.limits()["max_notices"]["high_water"] == 4
