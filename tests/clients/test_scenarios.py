"""Client SDKs as they are, on real sockets, beside a server whose stages follow a script.

A client is told nothing about this server but its address. ``events`` has what it saw, as its SDK handed it over.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from tests.clients.clients import CLIENTS, Client, Door, both_doors, both_doors_in_time, stage
from tests.clients.talk import (
    LONG,
    SHORT,
    SPEECH,
    answered,
    ask,
    frames_of,
    of_response,
    ready,
    script,
    the_next_is_whole,
)

pytestmark = pytest.mark.real_clock

every_client = pytest.mark.parametrize("client", CLIENTS, ids=str)

ORDER = (
    "response.created",
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
    "response.output_audio_transcript.delta",
    "response.output_audio.delta",
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "response.output_item.done",
    "conversation.item.done",
    "response.done",
)


@every_client
@both_doors_in_time
async def test_a_turn_committed_by_hand_is_answered(
    client: Client, door: Door, nursery: trio.Nursery, tmp_path: Path
) -> None:
    setting = await stage(nursery, tmp_path, tls=client.tls, door=door)
    async with setting.serve(*SHORT), setting.enter(client, "manual") as talking:
        await ready(talking, "manual")
        await ask(talking)
        response = await answered(talking)
        assert response["status"] == "completed"
        assert response["output"][0]["content"][0]["transcript"] == "You said: as the script says."
        assert frames_of(talking.events, response["id"]) == script(6)
        kinds = [event["type"] for event in of_response(talking.events, response)]
        assert tuple(dict.fromkeys(kinds)) == ORDER
        assert len(talking.seen("input_audio_buffer.committed")) == 1
        assert talking.numbers == sorted(set(talking.numbers))
        await talking.leave()


@every_client
@both_doors
async def test_a_barge_in_cancels_the_answer_and_the_next_turn_is_heard(
    client: Client, door: Door, nursery: trio.Nursery, tmp_path: Path
) -> None:
    setting = await stage(nursery, tmp_path, tls=client.tls, door=door)
    async with setting.serve(*LONG), setting.enter(client, "vad") as talking:
        await ready(talking, "vad")
        await ask(talking)
        await talking.until("response.output_audio.delta")
        await talking.append(SPEECH)
        response = await answered(talking)
        assert (response["status"], response["status_details"]["reason"]) == ("cancelled", "turn_detected")
        assert len(talking.seen("input_audio_buffer.speech_started")) == 2
        await talking.do("commit")
        await talking.do("create")
        await the_next_is_whole(talking, response)


@every_client
@both_doors_in_time
async def test_a_cancel_ends_the_answer_and_the_next_one_is_whole(
    client: Client, door: Door, nursery: trio.Nursery, tmp_path: Path
) -> None:
    setting = await stage(nursery, tmp_path, tls=client.tls, door=door)
    async with setting.serve(*LONG), setting.enter(client, "manual") as talking:
        await ready(talking, "manual")
        await ask(talking)
        await talking.until("response.output_audio.delta")
        await talking.do("cancel")
        response = await answered(talking)
        assert (response["status"], response["status_details"]["reason"]) == ("cancelled", "client_cancelled")
        await ask(talking)
        await the_next_is_whole(talking, response)
