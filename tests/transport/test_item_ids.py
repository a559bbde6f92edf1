"""Ids of items that a client brings along: another session's, or this one's once more."""

from __future__ import annotations

from tests.runtime.stage_play import play
from tests.transport.spoken import talking
from tests.transport.test_items import code, kept, order, written


async def test_what_an_older_session_had_is_told_by_its_ids_and_an_edited_item_goes_back_under_its_own() -> None:
    """livekit-agents replays its history so after a reconnect; agents-realtime edits history by delete and create."""
    async with play(frames=2) as scene, talking(scene) as speaker:
        await speaker.say("conversation.item.create", item=written("before", id="item_turn_abc_1"))
        await speaker.say("conversation.item.create", item=written("then", "assistant", id="item_resp_abc_1"))
        await speaker.say("response.create")
        (mine,) = [item["id"] for item in kept(scene) if item["id"] not in ("item_turn_abc_1", "item_resp_abc_1")]
        assert code(await speaker.say("conversation.item.create", item=written("x", id=mine)))[0] == "bad_event"
        await speaker.say("conversation.item.delete", item_id=mine)
        await speaker.say("conversation.item.create", item=written("edited", "assistant", id=mine))
        assert order(speaker) == ["item_turn_abc_1", "item_resp_abc_1", mine]
        for number in ("2", "x"):
            to_come = mine.removesuffix("_1") + f"_{number}"
            told = await speaker.say("conversation.item.create", item=written("x", id=to_come))
            assert code(told) == ("bad_event", "item.id")
        assert code(await speaker.say("conversation.item.truncate", item_id="item_resp_abc_1", audio_end_ms=1)) == (
            "bad_event",
            "item_id",
        )
