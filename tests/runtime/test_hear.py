"""What stages say, true or not, early or late: it concerns one session, and never the host."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from interlock.runtime.hear import TOGETHER, runs
from interlock.runtime.ports import Consumed, Failed, Output, Reply
from interlock.runtime.talk import Session
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.protocol import Finish
from interlock.workers.scripted import Script
from tests.runtime.stage_play import LOUD, play, state


class Four(EchoPipeline):
    """A chain of three stages behind the ears."""

    answer = (MIND, VOICE, "lips")


async def test_sr_11_a_voice_that_finishes_early_leaves_the_mind_to_speak_to_nobody() -> None:
    async with play() as scene:
        scene.fleet[MIND].script = Script()
        scene.fleet[VOICE].script = Script()
        session, first = await scene.open()
        await say(session)
        (mind,), (voice,) = scene.fleet[MIND].held, scene.fleet[VOICE].held
        scene.fleet[VOICE].finish(voice)
        scene.fleet[MIND].output(mind, "text", b"still talking")
        scene.fleet[MIND].finish(mind)
        done = await first.wait_for("response.done")
        assert done["response"]["status"] == "completed"
        assert scene.host.is_stopping is False


async def say(session: Session) -> None:
    session.append(LOUD)
    session.commit()
    await trio.testing.wait_all_tasks_blocked()


@pytest.mark.parametrize("order", ["012", "021", "102", "120", "201", "210"])
async def test_a_chain_of_three_completes_in_whatever_order_its_stages_finish(order: str) -> None:
    async with play(pipeline=Four()) as scene:
        stages = [MIND, VOICE, "lips"]
        for name in stages:
            scene.fleet[name].script = Script()
        session, first = await scene.open()
        await say(session)
        for index in order:
            (held,) = scene.fleet[stages[int(index)]].held
            scene.fleet[stages[int(index)]].finish(held)
        done = await first.wait_for("response.done")
        assert (done["response"]["status"], state(session, "session")) == ("completed", "OPEN")
        finished = [order.request_id.rpartition(".")[2] for order in scene.fleet.orders_of(Finish)[1:]]
        assert sorted(finished) == sorted(
            stages[i + 1] for i in range(2) if order.index(str(i)) < order.index(str(i + 1))
        )


async def test_a_stage_that_refuses_inside_the_call_leaves_no_audio_behind() -> None:
    async with play() as scene:
        scene.fleet[EARS].script = Script(submit="refuse", delay_s=None)
        session, first = await scene.open()
        session.append(LOUD)
        await first.wait_for("error")
        value = scene.driver(session).value
        assert (value.input_bytes, scene.driver(session).inputs) == (0, {})
        scene.fleet[EARS].script = Script(transcript="hello", delay_s=None)
        session.append(LOUD)
        session.commit()
        await first.wait_for("response.done")
        assert scene.driver(session).value.input_bytes == 0


async def test_a_stage_that_takes_more_than_it_was_given_frees_no_more_than_that() -> None:
    async with play() as scene:
        scene.fleet[EARS].script.takes_input = False
        session, _ = await scene.open()
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        (listening,) = scene.fleet[EARS].held
        scene.fleet[EARS].reply(Consumed(listening, -5))
        assert scene.driver(session).value.input_bytes == len(LOUD)
        scene.fleet[EARS].reply(Consumed(listening, 10**9))
        scene.fleet[EARS].reply(Consumed(listening, 10**9))
        assert scene.driver(session).value.input_bytes == 0


async def test_sr_05_outputs_for_requests_that_are_no_more_are_counted_and_dropped() -> None:
    async with play() as scene:
        session, first = await scene.open()
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        frames, records = len(first.frames), len(scene.trace.records)
        stale = scene.host.stale
        voice = next(key for key in scene.fleet[VOICE]._epochs)
        for kind in ("audio", "text", "speech_started", "transcript", "no such kind"):
            scene.fleet[VOICE].reply(Output(voice, 1, kind, b"\xff\xfe"))
        assert scene.host.stale == stale + 5
        assert (len(first.frames), len(scene.trace.records)) == (frames, records)


async def test_every_kind_of_output_from_every_stage_leaves_the_host_standing() -> None:
    """Bytes that are no text, audio from the ears, a transcript from the voice: one session's matter at most."""
    async with play() as scene:
        for name in (MIND, VOICE):
            scene.fleet[name].script = Script()
        session, _ = await scene.open()
        await say(session)
        for name in (VOICE, MIND, EARS):
            for held in list(scene.fleet[name].held):
                for kind in ("audio", "text", "speech_stopped", "no such kind", "speech_started"):
                    scene.fleet[name].output(held, kind, b"\xff\xfe\xfd", at_ms=-1)
        await trio.testing.wait_all_tasks_blocked()
        assert (scene.host.is_stopping, state(session, "session")) == (False, "OPEN")


async def test_fe_07_a_late_stage_s_failure_goes_to_the_response_that_owns_the_request() -> None:
    async with play() as scene:
        scene.fleet[VOICE].script = Script(abort="hang")
        session, first = await scene.open()
        await say(session)
        (old,) = scene.fleet[VOICE].held
        session.append(LOUD)
        session.commit()
        await scene.until(session, lambda d: d.value.answered == 2)
        await trio.testing.wait_all_tasks_blocked()
        scene.fleet[VOICE].fail(old)
        new = next(held for held in scene.fleet[VOICE].held if held != old)
        scene.fleet[VOICE].finish(new)
        await trio.testing.wait_all_tasks_blocked()
        statuses = [e["response"]["status"] for e in first.events if e["type"] == "response.done"]
        assert statuses == ["cancelled", "completed"]
        scene.fleet[VOICE].confirm(old)


def test_one_breath_is_cut_where_something_else_begins_and_never_longer_than_the_limit() -> None:
    audio = [Output("r", 1, "audio", bytes([n])) for n in range(TOGETHER + 2)]
    later, text, done = Output("r", 2, "audio"), Output("r", 2, "text"), Consumed("r", 1)
    said: tuple[Reply, ...] = (*audio, later, later, text, text, done)
    cut = [tuple(audio[:TOGETHER]), tuple(audio[TOGETHER:]), (later, later), (text,), (text,), (done,)]
    assert list(runs(said)) == cut
    assert list(runs((done,))) == [(done,)]


@pytest.mark.parametrize("by", ["clear", "failure"])
async def test_a_turn_that_the_ears_have_committed_and_lost_is_told_and_takes_the_wish_with_it(by: str) -> None:
    async with play() as scene:
        scene.fleet[EARS].script = Script()
        session, first = await scene.open()
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        (listening,) = scene.fleet[EARS].held
        scene.fleet[EARS].output(listening, "speech_started")
        scene.fleet[EARS].output(listening, "speech_stopped")
        session.create_response()
        if by == "clear":
            session.clear_input()
        else:
            scene.fleet[EARS].reply(Failed(listening, "engine_error"))
        await trio.testing.wait_all_tasks_blocked()
        codes = [event["error"]["code"] for event in first.events if event["type"] == "error"]
        assert codes.count("commit_aborted") == 1
        assert scene.driver(session).wanted is None
