"""Facts: what a message needs to know of the other machines, filled in directly before it is addressed.

Guards read nothing but their own data and their event, so that a trace holds all that a decision was made from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from interlock.errors import Defect
from interlock.machine import Cells, Message
from interlock.session.credential import opens
from interlock.session.value import Value
from interlock.tables import messages as m

Fill: TypeAlias = Callable[[Value, Cells, Any], Message]

Verdict: TypeAlias = Literal["accepted", "ended", "invalid_token", "gap", "future"]


def fill(value: Value, cells: Cells, message: Message) -> Message:
    """Return ``message`` with its facts, from the value before the run and the cells as they are in it."""
    return FILLS[type(message)](value, cells, message)


def judge(value: Value, cells: Cells, event: m.ResumeRequested) -> Verdict:
    """Judge a resume in the one order there is: session alive, token valid, position retained."""
    if cells["session", None].state != "OPEN":
        return "ended"
    if not opens(value.credential, event.token):
        return "invalid_token"
    if event.position < value.journal.trimmed:
        return "gap"
    return "accepted" if event.position <= value.journal.head else "future"


def open_epoch(value: Value, cells: Cells) -> int:
    """Return the epoch whose fence is OPEN; when the session ends there is none, and the last one stands."""
    epochs = [key for (name, key), cell in cells.items() if name == "fence" and cell.state == "OPEN"]
    return int(epochs[0]) if epochs and epochs[0] is not None else value.epoch


def keys_of(cells: Cells, machine: str) -> tuple[str, ...]:
    """Return the keys of a machine's instances, in the order in which they were created."""
    return tuple(str(key) for name, key in cells if name == machine)


def requests_of(cells: Cells, stage: str, incarnation: int) -> tuple[str, ...]:
    """Return the ids that one worker may hold."""
    held = [(key, cell.data) for (name, key), cell in cells.items() if name == "request"]
    return tuple(str(key) for key, data in held if (data.stage, data.incarnation) == (stage, incarnation))


def fences_with_one_more(value: Value, cells: Cells) -> int:
    """Return how many fences there are when one more answer was begun, and its epoch is over as well.

    A turn ends the epoch of an answer that is live; that one leaves a fence if a stage may hold something of it.
    """
    epoch, live = open_epoch(value, cells), bool(keys_of(cells, "response"))
    requests = [cell.data for (name, _), cell in cells.items() if name == "request"]
    owes = any(data.epoch == epoch and data.response_id for data in requests)
    return len(keys_of(cells, "fence")) + int(live and owes) + 1


def _resume(value: Value, cells: Cells, event: m.ResumeRequested) -> Message:
    journal = value.journal
    verdict = judge(value, cells, event)
    return replace(event, verdict=verdict, resumable_from=journal.trimmed, head=journal.head)


def _idle(value: Value, cells: Cells, event: m.IdleDue) -> Message:
    return replace(event, busy=bool(keys_of(cells, "response")) or value.turns > 0)


def _cancel(value: Value, cells: Cells, event: m.CancelRequested) -> Message:
    ended = tuple(entry.response_id for entry in value.playback if entry.ended)
    return replace(event, live=keys_of(cells, "response"), ended=ended)


def _turn(value: Value, cells: Cells, event: m.TurnHeard) -> Message:
    fences, limit = fences_with_one_more(value, cells), value.settings.max_fences
    return replace(event, live=keys_of(cells, "response"), fences=fences, limit=limit)


def _epoch(value: Value, cells: Cells, event: m.ListenRequested | m.ResponseRequested) -> Message:
    return replace(event, epoch=open_epoch(value, cells))


def _reserved(value: Value, _: Cells, event: m.RequestReserved) -> Message:
    return replace(event, max_retries=value.settings.max_retries)


def _epoch_ended(value: Value, cells: Cells, event: m.EpochEnded) -> Message:
    epoch = open_epoch(value, cells)
    held = [(key, cell.data) for (name, key), cell in cells.items() if name == "request"]
    owned = tuple(str(key) for key, data in held if data.epoch == epoch and data.response_id)
    return replace(event, epoch=epoch, request_ids=owned, response_ids=keys_of(cells, "response"))


def _all_requests(_: Value, cells: Cells, event: Any) -> Message:
    filled: Message = replace(event, request_ids=keys_of(cells, "request"))
    return filled


def _stage_lost(_: Value, cells: Cells, event: m.StageLost) -> Message:
    held = requests_of(cells, event.stage, event.incarnation)
    answering = any(cells["request", request_id].data.response_id for request_id in held)
    return replace(event, request_ids=held, answering=answering)


def _stage_gone(_: Value, cells: Cells, event: m.StageGone) -> Message:
    return replace(event, request_ids=requests_of(cells, event.stage, event.incarnation))


def _books(_: Value, cells: Cells, event: m.BooksChanged) -> Message:
    return replace(event, owed=len(keys_of(cells, "request")))


def _owed(_: Value, cells: Cells, event: m.RequestOwed) -> Message:
    return replace(event, ended=cells["session", None].state in {"QUARANTINED", "CLOSED"})


FILLS: dict[type[Message], Fill] = {
    m.ResumeRequested: _resume,
    m.IdleDue: _idle,
    m.CancelRequested: _cancel,
    m.TurnHeard: _turn,
    m.ListenRequested: _epoch,
    m.ResponseRequested: _epoch,
    m.RequestReserved: _reserved,
    m.EpochEnded: _epoch_ended,
    m.CloseRequested: _all_requests,
    m.EndRequested: _all_requests,
    m.LeaseExpired: _all_requests,
    m.CredentialsLost: _all_requests,
    m.StageLost: _stage_lost,
    m.StageGone: _stage_gone,
    m.BooksChanged: _books,
    m.RequestOwed: _owed,
}

_messages = [kind for kind in vars(m).values() if isinstance(kind, type) and issubclass(kind, Message)]
_declared = {kind for kind in _messages if kind.machine and kind.facts}
if _declared != set(FILLS):
    raise Defect(f"facts are declared and filled apart: {sorted(k.__name__ for k in _declared ^ set(FILLS))}")
