"""What duplex clients may say beyond the GA schema, over the same session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import trio.testing

from interlock.transport.converse import converse
from interlock.transport.opening import Opening
from interlock.wire import outbound
from interlock.wire.items import text_of
from interlock.workers.echo import EARS, MIND, EchoPipeline
from interlock.workers.protocol import Submit
from interlock.workers.scripted import Script
from tests.runtime.stage_play import play
from tests.transport import ga_models
from tests.transport.spoken import Line, talking
from tests.transport.test_dialects import SOUND, turn, types

DUPLEX = "/v1/duplex"


async def test_a_written_turn_is_answered_at_once() -> None:
    async with play() as scene, talking(scene, path=DUPLEX) as speaker:
        events = await speaker.say("push_text", text="what is the time?")
        assert (types(events)[2:6], types(events)[-1]) == (
            ["conversation.item.done", "response.created", "response.output_item.added", "conversation.item.added"],
            "response.done",
        )
        assert scene.fleet.orders_of(Submit, MIND)[0].params == {"text": "what is the time?"}


async def test_an_input_that_is_cancelled_takes_what_is_being_said_with_it() -> None:
    async with play() as scene, talking(scene, path=DUPLEX) as speaker:
        scene.fleet[MIND].script.ends = False
        await turn(speaker)
        await speaker.say("input_audio_buffer.append", audio=SOUND)
        events = await speaker.say("input.cancel")
        assert "input_audio_buffer.cleared" in types(events)
        assert speaker.last("response.done")["response"]["status"] == "cancelled"
        assert scene.fleet[EARS].held == {}


async def test_a_turn_signal_is_the_message_that_it_names() -> None:
    async with play() as scene, talking(scene, path=DUPLEX) as speaker:
        events = await speaker.say("turn.signal", event="session.heartbeat")
        assert types(events) == ["session.created", "session.heartbeat_ack"]
        (refused,) = await speaker.say("turn.signal", event="sing", event_id="mine")
        assert (refused["error"]["code"], refused["error"]["event_id"]) == ("unknown_event", "mine")


async def test_a_position_is_acknowledged_and_may_cut_what_was_said() -> None:
    async with play(frames=50) as scene, talking(scene, path=DUPLEX) as speaker:
        scene.fleet[MIND].script.texts = ("one two three four five six seven eight nine ten",)
        await turn(speaker)
        name = speaker.last("response.done")["response"]["id"]
        (told,) = await speaker.say("playback.ack", played_ms=200)
        assert (told["type"], told["event"]) == ("playback.acknowledged", {"response_id": name, "played_ms": 200})
        _, cut = await speaker.say("playback.ack", played_ms=1000, truncate=True)
        assert (cut["type"], cut["audio_end_ms"]) == ("conversation.item.truncated", 1000)
        (driver,) = scene.host.drivers.values()
        assert driver.conversation.items[-1]["content"][0]["transcript"] == "one two three four"


async def test_the_answer_to_a_cleared_output_names_it_for_strict_clients_too() -> None:
    async with play() as scene, talking(scene) as speaker:
        scene.fleet[MIND].script.ends = False
        await turn(speaker)
        await speaker.say("response.create")
        events = await speaker.say("output_audio_buffer.clear")
        for event in events:
            ga_models.check(event)
        assert types(events)[0] == "output_audio_buffer.cleared"
        await trio.testing.wait_all_tasks_blocked()


async def test_a_turn_in_writing_that_cannot_be_answered_now_is_not_added_either() -> None:
    """Else a client that says it again has it twice."""
    async with play() as scene, talking(scene, path=DUPLEX) as speaker:
        scene.fleet[MIND].script = Script()
        await speaker.say("input.text.append", text="one")
        events = await speaker.say("input.text.append", text="two")
        assert [event["error"]["code"] for event in events] == ["response_already_active"]
        (driver,) = scene.host.drivers.values()
        assert [text_of(item) for item in driver.conversation.items] == ["one"]


class Flawed(EchoPipeline):
    """Prepares whatever it is given, and fails over a change of it."""

    async def prepare(self, config: Mapping[str, Any]) -> None:
        await trio.lowlevel.checkpoint()

    def check(self, config: Mapping[str, Any]) -> None:
        raise ZeroDivisionError


async def test_a_first_message_that_breaks_its_connection_leaves_its_session_in_grace() -> None:
    """Whatever ends a connection, its session is told: else it is attached to nobody until its idle time is over."""
    async with play(pipeline=Flawed()) as scene:
        line = Line(Opening(DUPLEX, {}))
        scene.transports.append(line)
        line.hear({"type": "session.update", "session": {}})
        with pytest.raises(ZeroDivisionError):
            await converse(scene.host, line)
        (driver,) = scene.host.drivers.values()
        assert (driver.value.state("attachment"), driver.value.state("lease")) == ("DETACHED", "GRACE")


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("conversation.item.create", {"item": {"type": "x" * 100_000}}),
        ("response.create", {"response": {"input": [{"type": "message", "role": "x" * 100_000}]}}),
        ("session.update", {"session": {"turn_detection": {"type": "x" * 60_000}}}),
    ],
)
async def test_what_is_wrong_with_a_message_is_told_in_few_words(kind: str, fields: dict[str, Any]) -> None:
    """Notices are counted, not weighed: an answer that quotes all it was sent would make a large thing of each."""
    async with play() as scene, talking(scene) as speaker:
        (told,) = await speaker.say(kind, **fields)
        assert told["type"] == "error"
        assert len(told["error"]["message"]) <= outbound.MAX_MESSAGE
        assert len(speaker.line.frames[-1]) < 2 * outbound.MAX_MESSAGE
