"""A truncation is a playback position, and cuts what was said to the words that were heard."""

from __future__ import annotations

import pytest
import trio.testing

from interlock.runtime.items import heard_of
from interlock.workers.echo import MIND, VOICE
from tests.runtime.stage_play import play
from tests.transport.spoken import talking
from tests.transport.test_dialects import turn
from tests.transport.test_items import code, kept

ALL = "one two three four five"


async def test_a_truncation_is_a_position_and_cuts_the_transcript_to_what_was_heard() -> None:
    async with play(frames=50) as scene, talking(scene) as speaker:
        scene.fleet[MIND].script.texts = ("one two three four five six seven eight nine ten",)
        await turn(speaker)
        await speaker.say("response.create")
        item = speaker.last("response.output_item.done")["item"]
        (cut,) = await speaker.say("conversation.item.truncate", item_id=item["id"], content_index=0, audio_end_ms=1000)
        assert (cut["type"], cut["audio_end_ms"], cut["item_id"]) == (
            "conversation.item.truncated",
            1000,
            item["id"],
        )
        assert kept(scene)[-1]["content"] == [{"type": "output_audio", "transcript": "one two three four"}]
        (driver,) = scene.host.drivers.values()
        assert driver.value.playback[-1].played_ms == 1000
        (again,) = await speaker.say("conversation.item.truncate", item_id=item["id"], audio_end_ms=0)
        assert (again["audio_end_ms"], kept(scene)[-1]["content"][0]["transcript"]) == (0, "")
        user = kept(scene)[0]["id"]
        assert code(await speaker.say("conversation.item.truncate", item_id=user, audio_end_ms=0)) == (
            "bad_event",
            "item_id",
        )


@pytest.mark.parametrize(
    ("played", "heard"),
    [
        (0, ""),
        (499, "one"),
        (500, "one two"),
        (1000, "one two three"),
        (1999, "one two three"),
        (2000, "one two three four"),
        (9000, ALL),
    ],
)
async def test_a_voice_that_says_where_its_text_ends_is_cut_exactly(played: int, heard: str) -> None:
    async with play(frames=100) as scene, talking(scene) as speaker:
        scene.fleet[MIND].script.texts = ("one two  three ", "four five")
        scene.fleet[VOICE].script.ends = False
        await turn(speaker)
        await speaker.say("response.create")
        (voice,) = scene.fleet[VOICE].held
        for at_ms, text in ((500, "one two"), (1000, "three"), (1000, "never"), (3000, "four five")):
            scene.fleet[VOICE].output(voice, "spoken", text.encode(), at_ms=at_ms)
        scene.fleet[VOICE].finish(voice)
        await trio.testing.wait_all_tasks_blocked()
        item = speaker.last("response.output_item.done")["item"]
        await speaker.say("conversation.item.truncate", item_id=item["id"], audio_end_ms=played)
        assert " ".join(kept(scene)[-1]["content"][0]["transcript"].split()) == heard


async def test_a_truncation_after_a_cancel_still_cuts_though_the_position_is_final() -> None:
    """SDKs cancel first and truncate then."""
    async with play(frames=50) as scene, talking(scene) as speaker:
        scene.fleet[MIND].script.texts = ("one two three four five six seven eight nine ten",)
        scene.fleet[VOICE].script.ends = False
        await turn(speaker)
        await speaker.say("response.create")
        await speaker.say("response.cancel")
        item = speaker.last("response.output_item.done")["item"]
        assert item["status"] == "incomplete"
        (cut,) = await speaker.say("conversation.item.truncate", item_id=item["id"], audio_end_ms=400)
        assert cut["type"] == "conversation.item.truncated"
        assert kept(scene)[-1]["content"][0]["transcript"] == "one two"


@pytest.mark.parametrize(
    ("played", "made", "heard"),
    [(0, 4000, ""), (4000, 4000, "one two three four"), (2000, 4000, "one two"), (500, 500, "one two"), (100, 0, "")],
)
def test_what_was_heard_of_a_text_is_estimated_to_whole_words(played: float, made: float, heard: str) -> None:
    assert heard_of("one two three four", played, made) == heard
