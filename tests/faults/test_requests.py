"""Faults of stage requests and their clean-up, SR-01 to SR-20 (docs/faults.md), where no other test has them."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from interlock.errors import ClientError
from interlock.runtime.talk import Session
from interlock.workers.echo import EARS, MIND, VOICE
from interlock.workers.protocol import Abort, Append, Submit
from interlock.workers.scripted import Script
from tests.runtime.stage_play import LOUD, Play, play, speak_up_to, state


async def speaking(scene: Play, session: Session) -> str:
    """Bring a session to where its voice works; return that request."""
    await speak_up_to(scene, session, "response")
    await trio.testing.wait_all_tasks_blocked()
    return next(iter(scene.fleet[VOICE].held))


async def test_sr_02_a_close_whose_clean_up_fails_keeps_ids_and_slot_until_a_retry_succeeds() -> None:
    """vllm-omni #3907: the records were dropped before the clean-up."""
    async with play(max_sessions=1) as scene:
        scene.fleet[VOICE].script = Script(abort_failures=2)
        session, _ = await scene.open()
        voice = await speaking(scene, session)
        session.close()
        await trio.testing.wait_all_tasks_blocked()
        assert (state(session, "request", voice), state(session, "session"), scene.host.slots) == ("OWED", "CLOSING", 1)
        await session.wait_closed()
        assert [order.request_ids for order in scene.fleet.orders_of(Abort, VOICE)] == [[voice]] * 3
        assert (state(session, "session"), scene.host.slots) == ("CLOSED", 0)


async def test_sr_04_nothing_is_pumped_into_a_request_once_it_is_over() -> None:
    """vllm-omni #5388: the pump of a request survived its abort and went on sending."""
    async with play() as scene:
        scene.fleet[MIND].script, scene.fleet[VOICE].script = Script(), Script()
        session, _ = await scene.open()
        await speaking(scene, session)
        (mind,), (voice,) = scene.fleet[MIND].held, scene.fleet[VOICE].held
        scene.fleet[MIND].output(mind, "text", b"one ")
        session.barge_in()
        scene.fleet[MIND].output(mind, "text", b"two")
        await trio.testing.wait_all_tasks_blocked()
        scene.fleet[MIND].output(mind, "text", b"three")
        assert [order.payload for order in scene.fleet.orders_of(Append, VOICE)] == [b"one "]
        assert voice not in scene.driver(session).inputs


@pytest.mark.parametrize("reached", ["RESERVED", "SUBMITTING", "RUNNING", "ABORTING", "OWED"])
async def test_sr_06_an_abort_is_total_over_the_states_of_a_request(reached: str) -> None:
    """vllm-omni #4271, #6529: an abort met a request in a waiting queue, and the shared engine died."""
    async with play() as scene:
        scene.fleet[VOICE].script = Script(submit="hang" if reached == "SUBMITTING" else "accept", abort="hang")
        if reached == "RESERVED":
            scene.fleet.gone(VOICE)
        session, _ = await scene.open()
        other, _ = await scene.open()
        response_id = await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        voice = f"{response_id}.{VOICE}"
        if reached in ("ABORTING", "OWED"):
            session.barge_in()
        if reached == "OWED":
            scene.fleet[VOICE].refuse_abort(voice)
        assert state(session, "request", voice) == reached
        session.close()
        if reached == "RESERVED":
            scene.fleet.come_back(VOICE)
        scene.fleet[VOICE].script = Script(frames=2, ahead=2, begins="input")
        for held in list(scene.fleet[VOICE].held):
            scene.fleet[VOICE].confirm(held)
        await session.wait_closed()
        assert state(session, "session") == "CLOSED"
        await scene.speak(other)


async def test_sr_08_what_is_counted_is_counted_from_the_books_each_time() -> None:
    """vllm-omni #6529: a counter of parked requests was not updated on abort, and the stage hung."""
    async with play() as scene:
        scene.fleet[VOICE].script = Script(abort="hang")
        session, _ = await scene.open()
        voice = await speaking(scene, session)
        cells = scene.driver(session).value.cells
        limits = scene.host.limits()
        for name, limit in (("request", "max_requests"), ("response", "max_responses"), ("fence", "max_fences")):
            assert limits[limit]["now"] == sum(machine == name for machine, _ in cells)
        session.barge_in()
        scene.fleet[VOICE].confirm(voice)
        session.clear_input()
        await trio.testing.wait_all_tasks_blocked()
        assert (scene.host.limits()["max_requests"]["now"], scene.fleet.held) == (0, 0)


async def test_sr_10_a_parked_request_that_grows_too_large_fails_at_once_and_alone() -> None:
    """vllm-omni #7277: the worker asserted, and the whole service was down."""
    async with play() as scene:
        session, first = await scene.open()
        other, _ = await scene.open()
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        (parked,) = scene.fleet[EARS].held
        began = trio.current_time()
        scene.fleet[EARS].fail(parked, "context is full")
        error = await first.wait_for("error")
        assert (error["error"]["message"], trio.current_time() - began) == ("context is full", 0.0)
        await scene.speak(other)
        await scene.speak(session)


async def test_sr_12_no_id_is_ever_used_again_and_none_is_left_after_its_turn() -> None:
    """vllm-omni #7691: requests of finished turns piled up, and a finished id was used for the next one."""
    async with play() as scene:
        session, _ = await scene.open()
        for number in range(1, 6):
            session.append(LOUD)
            session.commit()
            await scene.until(session, lambda d, n=number: sum(e.ended for e in d.value.playback) == n)
            await trio.testing.wait_all_tasks_blocked()
            assert scene.host.limits()["max_requests"]["now"] == 1  # its ears
            if number % 2:
                session.clear_input()
        submitted = [order.request_id for order in scene.fleet.orders_of(Submit)]
        assert len(submitted) == len(set(submitted)) == 2 * 5 + 3


@pytest.mark.parametrize("stage", [MIND, VOICE])
async def test_sr_15_an_interrupt_inside_the_submit_is_cleaned_up_with_an_abort(stage: str) -> None:
    """vllm-omni: the stage may have accepted, and the record said reserved; the clean-up came without an abort."""
    async with play() as scene:
        scene.fleet[stage].script = Script(submit="hang", abort="hang")
        session, _ = await scene.open()
        response_id = await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        request_id = f"{response_id}.{stage}"
        assert state(session, "request", request_id) == "SUBMITTING"
        session.barge_in()
        scene.fleet[stage].accept(request_id)  # late: it had been taken after all
        assert state(session, "request", request_id) == "ABORTING"
        assert [order.request_ids for order in scene.fleet.orders_of(Abort, stage)] == [[request_id]]
        scene.fleet[stage].confirm(request_id)
        assert (state(session, "request", request_id), scene.fleet[stage].held) == ("", {})


async def test_sr_17_the_clean_up_of_each_id_is_its_own_and_only_what_failed_is_tried_again() -> None:
    """vllm-omni: close made two calls; when the second failed, the retry repeated the first."""
    async with play() as scene:
        scene.fleet[MIND].script, scene.fleet[VOICE].script = Script(), Script(abort_failures=1)
        session, _ = await scene.open()
        await speaking(scene, session)
        session.close()
        await session.wait_closed()
        counts = {stage: len(scene.fleet.orders_of(Abort, stage)) for stage in (EARS, MIND, VOICE)}
        assert counts == {EARS: 1, MIND: 1, VOICE: 2}


async def test_sr_19_aborted_is_what_the_stage_says_and_not_what_was_asked() -> None:
    """verl-omni #380: the abort was fired and forgotten, and the caller went on as if the work had stopped."""
    async with play(cleanup_s=9.0) as scene:
        scene.fleet[VOICE].script = Script(abort="hang")
        session, first = await scene.open()
        voice = await speaking(scene, session)
        session.close()
        await trio.testing.wait_all_tasks_blocked()
        assert (state(session, "session"), scene.host.slots, "session.closed" in first.types) == ("CLOSING", 1, False)
        await trio.sleep(4.0)
        scene.fleet[VOICE].confirm(voice)
        await first.wait_over()
        assert (first.types[-1], scene.host.slots) == ("session.closed", 0)


async def test_sr_20_work_that_waits_for_a_client_that_left_is_never_begun() -> None:
    """ray #21438: queued work of departed clients was executed in order, and useful work starved."""
    async with play(grace_s=1.0, reserve_s=60.0, idle_s=600.0) as scene:
        scene.fleet.gone(VOICE)
        gone = [(await scene.open())[0] for _ in range(5)]
        for session in gone:
            await speak_up_to(scene, session, "response")
            await trio.testing.wait_all_tasks_blocked()
            session.detach()
        await trio.sleep(1.1)
        assert scene.host.slots == 0
        scene.fleet.come_back(VOICE)
        stays, _ = await scene.open()
        await scene.speak(stays)
        assert len(scene.fleet.orders_of(Submit, VOICE)) == 1


async def test_a_clean_up_that_never_succeeds_rests_after_max_retries_and_is_still_owed() -> None:
    """Issue of this house: retries had no end. It rests, visible; a late confirmation still releases it."""
    async with play(max_retries=3, idle_s=3000.0) as scene:
        scene.fleet[VOICE].script = Script(abort="refuse")
        session, first = await scene.open()
        voice = await speaking(scene, session)
        session.barge_in()
        await trio.sleep(600.0)
        assert len(scene.fleet.orders_of(Abort, VOICE)) == 4
        (owed,) = scene.host.owed()
        assert (owed["id"], owed["state"], owed["retries"], owed["rests"]) == (voice, "OWED", 3, True)
        assert [timer.target for timer in scene.host.deadlines.armed] == ["lease"]
        assert first.types.count("error") == 1
        scene.fleet[VOICE].confirm(voice)
        assert (scene.host.owed(), state(session, "fence", 1)) == ([], "")


async def test_a_clean_up_that_rests_is_tried_once_more_by_a_close_and_ended_by_its_workers_death() -> None:
    async with play(max_retries=0, cleanup_s=2.0) as scene:
        scene.fleet[VOICE].script = Script(abort="refuse")
        session, _ = await scene.open()
        voice = await speaking(scene, session)
        session.barge_in()
        await trio.sleep(60.0)
        assert len(scene.fleet.orders_of(Abort, VOICE)) == 1
        session.close()
        await session.wait_closed()
        assert len(scene.fleet.orders_of(Abort, VOICE)) == 2
        assert (state(session, "session"), state(session, "request", voice)) == ("QUARANTINED", "OWED")
        with pytest.raises(ClientError):
            session.heartbeat()
        scene.fleet.gone(VOICE)
        assert (state(session, "session"), scene.host.slots) == ("CLOSED", 0)
