"""Every limit of a conversation: whoever reaches it is told, and a bystander notices nothing."""

from __future__ import annotations

import pytest
import trio.testing

from interlock.errors import ClientError, LimitReached
from interlock.wire.items import MessageItem, Part
from interlock.workers.echo import MIND
from tests.faults.test_limits_told import KIB, beside, errors


def written(text: str) -> MessageItem:
    return MessageItem(role="user", content=[Part(type="input_text", text=text)])


async def test_max_items() -> None:
    """What a client adds is refused in words; speech is never refused, and lets go of the oldest instead."""
    async with beside(max_items=8) as scene:
        session, first = await scene.open()
        for number in range(8):
            session.create_item(written(str(number)))
        with pytest.raises(LimitReached, match="max_items = 8 is reached"):
            session.create_item(written("one too many"))
        assert scene.host.limits()["max_items"]["now"] == 8
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        deleted = [event["item_id"] for event in first.events if event["type"] == "conversation.item.deleted"]
        assert (len(deleted), len(scene.driver(session).conversation)) == (4, 6)
        session.create_item(written("there is room again"))


async def test_item_bytes() -> None:
    async with beside(item_bytes=2048) as scene:
        session, _ = await scene.open()
        with pytest.raises(ClientError, match=r"the item is \d+ bytes, over item_bytes = 2048: send less"):
            session.create_item(written("x" * 2048))
        assert len(scene.driver(session).conversation) == 0
        session.create_item(written("x" * 1024))


async def test_conversation_bytes() -> None:
    async with beside(conversation_bytes=16 * KIB, item_bytes=8 * KIB) as scene:
        session, _ = await scene.open()
        session.create_item(written("x" * 7000))
        session.create_item(written("x" * 7000))
        with pytest.raises(LimitReached, match="conversation_bytes = 16384 is reached"):
            session.create_item(written("x" * 7000))
        await scene.speak(session)
        assert scene.driver(session).conversation.size < 12 * KIB
        session.delete_item(scene.driver(session).conversation.items[0]["id"])
        session.create_item(written("x" * 7000))
        assert scene.host.limits()["conversation_bytes"]["high_water"] > 14_000


@pytest.mark.parametrize("what", ["text", "function_call"])
async def test_speech_bytes(what: str) -> None:
    """A model that says too much fails its own response; the client reads which limit it was."""
    async with beside(speech_bytes=1024) as scene:
        session, first = await scene.open()
        scene.fleet[MIND].script.texts, said = (), {"text": b"x" * 600, "function_call": call("x" * 600)}[what]
        session.create_item(written("hello"))
        session.create_response()
        await trio.testing.wait_all_tasks_blocked()
        (mind,) = scene.fleet[MIND].held
        for _ in range(3):
            scene.fleet[MIND].output(mind, what, said)
        await first.wait_for("response.done")
        failed = first.events[-1]["response"]
        assert (failed["status"], failed["status_details"]["error"]["code"]) == ("failed", "speech_bytes")
        assert errors(first) == [("runtime_append_failed", "speech_bytes")]
        assert (
            sum(
                event["type"].endswith(f"{'transcript' if what == 'text' else 'arguments'}.delta")
                for event in first.events
            )
            == 1
        )


async def test_max_calls() -> None:
    async with beside(max_calls=2) as scene:
        session, first = await scene.open()
        scene.fleet[MIND].script.texts, scene.fleet[MIND].script.calls = (), (("again", "{}"),) * 3
        session.create_item(written("hello"))
        session.create_response()
        done = await first.wait_for("response.done")
        assert (done["response"]["status"], len(done["response"]["output"])) == ("failed", 2)
        assert errors(first) == [("runtime_append_failed", "max_calls")]


async def test_what_a_stage_says_and_is_no_call_fails_its_own_response() -> None:
    async with beside() as scene:
        session, first = await scene.open()
        scene.fleet[MIND].script.texts = ()
        session.create_item(written("hello"))
        session.create_response()
        await trio.testing.wait_all_tasks_blocked()
        (mind,) = scene.fleet[MIND].held
        scene.fleet[MIND].output(mind, "function_call", b'{"name": 7}')
        await first.wait_for("response.done")
        assert errors(first) == [("runtime_append_failed", "bad_stage_output")]


def call(arguments: str) -> bytes:
    return b'{"name": "again", "arguments": "%b"}' % arguments.encode()
