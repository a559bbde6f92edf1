"""A conversation with the echo agent through each SDK: real models, real time, and a user who interrupts.

All clients talk at once, with one server, as they would in life; that is also what keeps it short.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import trio

from tests.clients.clients import AGENTS, LIVEKIT, NPM_AGENTS, NPM_OPENAI, OPENAI, Client, Stage, stage
from tests.clients.microphone import FIRST, SECOND, Microphone, sentences
from tests.clients.puppet import Event, Puppet
from tests.clients.talk import answered, judge_end, ready

pytestmark = [pytest.mark.real_clock, pytest.mark.speech, pytest.mark.slow, pytest.mark.timeout_s(120)]

TRIES = 4


async def converse(talking: Puppet, heard: Mapping[str, bytes]) -> None:
    """Say a sentence, and another one into the answer: that one is cancelled, and the second is answered whole."""
    async with trio.open_nursery() as nursery:
        microphone = Microphone(talking)
        await ready(talking, "vad")
        nursery.start_soon(microphone.run)
        first, second = await interrupted(talking, microphone, heard)
        nursery.cancel_scope.cancel()
    assert (first["status"], first["status_details"]["reason"]) == ("cancelled", "turn_detected")
    judge_end(talking, first)
    assert second["status"] == "completed"
    assert second["output"][0]["content"][0]["transcript"] == f"You said: {SECOND}."
    transcribed = talking.seen("conversation.item.input_audio_transcription.completed")
    assert [event["transcript"] for event in transcribed][-2:] == [FIRST, SECOND]
    assert talking.numbers == sorted(set(talking.numbers))
    await talking.leave()


async def interrupted(talking: Puppet, microphone: Microphone, heard: Mapping[str, bytes]) -> tuple[Event, Event]:
    """Interrupt an answer; return how it ended, and the answer to the interruption.

    On a machine with much else to do, the interruption may be heard when the answer is over; then it is tried again.
    """
    for _ in range(TRIES):
        microphone.say(heard[FIRST])
        await talking.until("response.output_audio.delta")
        microphone.say(heard[SECOND])
        first, second = await answered(talking), await answered(talking)
        if first["status"] == "cancelled":
            return first, second
    pytest.fail(f"{talking.name} was answered before it could interrupt, {TRIES} times")


@pytest.mark.parametrize("clients", [(OPENAI, AGENTS, NPM_OPENAI, NPM_AGENTS), (LIVEKIT,)], ids=["sdks", "livekit"])
async def test_a_user_who_interrupts_is_heard_and_answered(
    clients: Sequence[Client], nursery: trio.Nursery, tmp_path: Path
) -> None:
    heard = sentences()
    for client in clients:
        client.command()
    setting = await stage(nursery, tmp_path, tls=True)
    async with setting.serve(), trio.open_nursery() as together:
        for client in clients:
            together.start_soon(speaker, setting, client, heard)


async def speaker(setting: Stage, client: Client, heard: Mapping[str, bytes]) -> None:
    async with setting.enter(client, "vad") as talking:
        await converse(talking, heard)
