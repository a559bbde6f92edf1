"""Items of a conversation: what a client may add, and the item objects that it reads, as the GA schema has them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

Item: TypeAlias = dict[str, Any]
"""An item object of the wire. Replaced as a whole, never changed."""

Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=1024 * 1024)]
Id: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]

PARTS: Final = {
    "user": frozenset({"input_text"}),
    "system": frozenset({"input_text"}),
    "assistant": frozenset({"output_text", "output_audio"}),
}
"""What a message of each role may hold. Audio comes through the input buffer only."""

ALIASES: Final = {"text": "output_text", "audio": "output_audio"}


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a message: text, or the transcript of audio that is not here."""

    type: str
    text: Text | None = None
    transcript: Text | None = None


class _Given(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """What items have in common. Without an ``id`` the server gives one."""

    id: Id | None = None


class MessageItem(_Given, frozen=True, kw_only=True, tag="message"):
    """Something that somebody said, in writing."""

    role: Literal["user", "assistant", "system"]
    content: Annotated[list[Part], msgspec.Meta(min_length=1, max_length=64)]

    def __post_init__(self) -> None:
        """Refuse parts that this role does not have."""
        for part in self.content:
            kind = ALIASES.get(part.type, part.type)
            if kind not in PARTS[self.role]:
                known = ", ".join(sorted(PARTS[self.role]))
                raise ValueError(f"content of type {part.type!r} is none of a {self.role} message: {known}")
            if (part.transcript if kind == "output_audio" else part.text) is None:
                raise ValueError(f"content of type {part.type!r} lacks its text")


class CallItem(_Given, frozen=True, kw_only=True, tag="function_call"):
    """A call that a model made, in another session perhaps."""

    call_id: Id
    name: Id
    arguments: Text


class OutputItem(_Given, frozen=True, kw_only=True, tag="function_call_output"):
    """What came of a call."""

    call_id: Id
    output: Text


GivenItem: TypeAlias = MessageItem | CallItem | OutputItem


def given_item(given: GivenItem, item_id: str) -> Item:
    """Return the item object of what a client has added."""
    head = {"id": item_id, "object": "realtime.item", "type": given.__struct_config__.tag, "status": "completed"}
    match given:
        case MessageItem():
            return head | {"role": given.role, "content": [_part(part) for part in given.content]}
        case CallItem():
            return head | {"call_id": given.call_id, "name": given.name, "arguments": given.arguments}
        case OutputItem():
            return head | {"call_id": given.call_id, "output": given.output}


def _part(part: Part) -> dict[str, Any]:
    kind = ALIASES.get(part.type, part.type)
    return (
        {"type": kind, "transcript": part.transcript} if kind == "output_audio" else {"type": kind, "text": part.text}
    )


def heard_item(item_id: str, transcript: str | None) -> Item:
    """Return the item of a spoken turn; ``transcript`` is null until it was understood."""
    content = [{"type": "input_audio", "transcript": transcript}]
    head = {"id": item_id, "object": "realtime.item", "type": "message", "status": "completed"}
    return head | {"role": "user", "content": content}


def said_item(item_id: str, status: str, text: str | None, *, written: bool) -> Item:
    """Return the item of what a response says; ``text`` is none while it has only begun."""
    part = {"type": "output_text", "text": text} if written else {"type": "output_audio", "transcript": text}
    head = {"id": item_id, "object": "realtime.item", "type": "message", "status": status}
    return head | {"role": "assistant", "content": [] if text is None else [part]}


def call_item(item_id: str, status: str, call_id: str, name: str, arguments: str) -> Item:
    """Return the item of a function call."""
    head = {"id": item_id, "object": "realtime.item", "type": "function_call", "status": status}
    return head | {"call_id": call_id, "name": name, "arguments": arguments}


def text_of(item: Item) -> str:
    """Return what an item says: the text and transcripts of a message, or what came of a call."""
    if item["type"] == "message":
        return " ".join(filter(None, (part.get("text") or part.get("transcript") for part in item["content"])))
    return str(item.get("output", ""))


def is_input(item: Item) -> bool:
    """Whether an item is something to answer: what the user said, or what came of a call."""
    return item["type"] == "function_call_output" or item.get("role") == "user"
