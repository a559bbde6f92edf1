"""The events that say that something began or ended: what one step of a machine becomes on the wire, in order.

Clients wait for more events than the machines have: a response that begins is four events, one that ends is six.
Each takes a sequence number of its own, so that a position between them is a position like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from interlock.wire.codes import class_of
from interlock.wire.outbound import encode, error_object

Fields: TypeAlias = dict[str, Any]


class LifecycleFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the events of one step are made of; each kind reads what concerns it."""

    session_id: str = ""
    epoch: int = 0
    response_id: str = ""
    status: str = ""
    """Of ``response.done``: completed, cancelled or failed."""
    reason: str = ""
    code: str = ""
    """Of ``error``, and of a response that failed."""
    message: str = ""
    transcript: str = ""
    at_ms: int = 0
    item_id: str = ""


EXPANSIONS: Final[dict[str, tuple[str, ...]]] = {
    "response.created": (
        "response.created",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
    ),
    "response.done": (
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "response.output_item.done",
        "conversation.item.done",
        "response.done",
    ),
    "session.closed": ("session.closed",),
    "session.expired": ("session.expired",),
    "error": ("error",),
    "input_audio_buffer.speech_started": ("input_audio_buffer.speech_started",),
    "input_audio_buffer.speech_stopped": ("input_audio_buffer.speech_stopped",),
    "input_audio_buffer.committed": ("input_audio_buffer.committed",),
    "conversation.item.input_audio_transcription.completed": ("conversation.item.input_audio_transcription.completed",),
}
"""From a lifecycle kind to the wire events that it becomes, in order, one sequence number each."""

GA_REASONS: Final = {
    "turn_detected": "turn_detected",
    "speech_started": "turn_detected",
    "barge_in": "turn_detected",
    "client_cancelled": "client_cancelled",
    "response_cancel": "client_cancelled",
    "response.cancel": "client_cancelled",
    "output_audio_buffer.clear": "client_cancelled",
}
"""Our reasons of a cancel, in the four words that strict clients accept. Other reasons stand at the top level only."""


def lifecycle(kind: str, seq: int, facts: LifecycleFacts) -> tuple[bytes, ...]:
    """Encode the events of ``kind``, numbered ``seq``, ``seq + 1`` and so on."""
    numbered = enumerate(EXPANSIONS[kind], seq)
    return tuple(encode(_head(name, number) | _FIELDS[name](facts)) for number, name in numbered)


def _head(name: str, seq: int) -> Fields:
    return {"type": name, "event_id": f"event_{seq}", "server_event_seq": seq}


def _response_created(facts: LifecycleFacts) -> Fields:
    response = {"id": facts.response_id, "object": "realtime.response", "status": "in_progress", "output": []}
    return {"response_id": facts.response_id, "epoch": facts.epoch, "response": response}


def _response_done(facts: LifecycleFacts) -> Fields:
    response = {
        "id": facts.response_id,
        "object": "realtime.response",
        "status": facts.status,
        "status_details": _details(facts),
        "output": [_item(facts, done=True)],
    }
    ours = {"response_id": facts.response_id, "epoch": facts.epoch}
    return ours | ({"reason": facts.reason} if facts.reason else {}) | {"response": response}


def _details(facts: LifecycleFacts) -> Fields:
    details: Fields = {"type": facts.status}
    if reason := GA_REASONS.get(facts.reason):
        details["reason"] = reason
    if facts.status == "failed":
        code = facts.code or facts.reason or "engine_error"
        details["error"] = {"type": class_of(code), "code": code}
    return details


def _place(facts: LifecycleFacts) -> Fields:
    """Return where in the response its audio is: ours always have one item with one part."""
    item_id = _item_id(facts)
    return {"response_id": facts.response_id, "item_id": item_id, "output_index": 0, "content_index": 0}


def _item_id(facts: LifecycleFacts) -> str:
    return facts.item_id or f"item_{facts.response_id}"


def _item(facts: LifecycleFacts, *, done: bool) -> Fields:
    ended = "completed" if facts.status == "completed" else "incomplete"
    content = [{"type": "output_audio", "transcript": facts.transcript}] if done else []
    head = {"id": _item_id(facts), "object": "realtime.item", "type": "message", "role": "assistant"}
    return head | {"status": ended if done else "in_progress", "content": content}


def _output_item(facts: LifecycleFacts, *, done: bool) -> Fields:
    return {"response_id": facts.response_id, "output_index": 0, "item": _item(facts, done=done)}


def _conversation_item(facts: LifecycleFacts, *, done: bool) -> Fields:
    return {"previous_item_id": None, "item": _item(facts, done=done)}


def _part(facts: LifecycleFacts) -> Fields:
    return _place(facts) | {"part": {"type": "audio", "transcript": facts.transcript}}


def _ended(facts: LifecycleFacts) -> Fields:
    return {"session_id": facts.session_id, "reason": facts.reason}


def _error(facts: LifecycleFacts) -> Fields:
    code = facts.code or "internal_error"
    about = {"response_id": facts.response_id} if facts.response_id else {}
    return about | {"error": error_object(code, facts.message or facts.reason or code)}


def _transcribed(facts: LifecycleFacts) -> Fields:
    usage = {"type": "duration", "seconds": facts.at_ms / 1000}
    return {"item_id": facts.item_id, "content_index": 0, "transcript": facts.transcript, "usage": usage}


_FIELDS: Final[dict[str, Callable[[LifecycleFacts], Fields]]] = {
    "response.created": _response_created,
    "response.output_item.added": lambda facts: _output_item(facts, done=False),
    "conversation.item.added": lambda facts: _conversation_item(facts, done=False),
    "response.content_part.added": _part,
    "response.output_audio.done": _place,
    "response.output_audio_transcript.done": lambda facts: _place(facts) | {"transcript": facts.transcript},
    "response.content_part.done": _part,
    "response.output_item.done": lambda facts: _output_item(facts, done=True),
    "conversation.item.done": lambda facts: _conversation_item(facts, done=True),
    "response.done": _response_done,
    "session.closed": _ended,
    "session.expired": _ended,
    "error": _error,
    "input_audio_buffer.speech_started": lambda facts: {"audio_start_ms": facts.at_ms, "item_id": facts.item_id},
    "input_audio_buffer.speech_stopped": lambda facts: {"audio_end_ms": facts.at_ms, "item_id": facts.item_id},
    "input_audio_buffer.committed": lambda facts: {"previous_item_id": None, "item_id": facts.item_id},
    "conversation.item.input_audio_transcription.completed": _transcribed,
}
