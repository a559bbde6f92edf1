"""From a line of a trace back to the event that it tells of. Secrets are not in a trace; marks stand in their places.

A resume says which of the session's tokens it presented, so the credential's whole rule can be followed with marks: the
token that is issued by an event is named for that event, and a presented one is looked up in the credential.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from interlock.machine import Cancelled, Message
from interlock.session import books
from interlock.session.credential import Credential
from interlock.tables import messages as m

UNKNOWN: Final = b"a token of nobody"

KINDS: Final[dict[str, type[Message]]] = {
    kind.__name__: kind
    for kind in [Cancelled, *vars(m).values(), *books.APPLY]
    if isinstance(kind, type) and issubclass(kind, Message) and kind is not Message
}
"""Every message of this version, by its name."""


class Told(msgspec.Struct, gc=False):
    """What a replay reads of a line before it computes the rest."""

    n: int
    at: float
    session: str
    event: Raw = Raw()
    presents: str = ""
    refused: str | UnsetType = UNSET
    voided: dict[str, Any] | UnsetType = UNSET
    value: dict[str, Any] | UnsetType = UNSET


read_line: Final = msgspec.json.Decoder(Told).decode
"""Reads the part of a line that a replay cannot compute. Raises :class:`msgspec.DecodeError`."""

_HEAD: Final = b'{"type":"'
_OPEN: dict[bytes, Callable[[Raw], Message]] = {
    name.encode(): msgspec.json.Decoder(kind).decode for name, kind in KINDS.items() if not kind.secrets + kind.facts
}
"""The kinds that are as they were sent. Of the others facts are left out: they are filled in again."""


def name_of(raw: Raw) -> str:
    """Return the type that an event says it is of, or a question mark."""
    text = bytes(raw)
    return text[len(_HEAD) : text.find(b'"', len(_HEAD))].decode("ascii", "replace") if text[:9] == _HEAD else "?"


def read_event(told: Told, credential: Credential, issued: bytes) -> Message:
    """Return the event. ``issued`` stands for the token that it issues, if it is of a kind that does.

    Raises :class:`ValueError` for what is no event of this version.
    """
    raw = told.event
    text = bytes(raw)
    read = _OPEN.get(text[len(_HEAD) : text.find(b'"', len(_HEAD))]) if text[:9] == _HEAD else None
    try:
        return read(raw) if read is not None else _read_slowly(raw, told.presents, credential, issued)
    except msgspec.DecodeError as wrong:
        raise ValueError(f"{name_of(raw)} is not as this version has it: {wrong}") from None


def _read_slowly(raw: Raw, presents: str, credential: Credential, issued: bytes) -> Message:
    plain = msgspec.json.decode(raw) if bytes(raw) else None
    if not isinstance(plain, dict) or not isinstance(plain.get("type"), str):
        raise ValueError("has no event")
    kind = KINDS.get(plain["type"])
    if kind is None:
        raise ValueError(f"{plain['type']} is no message of this version")
    sent = {name: value for name, value in plain.items() if name not in kind.facts}
    event: Message = msgspec.convert(sent | dict.fromkeys(kind.secrets, ""), kind)
    marks: dict[str, Any] = {"fresh": issued}
    if "token" in kind.secrets:
        marks["token"] = _token(presents, credential)
    return replace(event, **{name: marks[name] for name in kind.secrets}) if kind.secrets else event  # type: ignore[type-var]


def _token(presents: str, credential: Credential) -> bytes:
    if presents == "current":
        return credential.current
    return credential.presented or UNKNOWN if presents == "presented" else UNKNOWN
