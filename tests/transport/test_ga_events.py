"""Everything that a strict client can be sent, asked of the pydantic types of an SDK, where one is installed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlock.wire import outbound
from interlock.wire.dialect import PRIVATE, Credentials, Ga
from interlock.wire.items import MessageItem, OutputItem, Part, call_item, given_item, heard_item, said_item
from interlock.wire.lifecycle import EXPANSIONS, LifecycleFacts, lifecycle
from tests.transport import ga_models

SAID = said_item("item_resp_1", "completed", "hello", written=False)
WROTE = said_item("item_resp_1", "incomplete", "hello", written=True)
CALL = call_item("item_resp_1_2", "completed", "call_1", "look_up", "{}")
HEARD = heard_item("item_turn_1", None)
GIVEN = given_item(MessageItem(role="system", content=[Part(type="input_text", text="hi")]), "i")
OUTPUT = given_item(OutputItem(call_id="call_1", output="2"), "o")


def everything() -> list[dict[str, Any]]:
    """Make every event of the GA dialect, each in all its shapes."""
    held = Credentials("sess_1", 2, "token")
    config = {
        "model": "m",
        "instructions": "x",
        "voice": "cedar",
        "tools": [],
        "turn_detection": {"type": "semantic_vad"},
    }
    frames = [
        *(Ga(told).hello(config, held) for told in ({}, {"resumed": True}, {"resumed": False, "resumable_from": None})),
        Ga().updated({"turn_detection": None, "modalities": ["text"]}, held, "1"),
        outbound.error("bad_event", "no", "mine", "audio", n=1),
        outbound.input_cleared(1),
        outbound.output_cleared("resp_1", 2),
        outbound.event("conversation.item.retrieved", 3, item=OUTPUT),
        outbound.audio_delta(1, "resp_1", b"ab"),
        outbound.transcript_delta(2, "resp_1", "a", index=1),
        outbound.text_delta(3, "resp_1", "a"),
    ]
    for kind in EXPANSIONS:
        for item in (SAID, WROTE, CALL, HEARD, GIVEN, None):
            if (
                kind not in PRIVATE
                and (item is not None or kind == "response.done")
                and ((kind == "response.function_call") == (item is CALL))
            ):
                frames.extend(filter(None, lifecycle(kind, 9, facts(kind, item))))
    return [json.loads(frame) for frame in frames]


def facts(kind: str, item: dict[str, Any] | None) -> LifecycleFacts:
    is_failed = item is WROTE
    return LifecycleFacts(
        session_id="sess_1",
        response_id="" if kind.startswith(("conversation", "input")) else "resp_1",
        status="failed" if is_failed else "cancelled",
        reason="worker_gone" if is_failed else "turn_detected",
        transcript="hello",
        at_ms=40,
        item_id="i",
        item=item,
        previous="p",
        written=is_failed,
        output=(item,) if item else (),
        metadata={"a": "b"},
    )


EVERYTHING = everything()


def test_every_event_that_strict_clients_may_be_sent_is_made_here_and_no_other() -> None:
    assert {event["type"] for event in EVERYTHING} == set(ga_models.GA)


@pytest.mark.parametrize("event", EVERYTHING, ids=lambda event: event["type"])
def test_each_event_has_what_strict_clients_require(event: dict[str, Any]) -> None:
    ga_models.check(event)


@pytest.mark.parametrize("kind", sorted(ga_models.GA))
def test_the_model_itself_is_strict(kind: str) -> None:
    """Leave any required field out, and it says so."""
    whole = next(event for event in EVERYTHING if event["type"] == kind)
    for field in ga_models.GA[kind].__struct_fields__:
        with pytest.raises(ValueError, match=field):
            ga_models.check({name: value for name, value in whole.items() if name != field})


@pytest.mark.parametrize("event", EVERYTHING, ids=lambda event: event["type"])
def test_each_event_passes_the_types_of_the_openai_package(event: dict[str, Any]) -> None:
    realtime = pytest.importorskip("openai.types.realtime")
    from pydantic import TypeAdapter

    TypeAdapter(realtime.RealtimeServerEvent).validate_python(event, strict=False)
