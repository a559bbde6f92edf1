"""The events that say that something began or ended: what one step of a machine becomes on the wire, in order.

Clients wait for more events than the machines have: a response that ends is six events, a turn that was heard is three.
Each takes a sequence number of its own, so that a position between them is a position like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from interlock.wire.codes import class_of
from interlock.wire.items import Item
from interlock.wire.outbound import encode, error_object
from interlock.wire.session_object import PCM_24K

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
    item: Item | None = None
    """What is added or done; of a response its message, none where it has said nothing."""
    previous: str | None = None
    """The id of the item before it."""
    index: int = 0
    """Where in the response's output it is."""
    written: bool = False
    """Whether the response is text, and has no audio."""
    in_band: bool = True
    """Whether the response is part of the conversation."""
    output: Sequence[Item] = ()
    """All that a response has made."""
    metadata: Mapping[str, str] | None = None
    usage: Mapping[str, int] = {}
    """Tokens that the stages have counted: ``input_tokens`` and ``output_tokens``."""


COMMITTED: Final = ("input_audio_buffer.committed", "conversation.item.added", "conversation.item.done")

EXPANSIONS: Final[dict[str, tuple[str, ...]]] = {
    "response.created": ("response.created",),
    "response.message": ("response.output_item.added", "conversation.item.added", "response.content_part.added"),
    "response.function_call": (
        "response.output_item.added",
        "conversation.item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "conversation.item.done",
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
    "input_audio_buffer.committed": COMMITTED,
    "conversation.item.created": ("conversation.item.added", "conversation.item.done"),
    "conversation.item.deleted": ("conversation.item.deleted",),
    "conversation.item.truncated": ("conversation.item.truncated",),
    "conversation.item.input_audio_transcription.completed": ("conversation.item.input_audio_transcription.completed",),
}
"""From a lifecycle kind to the wire events that it becomes, in order, one sequence number each."""

WRITTEN: Final = {
    "response.output_audio.done": "response.output_text.done",
    "response.output_audio_transcript.done": None,
}
"""What a response of text alone has instead."""

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
    numbered = enumerate(names_of(kind, facts), seq)
    return tuple(encode(_head(name, number) | _FIELDS[name](facts)) for number, name in numbered)


def names_of(kind: str, facts: LifecycleFacts) -> tuple[str, ...]:
    """Return the events of ``kind`` as this response has them: without audio, where it writes, and so on."""
    if kind == "response.done" and facts.item is None:
        return (kind,)  # it has said nothing, so nothing was begun
    names = (WRITTEN.get(name, name) if facts.written else name for name in EXPANSIONS[kind])
    is_aside = kind.startswith("response.") and not facts.in_band
    return tuple(name for name in names if name and not (is_aside and name.startswith("conversation.")))


def _head(name: str, seq: int) -> Fields:
    return {"type": name, "event_id": f"event_{seq}", "server_event_seq": seq}


def _response_created(facts: LifecycleFacts) -> Fields:
    response = _response(facts, "in_progress") | {"status_details": None}
    return {"response_id": facts.response_id, "epoch": facts.epoch, "response": response}


def _response_done(facts: LifecycleFacts) -> Fields:
    response = _response(facts, facts.status) | {"status_details": _details(facts), "usage": _usage(facts.usage)}
    ours = {"response_id": facts.response_id, "epoch": facts.epoch}
    return ours | ({"reason": facts.reason} if facts.reason else {}) | {"response": response}


def _response(facts: LifecycleFacts, status: str) -> Fields:
    head = {"id": facts.response_id, "object": "realtime.response", "status": status, "output": list(facts.output)}
    sound = {} if facts.written else {"audio": {"output": {"format": PCM_24K}}}
    return head | {"output_modalities": ["text" if facts.written else "audio"], "metadata": facts.metadata} | sound


def _usage(counted: Mapping[str, int]) -> Fields:
    """Return the tokens that the stages have counted; a pipeline that counts none used none."""
    given, made = counted.get("input_tokens", 0), counted.get("output_tokens", 0)
    details = {name: {"text_tokens": n, "audio_tokens": 0} for name, n in (("input", given), ("output", made))}
    return {
        "total_tokens": given + made,
        "input_tokens": given,
        "output_tokens": made,
        "input_token_details": {**details["input"], "cached_tokens": 0},
        "output_token_details": details["output"],
    }


def _details(facts: LifecycleFacts) -> Fields:
    details: Fields = {"type": facts.status}
    if reason := GA_REASONS.get(facts.reason):
        details["reason"] = reason
    if facts.status == "failed":
        code = facts.code or facts.reason or "engine_error"
        details["error"] = {"type": class_of(code), "code": code}
    return details


def _place(facts: LifecycleFacts) -> Fields:
    """Return where in the response something is: an item of ours has one part."""
    return {"response_id": facts.response_id, "item_id": _id(facts), "output_index": facts.index, "content_index": 0}


def _id(facts: LifecycleFacts) -> str:
    return facts.item["id"] if facts.item is not None else facts.item_id


def _output_item(facts: LifecycleFacts) -> Fields:
    return {"response_id": facts.response_id, "output_index": facts.index, "item": facts.item}


def _begun_item(facts: LifecycleFacts) -> Fields:
    return _output_item(facts) | {"item": _begun(facts.item)}


def _added(facts: LifecycleFacts) -> Fields:
    return {"previous_item_id": facts.previous, "item": _begun(facts.item) if facts.response_id else facts.item}


def _done(facts: LifecycleFacts) -> Fields:
    return {"previous_item_id": facts.previous, "item": facts.item}


def _begun(item: Item | None) -> Item | None:
    """Return an item as it is when it begins: a call without its arguments."""
    if item is None or item["type"] != "function_call":
        return item
    return item | {"status": "in_progress", "arguments": ""}


def _part(facts: LifecycleFacts) -> Fields:
    part = {"type": "text", "text": facts.transcript} if facts.written else _spoken(facts.transcript)
    return _place(facts) | {"part": part}


def _spoken(transcript: str) -> Fields:
    return {"type": "audio", "transcript": transcript}


def _arguments(facts: LifecycleFacts, *names: str) -> Fields:
    assert facts.item is not None
    place = {name: value for name, value in _place(facts).items() if name != "content_index"}
    return place | {"call_id": facts.item["call_id"]} | dict.fromkeys(names, facts.item["arguments"])


def _ended(facts: LifecycleFacts) -> Fields:
    return {"session_id": facts.session_id, "reason": facts.reason}


def _error(facts: LifecycleFacts) -> Fields:
    code = facts.code or "internal_error"
    about = {"response_id": facts.response_id} if facts.response_id else {}
    return about | {"error": error_object(code, facts.message or facts.reason or code)}


def _transcribed(facts: LifecycleFacts) -> Fields:
    usage = {"type": "duration", "seconds": facts.at_ms / 1000}
    return {"item_id": facts.item_id, "content_index": 0, "transcript": facts.transcript, "usage": usage}


def _truncated(facts: LifecycleFacts) -> Fields:
    return {"item_id": facts.item_id, "content_index": 0, "audio_end_ms": facts.at_ms}


def _call_done(facts: LifecycleFacts) -> Fields:
    assert facts.item is not None
    return _arguments(facts, "arguments") | {"name": facts.item["name"]}


_FIELDS: Final[dict[str, Callable[[LifecycleFacts], Fields]]] = {
    "response.created": _response_created,
    "response.output_item.added": _begun_item,
    "conversation.item.added": _added,
    "response.content_part.added": _part,
    "response.function_call_arguments.delta": lambda facts: _arguments(facts, "delta"),
    "response.function_call_arguments.done": _call_done,
    "response.output_audio.done": _place,
    "response.output_audio_transcript.done": lambda facts: _place(facts) | {"transcript": facts.transcript},
    "response.output_text.done": lambda facts: _place(facts) | {"text": facts.transcript},
    "response.content_part.done": _part,
    "response.output_item.done": _output_item,
    "conversation.item.done": _done,
    "response.done": _response_done,
    "session.closed": _ended,
    "session.expired": _ended,
    "error": _error,
    "input_audio_buffer.speech_started": lambda facts: {"audio_start_ms": facts.at_ms, "item_id": facts.item_id},
    "input_audio_buffer.speech_stopped": lambda facts: {"audio_end_ms": facts.at_ms, "item_id": facts.item_id},
    "input_audio_buffer.committed": lambda facts: {"previous_item_id": facts.previous, "item_id": _id(facts)},
    "conversation.item.deleted": lambda facts: {"item_id": facts.item_id},
    "conversation.item.truncated": _truncated,
    "conversation.item.input_audio_transcription.completed": _transcribed,
}
