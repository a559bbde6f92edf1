"""Conversation items: by hand, by voice, by a model; and everything that is said of them, held to the GA schema."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import trio.testing

from interlock.runtime.ports import FunctionCall
from interlock.wire.lifecycle import LifecycleFacts, names_of
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.protocol import Submit
from interlock.workers.scripted import Script
from tests.runtime.pipelines import Spoken
from tests.runtime.stage_play import Play, play
from tests.transport import ga_models
from tests.transport.spoken import Speaker, talking
from tests.transport.test_dialects import MANUAL, SOUND, types


def written(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}], **more}


def order(speaker: Speaker) -> list[str]:
    """Rebuild the order of the conversation as a client does: each item goes behind the one that is named."""
    ids: list[str] = []
    for event in speaker.line.events:
        if event["type"] == "conversation.item.added":
            previous = event["previous_item_id"]
            ids.insert(0 if previous is None else ids.index(previous) + 1, event["item"]["id"])
        elif event["type"] == "conversation.item.deleted":
            ids.remove(event["item_id"])
    return ids


def kept(scene: Play) -> list[dict[str, Any]]:
    (driver,) = scene.host.drivers.values()
    return list(driver.conversation.items)


def code(events: list[dict[str, Any]]) -> tuple[str, str | None]:
    (event,) = events
    return event["error"]["code"], event["error"].get("param")


async def test_a_spoken_turn_and_its_answer_in_the_order_that_clients_wait_for() -> None:
    async with play(frames=2) as scene, talking(scene) as speaker:
        await speaker.say("session.update", session=MANUAL)
        speaker.line.hear({"type": "input_audio_buffer.append", "audio": SOUND})
        speaker.line.hear({"type": "input_audio_buffer.commit"})
        events = await speaker.say("response.create", response={"metadata": {"client_event_id": "e1"}})
        assert types(events) == [
            "input_audio_buffer.committed",
            "conversation.item.added",
            "conversation.item.done",
            "conversation.item.input_audio_transcription.completed",
            "response.created",
            "response.output_item.added",
            "conversation.item.added",
            "response.content_part.added",
            "response.output_audio_transcript.delta",
            "response.output_audio_transcript.delta",
            "response.output_audio.delta",
            "response.output_audio.delta",
            "response.output_audio.done",
            "response.output_audio_transcript.done",
            "response.content_part.done",
            "response.output_item.done",
            "conversation.item.done",
            "response.done",
        ]
        for event in speaker.line.events:
            ga_models.check(event)
        created, done = speaker.last("response.created")["response"], speaker.last("response.done")["response"]
        assert created["metadata"] == done["metadata"] == {"client_event_id": "e1"}
        (said,) = done["output"]
        assert (said["status"], said["content"]) == (
            "completed",
            [{"type": "output_audio", "transcript": "You said: hello."}],
        )
        heard, answer = kept(scene)
        assert (heard["content"], answer) == ([{"type": "input_audio", "transcript": "hello"}], said)
        assert order(speaker) == [heard["id"], answer["id"]]


async def test_a_written_turn_is_answered_through_the_same_stages() -> None:
    async with play() as scene, talking(scene) as speaker:
        events = await speaker.say("conversation.item.create", item=written("what is the time?"))
        assert types(events) == ["conversation.item.added", "conversation.item.done"]
        assert events[0]["item"]["content"] == [{"type": "input_text", "text": "what is the time?"}]
        events = await speaker.say("response.create")
        assert (types(events)[0], types(events)[-1]) == ("response.created", "response.done")
        assert [submit.params for submit in scene.fleet.orders_of(Submit, MIND)] == [{"text": "what is the time?"}]
        assert len(order(speaker)) == 2


async def test_items_are_put_where_the_client_says_and_retrieved_and_deleted() -> None:
    async with play() as scene, talking(scene) as speaker:
        for name, after in (("b", None), ("a", "root"), ("c", "b"), ("d", None)):
            await speaker.say("conversation.item.create", item=written(name, id=name), previous_item_id=after)
        assert order(speaker) == ["a", "b", "c", "d"] == [item["id"] for item in kept(scene)]
        (retrieved,) = await speaker.say("conversation.item.retrieve", item_id="c")
        assert (retrieved["type"], retrieved["item"]) == ("conversation.item.retrieved", kept(scene)[2])
        assert types(await speaker.say("conversation.item.delete", item_id="c")) == ["conversation.item.deleted"]
        assert order(speaker) == ["a", "b", "d"]
        for message in ("retrieve", "delete", "truncate"):
            events = await speaker.say(f"conversation.item.{message}", item_id="c", audio_end_ms=0)
            assert code(events) == ("item_not_found", "item_id")
        (driver,) = scene.host.drivers.values()
        taken = f"item_turn_{driver.session_id.removeprefix('sess_')}_1"
        events = await speaker.say("conversation.item.create", item=written("x", id=taken))
        assert code(events) == ("bad_event", "item.id")
        wrong = await speaker.say("conversation.item.create", item=written("x"), previous_item_id="c")
        assert code(wrong) == ("item_not_found", "previous_item_id")
        assert code(await speaker.say("conversation.item.create", item=written("x", id="a"))) == (
            "bad_event",
            "item.id",
        )
        for event in speaker.line.events:
            ga_models.check(event)


async def test_a_client_may_tell_a_fresh_session_what_was_said_in_another() -> None:
    """SDKs that open a fresh session put the old conversation into it, under the ids that they know."""
    async with play() as scene, talking(scene) as speaker:
        for item in (
            written("hello", id="item_turn_other_1"),
            {
                "type": "message",
                "id": "item_resp_other_1",
                "role": "assistant",
                "content": [{"type": "output_audio", "transcript": "You said: hello."}],
            },
            {"type": "function_call", "id": "f", "call_id": "c", "name": "look_up", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "noon"},
            written("be brief", "system"),
        ):
            for event in await speaker.say("conversation.item.create", item=item):
                ga_models.check(event)
        await speaker.say("response.create")
        assert scene.fleet.orders_of(Submit, MIND)[0].params == {"text": "noon"}
        output = {"type": "function_call_output", "call_id": "never", "output": ""}
        events = await speaker.say("conversation.item.create", item=output)
        assert code(events) == ("invalid_function_call_output", "item.call_id")


async def test_a_function_call_is_passed_through_and_its_output_is_the_next_turn() -> None:
    async with play() as scene, talking(scene) as speaker:
        mind = scene.fleet[MIND].script
        mind.texts, mind.calls, mind.tokens = (), (("look_up", '{"q": "time"}'),), (7, 5)
        await speaker.say("conversation.item.create", item=written("what is the time?"))
        events = await speaker.say("response.create", response={"tool_choice": "auto"})
        assert types(events) == [
            "response.created",
            "response.output_item.added",
            "conversation.item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "conversation.item.done",
            "response.done",
        ]
        added, whole, done = events[1]["item"], events[4], events[-1]["response"]
        assert (added["status"], added["arguments"], added["name"]) == ("in_progress", "", "look_up")
        assert (whole["name"], whole["arguments"], whole["call_id"]) == ("look_up", '{"q": "time"}', added["call_id"])
        (call,) = done["output"]
        assert (done["status"], call["status"], call["arguments"]) == ("completed", "completed", '{"q": "time"}')
        assert (done["usage"]["total_tokens"], done["usage"]["input_tokens"]) == (12, 7)
        mind.texts, mind.calls, mind.tokens = ("It is noon.",), (), None
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "noon"}
        await speaker.say("conversation.item.create", item=output)
        await speaker.say("response.create")
        assert scene.fleet.orders_of(Submit, MIND)[-1].params == {"text": "noon"}
        assert [item["type"] for item in kept(scene)] == ["message", "function_call", "function_call_output", "message"]
        for event in speaker.line.events:
            ga_models.check(event)


async def test_speech_and_a_call_in_one_response_have_places_of_their_own() -> None:
    async with play(frames=1) as scene, talking(scene) as speaker:
        scene.fleet[MIND].script.calls = (("look_up", "{}"), ("look_up", "[]"))
        await speaker.say("conversation.item.create", item=written("what is the time?"))
        await speaker.say("response.create")
        indices = [e["output_index"] for e in speaker.line.events if e["type"] == "response.output_item.added"]
        output = speaker.last("response.done")["response"]["output"]
        assert (indices, [item["type"] for item in output]) == (
            [0, 1, 2],
            ["message", "function_call", "function_call"],
        )
        assert [item["id"] for item in output] == order(speaker)[1:]
        scene.fleet[MIND].script.calls = (("first", "{}"),)
        scene.fleet[MIND].script.texts = ()
        await speaker.say("response.create")
        (ident,) = {d["output_index"] for d in speaker.line.events if d["type"] == "response.output_audio.delta"}
        assert ident == 0


async def test_a_call_that_no_transport_was_handed_before_an_interrupt_was_never_made() -> None:
    """Promise 2: a stale call must not be acted upon, nor be in the history of those who were not told."""
    async with play() as scene, talking(scene) as speaker:
        scene.fleet[MIND].script.ends = False
        await speaker.say("conversation.item.create", item=written("do it"))
        await speaker.say("response.create")
        speaker.line.stall()
        stage = scene.fleet[MIND]
        (mind,) = stage.held
        stage.output(mind, "text", b"This is inside the transport, ")
        await trio.testing.wait_all_tasks_blocked()
        stage.output(mind, "text", b"and this is behind it.")
        stage.output(mind, "function_call", b'{"name": "stale", "arguments": "{}"}')
        speaker.line.hear({"type": "response.cancel"})
        await trio.testing.wait_all_tasks_blocked()
        speaker.line.allow()
        await trio.testing.wait_all_tasks_blocked()
        done = speaker.last("response.done")["response"]
        assert (done["status"], [item["type"] for item in done["output"]]) == ("cancelled", ["message"])
        assert not [e for e in speaker.line.events if e.get("item", {}).get("name") == "stale"]
        assert [item["type"] for item in kept(scene)] == ["message", "message"]


@pytest.mark.parametrize("conversation", ["auto", "none"])
async def test_a_call_that_was_handed_over_whole_before_an_interrupt_was_made(conversation: str) -> None:
    """Whoever was handed the arguments may act upon them, so what the response has made says so."""
    async with play(write_bytes=1024) as scene, talking(scene) as speaker:
        scene.fleet[MIND].script = Script()
        await speaker.say("conversation.item.create", item=written("do it"))
        await speaker.say("response.create", response={"conversation": conversation})
        (mind,) = scene.fleet[MIND].held
        names = names_of("response.function_call", LifecycleFacts(in_band=conversation == "auto"))
        speaker.line.stall()
        speaker.line.allow(names.index("response.function_call_arguments.done"))
        arguments = "x" * 1024  # so long that each frame is a write of its own
        scene.fleet[MIND].output(mind, "function_call", msgspec.json.encode(FunctionCall("look_up", arguments)))
        await trio.testing.wait_all_tasks_blocked()
        speaker.line.hear({"type": "response.cancel"})
        await trio.testing.wait_all_tasks_blocked()
        speaker.line.allow()
        await trio.testing.wait_all_tasks_blocked()
        done = speaker.last("response.done")["response"]
        assert "response.function_call_arguments.done" in types(speaker.line.events)
        assert "response.output_item.done" not in types(speaker.line.events)
        assert (done["status"], [item["type"] for item in done["output"]]) == ("cancelled", ["function_call"])


async def test_a_response_that_was_interrupted_before_it_said_anything_ends_without_an_item() -> None:
    async with play() as scene, talking(scene) as speaker:
        scene.fleet[MIND].script.texts = ()
        await speaker.say("conversation.item.create", item=written("hello"))
        assert types(await speaker.say("response.create")) == ["response.created"]
        (done,) = await speaker.say("response.cancel")
        assert (done["type"], done["response"]["status"], done["response"]["output"]) == (
            "response.done",
            "cancelled",
            [],
        )
        ga_models.check(done)


async def test_a_response_of_text_alone_has_no_voice() -> None:
    async with play() as scene, talking(scene) as speaker:
        await speaker.say("session.update", session={"output_modalities": ["text"]})
        await speaker.say("conversation.item.create", item=written("hello"))
        events = await speaker.say("response.create")
        assert types(events) == [
            "response.created",
            "response.output_item.added",
            "conversation.item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "conversation.item.done",
            "response.done",
        ]
        done = events[-1]["response"]
        assert (done["output_modalities"], done["output"][0]["content"]) == (
            ["text"],
            [{"type": "output_text", "text": "You said: hello."}],
        )
        assert scene.fleet.orders_of(Submit, VOICE) == []
        for event in speaker.line.events:
            ga_models.check(event)
        await speaker.say("response.create", response={"output_modalities": ["audio"]})
        assert len(scene.fleet.orders_of(Submit, VOICE)) == 1


async def test_text_alone_is_refused_where_the_pipeline_can_only_speak() -> None:
    async with play(pipeline=Spoken()) as scene, talking(scene) as speaker:
        for kind, field in (("session.update", "session"), ("response.create", "response")):
            events = await speaker.say(kind, **{field: {"output_modalities": ["text"]}})
            assert code(events) == ("invalid_session_config", "output_modalities")
        events = await speaker.say("session.update", session={"output_modalities": ["smell"]})
        assert code(events) == ("invalid_session_config", "output_modalities")


async def test_a_response_out_of_band_leaves_the_conversation_alone() -> None:
    async with play() as scene, talking(scene) as speaker:
        wish = {"conversation": "none", "input": [written("guess", id="x")], "metadata": {"topic": "aside"}}
        events = await speaker.say("response.create", response=wish)
        assert (kept(scene), events[-1]["response"]["metadata"]) == ([], {"topic": "aside"})
        assert "conversation.item.added" not in types(events)
        assert scene.fleet.orders_of(Submit, MIND)[0].params == {"text": "guess"}


@pytest.mark.parametrize(
    ("response", "param"),
    [
        ({"metadata": {"a": 1}}, "response.metadata"),
        ({"metadata": {str(n): "" for n in range(17)}}, "response.metadata"),
        ({"conversation": "other"}, "response.conversation"),
        ({"input": 7}, "response.input"),
    ],
)
async def test_a_wish_that_is_none_is_refused_and_asks_for_nothing(response: dict[str, Any], param: str) -> None:
    async with play() as scene, talking(scene) as speaker:
        await speaker.say("conversation.item.create", item=written("hello"))
        assert code(await speaker.say("response.create", response=response)) == ("bad_event", param)


async def test_the_items_and_the_wishes_reach_the_pipeline() -> None:
    class Watching(EchoPipeline):
        def __init__(self) -> None:
            self.asked: dict[str, Any] = {}

        def params(self, stage: str, config: Any, text: str) -> Any:
            if stage == MIND:
                self.asked = dict(config)
            return super().params(stage, config, text)

    pipeline = Watching()
    async with play(pipeline=pipeline) as scene, talking(scene) as speaker:
        await speaker.say("session.update", session={"instructions": "be brief", "tools": [{"name": "x"}]})
        await speaker.say("conversation.item.create", item=written("hello"))
        await speaker.say("response.create", response={"instructions": "be long"})
        assert (pipeline.asked["instructions"], pipeline.asked["tools"]) == ("be long", [{"name": "x"}])
        assert [item["content"][0]["text"] for item in pipeline.asked["input"]] == ["hello"]
        (driver,) = scene.host.drivers.values()
        assert driver.config["instructions"] == "be brief"


async def test_what_happened_to_the_conversation_is_replayed() -> None:
    async with play() as scene:
        async with talking(scene) as first:
            await first.say("conversation.item.create", item=written("hello"))
            await first.say("response.create")
            held = first.line.events[0]
            first.line.tear()
        query = {"session_id": held["session_id"], "resume_token": held["resume_token"]}
        async with talking(scene, query) as second:
            assert second.line.events[1:] == first.line.events[1:]
            assert order(second) == [item["id"] for item in kept(scene)]


@pytest.mark.parametrize("kind", [EARS])
async def test_a_turn_by_voice_activity_keeps_one_item_from_its_first_sound(kind: str) -> None:
    async with play() as scene, talking(scene) as speaker:
        stage = scene.fleet[kind]
        stage.script.transcript = None
        await speaker.say("input_audio_buffer.append", audio=SOUND)
        (ear,) = stage.held
        for _ in range(2):
            stage.hear(ear, "speech_started", 10)
            stage.hear(ear, "speech_stopped", 500)
            stage.say(ear, "hello", 500)
            await trio.testing.wait_all_tasks_blocked()
        named = [
            event.get("item_id")
            for event in speaker.line.events
            if event["type"].startswith("input_audio") or "transcription" in event["type"]
        ]
        first, second = kept(scene)[0]["id"], kept(scene)[2]["id"]
        assert named == [first] * 4 + [second] * 4
        for event in speaker.line.events:
            ga_models.check(event)
