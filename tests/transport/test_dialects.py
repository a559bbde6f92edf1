"""The GA dialect: the server speaks first, and says nothing that a strict client does not know."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import trio.testing

from interlock.workers.echo import EARS, VOICE
from tests.runtime.stage_play import LOUD, play
from tests.transport.spoken import Speaker, talking

SOUND = base64.b64encode(LOUD).decode()
MANUAL = {"type": "realtime", "audio": {"input": {"turn_detection": None}}}
PCM = {"type": "audio/pcm", "rate": 24000}


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


async def turn(speaker: Speaker) -> list[dict[str, Any]]:
    """Say something and commit it."""
    return [
        *await speaker.say("input_audio_buffer.append", audio=SOUND),
        *await speaker.say("input_audio_buffer.commit"),
    ]


async def test_the_server_speaks_first_and_in_the_nested_session_object() -> None:
    async with play() as scene, talking(scene, {"model": "echo"}) as speaker:
        (created,) = speaker.line.events
        session = created["session"]
        assert (created["type"], session["object"], session["type"]) == (
            "session.created",
            "realtime.session",
            "realtime",
        )
        assert (session["model"], session["output_modalities"]) == ("echo", ["audio"])
        heard, spoken = session["audio"]["input"], session["audio"]["output"]
        detection = {"type": "server_vad", "create_response": True, "interrupt_response": True}
        assert (heard, spoken) == ({"format": PCM, "turn_detection": detection}, {"format": PCM})
        assert (created["session_id"], created["attachment_generation"]) == (session["id"], 1)
        assert len(created["resume_token"]) > 40


async def test_an_update_is_merged_to_its_leaves_and_answered_with_the_credentials() -> None:
    async with play() as scene, talking(scene) as speaker:
        await speaker.say(
            "session.update",
            session={"type": "realtime", "audio": {"input": {"transcription": {"model": "x"}, "format": PCM}}},
        )
        (updated,) = await speaker.say(
            "session.update",
            session={
                "type": "realtime",
                "instructions": "be brief",
                "audio": {"output": {"voice": "cedar", "format": PCM}, "input": {"turn_detection": None}},
            },
        )
        session, created = updated["session"], speaker.line.events[0]
        assert (updated["type"], session["instructions"]) == ("session.updated", "be brief")
        assert session["audio"]["output"] == {"format": PCM, "voice": "cedar"}
        assert session["audio"]["input"] == {"format": PCM, "turn_detection": None, "transcription": {"model": "x"}}
        for name in ("session_id", "resume_token", "attachment_generation"):
            assert updated[name] == created[name]


async def test_audio_is_24_khz_unless_a_client_says_otherwise() -> None:
    async with play() as scene, talking(scene) as speaker, talking(scene, path="/v1/duplex") as duplex:
        for each in (speaker, duplex):
            await each.say("input_audio_buffer.append", audio=SOUND)
        rates = [request.params["rate"] for request in scene.fleet[EARS].held.values()]
        assert rates == [24000, 16000]
        for named in ("pcm16", {"type": "audio/pcm"}):
            await speaker.say("input_audio_buffer.clear")
            await speaker.say("session.update", session={"input_audio_format": named})
            await speaker.say("input_audio_buffer.append", audio=SOUND)
            assert [request.params["rate"] for request in scene.fleet[EARS].held.values()] == [16000, 24000]


async def test_a_manual_turn_is_answered_when_it_is_asked_for_even_before_it_is_heard() -> None:
    async with play() as scene, talking(scene) as speaker:
        await speaker.say("session.update", session=MANUAL)
        assert "response.created" not in types(await turn(speaker))
        assert speaker.last("conversation.item.input_audio_transcription.completed")["transcript"] == "hello"
        assert types(await speaker.say("response.create"))[-1] == "response.done"
        speaker.line.hear({"type": "input_audio_buffer.append", "audio": SOUND})
        speaker.line.hear({"type": "input_audio_buffer.commit"})
        created = types(await speaker.say("response.create"))
        assert (created.count("response.created"), created.count("response.done")) == (1, 1)
        assert created.index("conversation.item.input_audio_transcription.completed") < created.index(
            "response.created"
        )
        assert not {"input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped"} & set(speaker.line.types)


async def test_one_response_is_asked_for_at_a_time_and_a_cancel_takes_the_wish_back() -> None:
    async with play() as scene, talking(scene) as speaker:
        scene.fleet[EARS].script.transcript = None
        await speaker.say("session.update", session=MANUAL)
        await turn(speaker)
        assert await speaker.say("response.create") == []
        (refused,) = await speaker.say("response.create", event_id="mine")
        assert refused["error"]["code"] == "conversation_already_has_active_response"
        assert refused["error"]["event_id"] == "mine"
        assert await speaker.say("response.cancel") == []
        (nothing,) = await speaker.say("response.cancel")
        assert nothing["error"]["code"] == "response_cancel_not_active"
        (ear,) = scene.fleet[EARS].held
        scene.fleet[EARS].say(ear, "late", reason="commit")
        await trio.testing.wait_all_tasks_blocked()
        assert speaker.line.types[-1] == "conversation.item.input_audio_transcription.completed"


async def test_a_response_that_waits_for_a_turn_goes_with_the_turn() -> None:
    async with play() as scene, talking(scene) as speaker:
        scene.fleet[EARS].script.transcript = None
        await speaker.say("session.update", session=MANUAL)
        await turn(speaker)
        await speaker.say("response.create")
        events = await speaker.say("input_audio_buffer.clear")
        assert [event["error"]["code"] for event in events if event["type"] == "error"] == ["commit_aborted"]
        (nothing,) = await speaker.say("response.create")
        assert nothing["error"]["code"] == "response_create_without_input"


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("interrupt", [True, False])
async def test_server_vad_does_by_itself_what_the_client_lets_it(create: bool, interrupt: bool) -> None:
    async with play(frames=50) as scene, talking(scene) as speaker:
        scene.fleet[EARS].script.transcript, scene.fleet[VOICE].script.ends = None, False
        detection = {"type": "server_vad", "create_response": create, "interrupt_response": interrupt}
        await speaker.say("session.update", session={"turn_detection": detection})
        await speaker.say("input_audio_buffer.append", audio=SOUND)
        (ear,) = scene.fleet[EARS].held
        stage = scene.fleet[EARS]
        stage.hear(ear, "speech_started", 10)
        stage.hear(ear, "speech_stopped", 500)
        stage.say(ear, "hello", 500)
        await trio.testing.wait_all_tasks_blocked()
        assert ("response.created" in speaker.line.types) == create
        if not create:
            await speaker.say("response.create")
        stage.hear(ear, "speech_started", 900)
        await trio.testing.wait_all_tasks_blocked()
        assert ("response.done" in speaker.line.types) == interrupt
        if interrupt:
            done = speaker.last("response.done")["response"]
            assert (done["status"], done["status_details"]["reason"]) == ("cancelled", "turn_detected")
        else:
            await speaker.say("response.cancel")
            done = speaker.last("response.done")["response"]
            assert (done["status"], done["status_details"]["reason"]) == ("cancelled", "client_cancelled")


async def test_the_thresholds_of_turn_detection_reach_the_ears_and_are_checked_before() -> None:
    async with play() as scene, talking(scene) as speaker:
        asked = {"type": "server_vad", "threshold": 0.7, "silence_duration_ms": 800, "prefix_padding_ms": 100}
        await speaker.say("session.update", session={"turn_detection": asked})
        await speaker.say("input_audio_buffer.append", audio=SOUND)
        (request,) = scene.fleet[EARS].held.values()
        assert request.params == {"rate": 24000, "threshold": 0.7, "silence_ms": 800, "pre_roll_ms": 100}
        await speaker.say("input_audio_buffer.clear")
        (refused,) = await speaker.say("session.update", session={"turn_detection": asked | {"threshold": 2}})
        assert refused["error"]["code"] == "unsupported_turn_detection"
        assert refused["error"]["message"].startswith("threshold = 2: must be above 0.05")


async def test_what_only_duplex_clients_know_is_not_said_to_a_strict_one() -> None:
    async with play() as scene, talking(scene) as speaker:
        assert await speaker.say("session.heartbeat") == []
        await turn(speaker)
        assert await speaker.say("session.close") == []
        assert speaker.line.closings == [(1000, "client_close")]
        assert not {kind for kind in speaker.line.types if kind.startswith("session.")} - {"session.created"}
    async with play() as scene, talking(scene, path="/v1/duplex") as duplex:
        await duplex.say("session.close")
        assert duplex.line.types == ["session.created", "session.closed"]


async def test_a_full_server_says_so_and_closes_with_1013() -> None:
    async with play(max_sessions=1) as scene, talking(scene), talking(scene) as second:
        (error,) = second.line.events
        assert (error["type"], error["error"]["code"]) == ("error", "resource_exhausted")
        assert second.line.closings == [(1013, "resource_exhausted")]


async def test_a_stopping_server_closes_with_1012_and_nothing_else_is_said() -> None:
    async with play() as scene, talking(scene) as speaker:
        scene.host.stop()
        await trio.testing.wait_all_tasks_blocked()
        assert (speaker.line.types, speaker.line.closings) == (["session.created"], [(1012, "server_shutdown")])
        async with talking(scene) as late:
            assert late.line.closings == [(1012, "session_closed")]


async def test_a_strict_client_whose_microphone_was_faster_than_its_configuration_is_heard_anew() -> None:
    """pipecat-ai sends audio from the moment that it is connected, configures later, and takes an error for the end."""
    async with play(frames=2) as scene, talking(scene) as speaker:
        await speaker.say("input_audio_buffer.append", audio=SOUND)
        assert types(await speaker.say("session.update", session=MANUAL)) == [
            "input_audio_buffer.cleared",
            "session.updated",
        ]
        await speaker.say("input_audio_buffer.append", audio=SOUND)
        (request,) = scene.fleet[EARS].held.values()
        assert request.params == {"rate": 24000, "manual": True}
        scene.fleet[EARS].script.transcript = None
        await speaker.say("input_audio_buffer.commit")
        (refused,) = await speaker.say("session.update", session={"turn_detection": {"type": "server_vad"}})
        assert refused["error"]["code"] == "invalid_session_config"
