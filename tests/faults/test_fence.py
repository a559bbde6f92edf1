"""Faults of epochs, interrupts and turns, FE-01 to FE-27 (docs/faults.md), where no other test has them already."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from interlock.errors import ClientError
from interlock.tables import messages as m
from interlock.transport.memory import MemoryTransport
from interlock.workers.echo import EARS, MIND, VOICE
from interlock.workers.link import OrderLink
from interlock.workers.protocol import Append, Finish, Submit
from interlock.workers.scripted import Script
from tests.runtime.stage_play import LOUD, play, speak_up_to, state

DELTA = "response.output_audio.delta"


def statuses(transport: MemoryTransport) -> list[str]:
    return [event["response"]["status"] for event in transport.events if event["type"] == "response.done"]


async def test_fe_01_an_abort_that_raises_leaves_no_two_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """vllm-omni #6154: the local epoch had advanced, the stage had not; later output was stale to one of them."""
    async with play() as scene:
        scene.fleet[VOICE].script.ends = False
        session, first = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        with monkeypatch.context() as patch:
            patch.setattr(OrderLink, "abort", lambda *_: 1 / 0)
            session.barge_in()
        scene.fleet[VOICE].script.ends = True
        session.append(LOUD)
        session.commit()
        await scene.until(session, lambda d: d.value.answered == 2 and all(e.ended for e in d.value.playback))
        await trio.testing.wait_all_tasks_blocked()
        assert statuses(first) == ["cancelled", "completed"]
        assert [submit.epoch for submit in scene.fleet.orders_of(Submit, VOICE)] == [1, 2]
        await trio.sleep(1.0)
        assert scene.host.owed() == []


async def test_fe_03_a_cancel_from_three_sides_is_one_terminal_and_nothing_after_it() -> None:
    """vllm-omni #6154, #6494: two cancelled terminals, or audio of the old epoch after the first."""
    async with play() as scene:
        scene.fleet[VOICE].script.ends = False
        session, first = await scene.open()
        response_id = await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        (voice,) = scene.fleet[VOICE].held
        (listening,) = scene.fleet[EARS].held
        session.cancel_response(response_id)
        scene.fleet[EARS].hear(listening, "speech_started")
        session.cancel_response(response_id)
        session.barge_in()
        scene.fleet[VOICE].audio(voice)
        await trio.testing.wait_all_tasks_blocked()
        assert statuses(first) == ["cancelled"]
        after = first.types[first.types.index("response.done") :]
        assert DELTA not in after


async def test_fe_05_a_cleared_response_holds_up_no_answer_and_its_position_is_final() -> None:
    """vllm-omni #7864: the wait for playback was never released, and each later create was "already active"."""
    async with play() as scene:
        session, first = await scene.open()
        await scene.speak(session)
        (entry,) = scene.driver(session).value.playback
        session.playback_ack(entry.response_id, 120.0)
        session.cancel_response(entry.response_id)  # it is complete, and still being played
        with pytest.raises(ClientError) as late:
            session.playback_ack(entry.response_id, 400.0)
        assert late.value.code == "playback_ack_too_late"
        session.playback_ack(entry.response_id, 120.0)
        assert scene.driver(session).value.playback[0].played_ms == 120.0
        session.create_response()
        await scene.until(session, lambda d: len(d.value.playback) == 2 and d.value.playback[1].ended)
        await trio.testing.wait_all_tasks_blocked()
        assert statuses(first) == ["completed", "completed"]


async def test_fe_09_an_update_changes_all_or_nothing_whatever_else_goes_wrong_meanwhile() -> None:
    """vllm-omni #6170: the configuration showed the new detector while the old one ran."""
    async with play(idle_max_s=100.0, idle_s=50.0) as scene:
        session, _ = await scene.open(voice="low")
        driver = scene.driver(session)
        before = driver.config
        for wrong in (
            {"idle_timeout_s": 101, "voice": "high"},
            {"input_audio_format": "mp3", "voice": "high"},
            {"turn_detection": {"type": "none"}, "idle_timeout_s": 9},
            {"voice": "x" * 70_000, "idle_timeout_s": 9},
        ):
            with pytest.raises(ClientError):
                session.update(wrong)
            assert (driver.config, driver.value.cells["lease", None].data.idle_s) == (before, 50.0)
        assert session.update({"voice": "high", "idle_timeout_s": 9})["voice"] == "high"
        assert driver.value.cells["lease", None].data.idle_s == 9.0


async def test_fe_09_how_audio_is_heard_cannot_change_under_a_stage_that_hears() -> None:
    async with play() as scene:
        session, _ = await scene.open(input_audio_format="pcm16_16k")
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(ClientError) as caught:
            session.update({"input_audio_format": "pcm16_24k"})
        assert (caught.value.code, scene.driver(session).config["input_audio_format"]) == (
            "invalid_session_config",
            "pcm16_16k",
        )
        session.clear_input()
        session.update({"input_audio_format": "pcm16_24k"})
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        assert [submit.params["rate"] for submit in scene.fleet.orders_of(Submit, EARS)] == [16000, 24000]


async def test_fe_14_every_turn_that_is_committed_is_answered_not_the_first_alone() -> None:
    """vllm-omni #3907: a later idle commit began no response."""
    async with play() as scene:
        session, first = await scene.open()
        for number in range(1, 5):
            session.append(LOUD)
            session.commit()
            await scene.until(session, lambda d, n=number: sum(e.ended for e in d.value.playback) == n)
        await trio.testing.wait_all_tasks_blocked()
        assert statuses(first) == ["completed"] * 4


async def test_fe_15_each_terminal_names_the_response_that_it_ends() -> None:
    """vllm-omni #6196: the event that ended a precreated response had no id, and the client held a handle open."""
    async with play() as scene:
        session, first = await scene.open()
        await scene.speak(session)
        await speak_up_to(scene, session, "response")
        session.barge_in()
        await trio.testing.wait_all_tasks_blocked()
        created = [event["response"]["id"] for event in first.events if event["type"] == "response.created"]
        done = [event for event in first.events if event["type"] == "response.done"]
        assert [event["response_id"] for event in done] == [event["response"]["id"] for event in done] == created


async def test_fe_17_an_interrupt_before_the_submit_costs_no_audio() -> None:
    """vllm-omni: audio was counted as consumed that had never been submitted."""
    async with play() as scene:
        scene.fleet[EARS].script.submit = "hang"
        session, _ = await scene.open()
        session.append(LOUD)
        session.barge_in()
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        (listening,) = scene.fleet[EARS].held
        scene.fleet[EARS].accept(listening)
        await trio.testing.wait_all_tasks_blocked()
        assert b"".join(order.payload for order in scene.fleet.orders_of(Append, EARS)) == LOUD + LOUD
        assert scene.driver(session).value.input_bytes == 0


async def test_fe_20_a_response_interrupted_before_its_first_frame_dangles_nowhere() -> None:
    """livekit/agents #6157: a truncate to 0 ms was refused, and the item stayed for ever."""
    async with play() as scene:
        scene.fleet[VOICE].script = Script()
        session, first = await scene.open()
        response_id = await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        session.playback_ack(response_id, 0.0)
        session.cancel_response(response_id)
        session.playback_ack(response_id, 0.0)
        await trio.testing.wait_all_tasks_blocked()
        assert DELTA not in first.types
        added, done = first.types.count("conversation.item.added"), first.types.count("conversation.item.done")
        assert (added, done, statuses(first)) == (2, 2, ["cancelled"])  # the user's item, and the answer's


async def test_fe_21_a_cancel_that_crosses_the_servers_own_is_no_error() -> None:
    """openai-agents-js #220: turn detection had cancelled it already, and the client was shown an error."""
    async with play() as scene:
        scene.fleet[VOICE].script.ends = False
        session, first = await scene.open()
        response_id = await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        (listening,) = scene.fleet[EARS].held
        scene.fleet[EARS].hear(listening, "speech_started")
        session.cancel_response(response_id)
        await trio.testing.wait_all_tasks_blocked()
        assert (statuses(first), first.types.count("error")) == (["cancelled"], 0)


async def test_fe_24_audio_of_a_draining_response_is_void_before_its_stage_has_confirmed() -> None:
    """vllm-omni #7644: the audio stayed valid while the stage's abort was awaited."""
    async with play() as scene:
        scene.fleet[VOICE].script = Script(abort="hang")
        session, first = await scene.open()
        response_id = await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        (voice,) = scene.fleet[VOICE].held
        assert state(session, "response", response_id) == "DRAINING"
        first.stall()
        for index in range(5):
            scene.fleet[VOICE].audio(voice, index)
        session.cancel_response(response_id)
        for index in range(5):
            scene.fleet[VOICE].audio(voice, index)
        first.allow()
        await first.wait_for("response.done")
        assert (state(session, "request", voice), first.types.count(DELTA)) == ("ABORTING", 0)
        scene.fleet[VOICE].confirm(voice)


async def test_fe_26_a_stage_that_was_never_begun_hears_of_no_end() -> None:
    """pipecat #4126: the flush named a context that had never been opened, and the provider opened it."""
    async with play() as scene:
        scene.fleet.gone(VOICE)
        session, _ = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        session.barge_in()
        scene.fleet.come_back(VOICE)
        await trio.testing.wait_all_tasks_blocked()
        assert [handed for handed in scene.fleet.orders if handed.stage == VOICE] == []
        scene.fleet[MIND].script = Script()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        session.barge_in()
        await trio.testing.wait_all_tasks_blocked()
        opened = [submit.request_id for submit in scene.fleet.orders_of(Submit, VOICE)]
        finished = [finish.request_id for finish in scene.fleet.orders_of(Finish, VOICE)]
        assert (len(opened), set(finished) <= set(opened), scene.fleet[VOICE].held) == (1, True, {})


async def test_fe_27_what_was_made_of_earlier_text_is_dropped_at_the_receiver() -> None:
    """pipecat #719: results of text from before the interruption were forwarded."""
    async with play() as scene:
        scene.fleet[VOICE].script = Script(abort="hang")
        session, first = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        (old,) = scene.fleet[VOICE].held
        session.append(LOUD)
        session.commit()
        await scene.until(session, lambda d: d.value.answered == 2)
        await trio.testing.wait_all_tasks_blocked()
        stale = scene.driver(session).value.stale
        scene.fleet[VOICE].audio(old)
        scene.fleet[VOICE].output(old, "text", b"late")
        assert scene.driver(session).value.stale == stale + 2
        new = next(held for held in scene.fleet[VOICE].held if held != old)
        scene.fleet[VOICE].audio(new)
        await trio.testing.wait_all_tasks_blocked()
        assert [event["response_id"] for event in first.events if event["type"] == DELTA] == [new.rpartition(".")[0]]
        for held in (old, new):
            scene.fleet[VOICE].confirm(held)
            scene.driver(session).dispatch(m.RequestAborted(held))
