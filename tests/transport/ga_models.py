"""The GA schema as strict clients hold us to it: required fields, types and literal values, event by event.

Written out of the types of the ``openai`` package (3.57), so that it needs nothing; where that package is installed,
``test_ga_events`` asks its own pydantic adapter as well.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Strict(msgspec.Struct, kw_only=True):
    """Fields that are not listed are ours, and tolerated."""


class Error(Strict):
    type: str
    message: str
    code: str | None = None
    param: str | None = None
    event_id: str | None = None


class Pcm(Strict):
    type: Literal["audio/pcm"]
    rate: Literal[24000]


class Detection(Strict):
    type: Literal["server_vad", "semantic_vad"]
    create_response: bool
    interrupt_response: bool


class AudioIn(Strict):
    format: Pcm
    turn_detection: Detection | None


class AudioOut(Strict):
    format: Pcm
    voice: str | None = None


class Audio(Strict):
    input: AudioIn
    output: AudioOut


class Session(Strict):
    id: str
    object: Literal["realtime.session"]
    type: Literal["realtime"]
    output_modalities: list[Literal["text", "audio"]]
    audio: Audio
    model: str | None = None


class Part(Strict):
    type: Literal["input_text", "input_audio", "output_text", "output_audio"]
    text: str | None = None
    transcript: str | None = None


class Message(Strict, tag_field="type", tag="message"):
    id: str
    object: Literal["realtime.item"]
    role: Literal["user", "assistant", "system"]
    status: Literal["completed", "incomplete", "in_progress"]
    content: list[Part]


class Call(Strict, tag_field="type", tag="function_call"):
    id: str
    object: Literal["realtime.item"]
    status: Literal["completed", "incomplete", "in_progress"]
    call_id: str
    name: str
    arguments: str


class CallOutput(Strict, tag_field="type", tag="function_call_output"):
    id: str
    object: Literal["realtime.item"]
    call_id: str
    output: str


Item = Message | Call | CallOutput


class Details(Strict):
    type: Literal["completed", "cancelled", "failed", "incomplete"]
    reason: Literal["turn_detected", "client_cancelled", "max_output_tokens", "content_filter"] | None = None


class Usage(Strict):
    total_tokens: int
    input_tokens: int
    output_tokens: int
    input_token_details: dict[str, int]
    output_token_details: dict[str, int]


class Begun(Strict):
    id: str
    object: Literal["realtime.response"]
    status: Literal["in_progress"]
    output: list[Item]
    output_modalities: list[Literal["text", "audio"]]
    metadata: dict[str, str] | None


class Ended(Strict):
    id: str
    object: Literal["realtime.response"]
    status: Literal["completed", "cancelled", "failed"]
    status_details: Details
    output: list[Item]
    output_modalities: list[Literal["text", "audio"]]
    metadata: dict[str, str] | None
    usage: Usage


class ContentPart(Strict):
    type: Literal["audio", "text"]
    transcript: str | None = None
    text: str | None = None


def event(name: str, /, **fields: Any) -> type[Strict]:
    """Make the model of one event."""
    annotations = [("event_id", str), *fields.items()]
    made = msgspec.defstruct(name.replace(".", "_"), annotations, bases=(Strict,), kw_only=True)
    assert issubclass(made, Strict)
    return made


INDEX: dict[str, Any] = {"item_id": str, "output_index": int, "response_id": str}
PLACE: dict[str, Any] = INDEX | {"content_index": int}
ADDED: dict[str, Any] = {"item": Item, "previous_item_id": str | None}

FIELDS: dict[str, dict[str, Any]] = {
    "session.created": {"session": Session},
    "session.updated": {"session": Session},
    "error": {"error": Error},
    "input_audio_buffer.speech_started": {"audio_start_ms": int, "item_id": str},
    "input_audio_buffer.speech_stopped": {"audio_end_ms": int, "item_id": str},
    "input_audio_buffer.committed": {"item_id": str, "previous_item_id": str | None},
    "input_audio_buffer.cleared": {},
    "output_audio_buffer.cleared": {"response_id": str},
    "conversation.item.added": ADDED,
    "conversation.item.done": ADDED,
    "conversation.item.deleted": {"item_id": str},
    "conversation.item.retrieved": {"item": Item},
    "conversation.item.truncated": {"audio_end_ms": int, "content_index": int, "item_id": str},
    "conversation.item.input_audio_transcription.completed": {
        "content_index": int,
        "item_id": str,
        "transcript": str,
        "usage": dict[str, Any],
    },
    "response.created": {"response": Begun},
    "response.done": {"response": Ended},
    "response.output_item.added": {"item": Item, "output_index": int, "response_id": str},
    "response.output_item.done": {"item": Item, "output_index": int, "response_id": str},
    "response.content_part.added": PLACE | {"part": ContentPart},
    "response.content_part.done": PLACE | {"part": ContentPart},
    "response.output_audio.delta": PLACE | {"delta": str},
    "response.output_audio.done": PLACE,
    "response.output_audio_transcript.delta": PLACE | {"delta": str},
    "response.output_audio_transcript.done": PLACE | {"transcript": str},
    "response.output_text.delta": PLACE | {"delta": str},
    "response.output_text.done": PLACE | {"text": str},
    "response.function_call_arguments.delta": INDEX | {"call_id": str, "delta": str},
    "response.function_call_arguments.done": INDEX | {"call_id": str, "name": str, "arguments": str},
}
"""What each event requires, beyond ``type`` and ``event_id``."""

GA = {name: event(name, **fields) for name, fields in FIELDS.items()}
"""Every event that a strict client may be sent by this server."""


def check(data: dict[str, Any]) -> None:
    """Raise for an event that a strict client would not accept."""
    msgspec.convert(data, GA[data["type"]], strict=True)
