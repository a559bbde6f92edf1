"""The whole value of a session as plain data, and back: where a trace, or a file of it, begins.

Tokens stay out. What is told of a credential is which tokens there are; a value that is made again has marks in their
places, which open the same doors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from interlock.machine import Address, Cell, Key
from interlock.session.attachment import Attachment
from interlock.session.credential import Credential
from interlock.session.fence import Fence
from interlock.session.lease import Lease
from interlock.session.request import Request
from interlock.session.response import Response
from interlock.session.session import Session
from interlock.session.settings import Settings
from interlock.session.value import Journal, Playback, Value

DATA: Final[dict[str, type[Any]]] = {
    "session": Session,
    "attachment": Attachment,
    "lease": Lease,
    "fence": Fence,
    "request": Request,
    "response": Response,
}
"""What the data of each machine is."""

COUNTED: Final = ("epoch", "answered", "listened", "input_bytes", "turns", "stale", "refused")
"""Fields of a value that are plain numbers."""

CURRENT, PRESENTED = b"the current token", b"the presented token"
"""What stands for the tokens of a credential that is made again."""


def snapshot(value: Value) -> dict[str, Any]:
    """Return everything that a session is, as plain data, without its tokens."""
    credential = value.credential
    told = {"current": bool(credential.current), "presented": credential.presented is not None}
    return {
        "settings": value.settings.model_dump(),
        "cells": [[machine, key, cell.state, cell.data._asdict()] for (machine, key), cell in value.cells.items()],
        "credential": told | {"claim_head": credential.claim_head},
        "journal": value.journal,
        "playback": value.playback,
        "closing": value.closing,
        **{name: getattr(value, name) for name in COUNTED},
    }


class _Cell(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    machine: str
    key: Key
    state: str
    data: dict[str, Any]


class _Credential(msgspec.Struct, forbid_unknown_fields=True):
    current: bool
    presented: bool
    claim_head: int


class _Snapshot(msgspec.Struct, forbid_unknown_fields=True):
    settings: dict[str, Any]
    cells: list[_Cell]
    credential: _Credential
    journal: Journal
    playback: tuple[Playback, ...]
    closing: tuple[int, ...]
    epoch: int
    answered: int
    listened: int
    input_bytes: int
    turns: int
    stale: int
    refused: int


def restored(session_id: str, plain: Mapping[str, Any]) -> Value:
    """Return the value that :func:`snapshot` told of. Raises :class:`ValueError` for what it cannot have told."""
    told = msgspec.convert(plain, _Snapshot)
    cells: dict[Address, Cell] = {(cell.machine, cell.key): _cell(cell) for cell in told.cells}
    credential = Credential(
        CURRENT if told.credential.current else b"",
        PRESENTED if told.credential.presented else None,
        told.credential.claim_head,
    )
    counted = {name: getattr(told, name) for name in COUNTED}
    settings = Settings.model_validate(told.settings)
    return Value(
        session_id,
        settings,
        cells,
        credential=credential,
        journal=told.journal,
        playback=told.playback,
        closing=told.closing,
        **counted,
    )


def _cell(told: _Cell) -> Cell:
    kind = DATA.get(told.machine)
    if kind is None:
        raise ValueError(f"there is no machine {told.machine!r}")
    data = {name: float("inf") if value is None else value for name, value in told.data.items()}
    if set(data) != set(kind._fields):
        raise ValueError(f"the data of {told.machine} has {', '.join(data)}, and not {', '.join(kind._fields)}")
    return Cell(told.state, msgspec.convert(list(data.values()), kind))
