"""From bytes to a client's message, or to the error that the client is told. Nothing else comes out of here.

What is well formed is decoded in one pass, straight into its struct; audio comes out as bytes. Only what that pass
refuses is looked at again, to find out what is wrong and which event it was.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from interlock.errors import ClientError
from interlock.wire.config import TOO_DEEP, flatten
from interlock.wire.messages import ALIASES, MAX_NAME, ODD_AUDIO, TYPES, ClientMessage, Plain, TurnSignal

_FAST: Final[msgspec.json.Decoder[Plain]] = msgspec.json.Decoder(Plain)
TURN_SIGNAL: Final = "turn.signal"
_PLACE: Final = re.compile(r" - at `\$\.?([^`]*)`$")
_MISSING: Final = re.compile(r"^Object missing required field `([^`]*)`")


class BadMessage(ClientError):
    """A message that is none of ours. ``event_id`` is the client's own id of it, where it could be read."""

    def __init__(self, code: str, message: str, *, param: str | None = None, event_id: str | None = None) -> None:
        super().__init__(code, message, param=param)
        self.event_id = event_id


def parse(data: bytes | str, limit: int) -> ClientMessage:
    """Decode one message of at most ``limit`` bytes.

    Raises :class:`BadMessage` with one of the codes ``event_too_large``, ``invalid_json``, ``unknown_event``,
    ``bad_audio`` and ``bad_event``; ``param`` names the field that is wrong.
    """
    data = _bytes_of(data, limit)
    try:
        return _FAST.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return _look_again(data)


def _bytes_of(data: bytes | str, limit: int) -> bytes:
    if len(data) > limit:
        raise BadMessage("event_too_large", f"a message has at most {limit} bytes")
    if isinstance(data, bytes):
        return data
    try:
        return _bytes_of(data.encode(), limit)
    except UnicodeEncodeError as error:
        raise BadMessage("invalid_json", "the message is not Unicode text") from error


def unfold(signal: TurnSignal) -> ClientMessage:
    """Return the message that a ``turn.signal`` stands for. Raises :class:`BadMessage`, as :func:`parse` does."""
    if ALIASES.get(signal.event, signal.event) == TURN_SIGNAL:
        raise BadMessage("bad_event", "a turn.signal stands for another event", param="event", event_id=signal.event_id)
    return _decode(signal.payload | {"type": signal.event, "event_id": signal.event_id})


def _look_again(data: bytes) -> ClientMessage:
    """Decode step by step, with a name for everything that can be wrong."""
    return _decode(_object_of(data))


def _decode(event: dict[str, Any]) -> ClientMessage:
    event_id = _event_id_of(event)
    event["type"] = _type_of(event, event_id)
    if event["type"] == "session.update" and isinstance(event.get("session"), dict):
        event["session"] = flatten(event["session"])
    try:
        message: ClientMessage = msgspec.convert(event, ClientMessage)
    except msgspec.ValidationError as error:
        raise _diagnose(str(error), event_id) from None
    return message


def _object_of(data: bytes) -> dict[str, Any]:
    try:
        event = msgspec.json.decode(data)
    except RecursionError:
        raise BadMessage("bad_event", TOO_DEEP) from None
    except msgspec.ValidationError as error:  # well-formed, and still not for us: a number over 64 bits
        raise BadMessage("bad_event", str(error)) from None
    except msgspec.DecodeError as error:
        raise BadMessage("invalid_json", str(error)) from None
    if not isinstance(event, dict):
        raise BadMessage("bad_event", "a message is one JSON object")
    return event


def _event_id_of(event: dict[str, Any]) -> str | None:
    event_id = event.get("event_id")
    return event_id if isinstance(event_id, str) and len(event_id) <= MAX_NAME else None


def _type_of(event: dict[str, Any], event_id: str | None) -> str:
    name = event.get("type")
    if not isinstance(name, str):
        raise BadMessage("bad_event", "a message has a type, and it is a string", param="type", event_id=event_id)
    name = ALIASES.get(name, name)
    if name not in TYPES:
        raise BadMessage("unknown_event", f"there is no event {name[:64]!r}", param="type", event_id=event_id)
    return name


def _diagnose(text: str, event_id: str | None) -> BadMessage:
    """Turn the decoder's sentence into a code and the field that it is about."""
    place, missing = _PLACE.search(text), _MISSING.match(text)
    path = [part for part in (place and place[1], missing and missing[1]) if part]
    param = ".".join(path) or None
    if text.startswith(ODD_AUDIO) or (text.startswith("Invalid base64") and param == "audio"):
        return BadMessage("bad_audio", text, param="audio", event_id=event_id)
    return BadMessage("bad_event", text, param=param, event_id=event_id)
