"""The attachment machine's data and bindings: who carries the session now, and what a new claim does to the old one."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from interlock.machine import Cancelled, Machine, Message
from interlock.tables import attachment as table
from interlock.tables import messages as m

CODES = {
    "ended": "session_resume_expired",
    "invalid_token": "invalid_resume_token",
    "gap": "journal_gap",
    "future": "session_resume_conflict",
}
"""Verdict to wire code (docs/wire.md); ``journal_gap`` is told as ``session.resync_required``."""


class Attachment(NamedTuple):
    """``generation`` counts claims and only grows; ``claim`` is the runtime's number of the call that made it."""

    generation: int = 0
    claim: int = 0


Claim: TypeAlias = m.Opened | m.ResumeRequested
Loss: TypeAlias = m.TransportLost | Cancelled


def is_accepted(_: Attachment, event: m.ResumeRequested) -> bool:
    """Whether session, token and position were all judged good."""
    return event.verdict == "accepted"


def is_first(data: Attachment, _: Message) -> bool:
    """Whether the credentials of the session are what is being delivered."""
    return data.generation == 1


def claim(data: Attachment, event: Claim) -> Attachment:
    """Begin the next generation."""
    return Attachment(data.generation + 1, event.claim)


def rotate_credential(_: Attachment, event: Claim) -> tuple[m.RotateCredential, ...]:
    """Issue the fresh token."""
    token = event.token if isinstance(event, m.ResumeRequested) else b""
    return (m.RotateCredential(event.claim, token, event.fresh),)


def evict_transport(data: Attachment, _: Message) -> tuple[m.EvictTransport, ...]:
    """Retire the transport of the generation that is superseded."""
    return (m.EvictTransport(data.generation, at_once=False),)


def drop_transport(data: Attachment, event: Loss) -> tuple[m.DropTransport, ...]:
    """Abort the current transport."""
    return (m.DropTransport(data.generation, _reason(event)),)


def finish_transport(data: Attachment, event: m.SessionEnded) -> tuple[m.FinishTransport, ...]:
    """Let the current writer drain through the terminal event."""
    return (m.FinishTransport(data.generation, event.reason),)


def confirm_claim(data: Attachment, _: Message) -> tuple[m.ConfirmClaim, ...]:
    """Tell the caller of the current claim that it is attached."""
    return (m.ConfirmClaim(data.claim, data.generation),)


def fail_claim(data: Attachment, event: Message) -> tuple[m.FailClaim, ...]:
    """Tell the caller of the current claim that it has lost it."""
    return (m.FailClaim(data.claim, _reason(event)),)


def refuse_resume(_: Attachment, event: m.ResumeRequested) -> tuple[m.RefuseResume, ...]:
    """Answer a refused resume with its code, and with where it could go on."""
    return (m.RefuseResume(event.claim, CODES[event.verdict], event.resumable_from, event.head),)


def _reason(event: Message) -> str:
    if isinstance(event, Cancelled):
        return "cancelled"
    if isinstance(event, m.ResumeRequested):
        return "session_replaced"
    return event.reason if isinstance(event, m.TransportLost | m.SessionEnded) else ""


MACHINE: Machine[Attachment] = Machine(
    table.TABLE,
    table.Bindings[Attachment](
        is_accepted=is_accepted,
        is_first=is_first,
        claim=claim,
        RotateCredential=rotate_credential,
        EvictTransport=evict_transport,
        DropTransport=drop_transport,
        FinishTransport=finish_transport,
        ConfirmClaim=confirm_claim,
        FailClaim=fail_claim,
        RefuseResume=refuse_resume,
        LeaseResumed=lambda _data, _event: (m.LeaseResumed(),),
        LeaseDetached=lambda _data, _event: (m.LeaseDetached(),),
        CredentialsLost=lambda _data, _event: (m.CredentialsLost(),),
    ),
    create=lambda _: Attachment(),
)
