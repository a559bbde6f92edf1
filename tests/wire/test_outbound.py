"""What the client reads: required fields of the GA schema, our own at the top level, one number an event."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from msgspec.structs import replace

from interlock.wire import outbound
from interlock.wire.codes import CloseCode, class_of, is_retryable
from interlock.wire.dialect import DUPLEX, Credentials
from interlock.wire.items import call_item, said_item
from interlock.wire.lifecycle import EXPANSIONS, LifecycleFacts, lifecycle

REQUIRED = {
    "session.created": "session",
    "session.updated": "session",
    "error": "error",
    "response.created": "response",
    "response.output_item.added": "item output_index response_id",
    "conversation.item.added": "item",
    "response.content_part.added": "content_index item_id output_index part response_id",
    "response.output_audio.delta": "content_index delta item_id output_index response_id",
    "response.output_audio_transcript.delta": "content_index delta item_id output_index response_id",
    "response.output_audio.done": "content_index item_id output_index response_id",
    "response.output_audio_transcript.done": "content_index item_id output_index response_id transcript",
    "response.content_part.done": "content_index item_id output_index part response_id",
    "response.output_item.done": "item output_index response_id",
    "conversation.item.done": "item",
    "response.done": "response",
    "input_audio_buffer.speech_started": "audio_start_ms item_id",
    "input_audio_buffer.speech_stopped": "audio_end_ms item_id",
    "input_audio_buffer.committed": "item_id",
    "conversation.item.input_audio_transcription.completed": "content_index item_id transcript usage",
    "conversation.item.deleted": "item_id",
    "conversation.item.truncated": "item_id content_index audio_end_ms",
    "response.function_call_arguments.delta": "call_id delta item_id output_index response_id",
    "response.function_call_arguments.done": "arguments call_id item_id name output_index response_id",
    "session.closed": "session_id reason",
    "session.expired": "session_id reason",
}
"""Beyond `type` and `event_id`: the types of openai 3.57, and WIRE 4.2 for what is ours."""

CALL = call_item("item_r_2", "completed", "call_1", "look_up", '{"q": 1}')
SAID = said_item("item_r", "completed", "hello", written=False)
FACTS = LifecycleFacts(
    session_id="s", epoch=3, response_id="r", status="completed", transcript="hello", at_ms=1500, reason="", item=SAID
)


def read(frame: bytes | None) -> dict[str, Any]:
    assert frame is not None
    event: dict[str, Any] = json.loads(frame)
    missing = set(REQUIRED.get(event["type"], "").split()) - event.keys()
    assert (event["event_id"].startswith("event_"), missing) == (True, set())
    return event


@pytest.mark.parametrize("kind", EXPANSIONS)
def test_each_kind_becomes_its_events_in_order_numbered_without_a_hole(kind: str) -> None:
    events = [
        read(frame)
        for frame in lifecycle(kind, 41, FACTS if kind != "response.function_call" else replace(FACTS, item=CALL))
    ]
    assert tuple(event["type"] for event in events) == EXPANSIONS[kind]
    assert [event["server_event_seq"] for event in events] == list(range(41, 41 + len(events)))
    assert [event["event_id"] for event in events] == [f"event_{event['server_event_seq']}" for event in events]


@pytest.mark.parametrize(
    ("status", "reason", "details"),
    [
        ("completed", "", {"type": "completed"}),
        ("cancelled", "barge_in", {"type": "cancelled", "reason": "turn_detected"}),
        ("cancelled", "client_cancelled", {"type": "cancelled", "reason": "client_cancelled"}),
        ("cancelled", "session_closed", {"type": "cancelled"}),
        ("failed", "worker_gone", {"type": "failed", "error": {"type": "server_error", "code": "worker_gone"}}),
    ],
)
def test_a_response_says_how_it_ended_in_words_that_strict_clients_know(
    status: str, reason: str, details: dict[str, Any]
) -> None:
    said = said_item("item_r", "completed" if status == "completed" else "incomplete", "so far", written=False)
    facts = LifecycleFacts(response_id="r", status=status, reason=reason, item=said, output=(said,))
    *_, item, done = map(read, lifecycle("response.done", 1, facts))
    assert (done["response"]["status"], done["response"]["status_details"]) == (status, details)
    assert done.get("reason", "") == reason
    assert item["item"]["status"] == ("completed" if status == "completed" else "incomplete")


def test_deltas_carry_their_number_and_their_payload() -> None:
    audio = read(outbound.audio_delta(9, "r", b"\x01\x02" * 30, 16000))
    assert base64.b64decode(audio["delta"]) == b"\x01\x02" * 30
    assert (audio["server_event_seq"], audio["item_id"], audio["sample_rate_hz"]) == (9, "item_r", 16000)
    text = read(outbound.transcript_delta(10, "r", 'say "ü"\n'))
    assert (text["server_event_seq"], text["delta"]) == (10, 'say "ü"\n')


def test_what_belongs_to_one_transport_has_no_sequence_number() -> None:
    session = {"id": "s", "voice": "x"}
    frames = [
        outbound.session_created(session, 1, "token"),
        outbound.session_resumed(session, 2, "token"),
        outbound.session_replaced("s", 3),
        DUPLEX.updated(session, Credentials("s", 4, "token"), "4"),
        outbound.heartbeat_ack("s", 5),
        outbound.error("bad_event", "no", "e1", "audio"),
        outbound.resync_required("s", "journal_gap", 7, 9),
        outbound.input_cleared(8),
        outbound.output_cleared("r", 9),
    ]
    events = [read(frame) for frame in frames]
    assert [event for event in events if "server_event_seq" in event] == []
    assert [event["type"] for event in events][:3] == ["session.created", "session.resumed", "session.replaced"]
    assert events[0]["session"] == {"id": "s", "object": "realtime.session", "type": "realtime", "voice": "x"}
    assert [event["attachment_generation"] for event in events[:3]] == [1, 2, 3]
    assert "resume_token" not in read(outbound.session_created(session, 1, None))


def test_an_error_has_the_class_of_its_code() -> None:
    about = {"type": "invalid_request_error", "code": "bad_event", "message": "no", "retryable": False}
    event = read(outbound.error("bad_event", "no", "e1", "audio", n=5))
    assert event == {"type": "error", "event_id": "event_5", "error": about | {"event_id": "e1", "param": "audio"}}
    assert read(outbound.error("input_backpressure", "wait"))["error"]["retryable"]
    assert not read(outbound.error("input_backpressure", "wait", retryable=False))["error"]["retryable"]
    assert (class_of("input_backpressure"), class_of("never heard of")) == ("rate_limit_error", "server_error")
    assert (is_retryable("input_backpressure"), is_retryable("bad_event")) == (True, False)


def test_a_lost_history_says_whether_a_resume_goes_on() -> None:
    event = read(outbound.resync_required("s", "journal_overflow", None, 9))
    assert (event["resumable"], event["resumable_from"], event["head"]) == (False, None, 9)
    assert read(outbound.resync_required("s", "journal_gap", 0, 9))["resumable"]


def test_close_codes_are_those_that_clients_act_upon() -> None:
    assert (CloseCode.ENDED, CloseCode.SHUTDOWN, CloseCode.FULL, CloseCode.REPLACED) == (1000, 1012, 1013, 4001)


@pytest.mark.parametrize("response_id", ["resp_1", "100%", "%d %b", 'a "quoted" \\ one', "\u00fcber"])
def test_an_audio_delta_is_what_json_says_whatever_the_names_are(response_id: str) -> None:
    pieces = [b"", b"\0\1", bytes(range(256)) * 12]
    for seq, (frame, pcm) in enumerate(zip(outbound.audio_deltas(7, response_id, pieces), pieces, strict=True), 7):
        event = read(frame)
        assert frame == outbound.audio_delta(seq, response_id, pcm)
        assert (event["response_id"], event["item_id"]) == (response_id, f"item_{response_id}")
        assert (event["server_event_seq"], event["event_id"]) == (seq, f"event_{seq}")
        assert base64.b64decode(event["delta"]) == pcm
