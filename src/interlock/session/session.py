"""The session machine's data and bindings: how it may end, and what each end sets off."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from interlock.machine import Machine, Message
from interlock.session.reasons import OWN
from interlock.tables import messages as m
from interlock.tables import session as table


class Session(NamedTuple):
    """Why the session ends, once it does; the empty string until then."""

    reason: str = ""


EXPIRED = frozenset({"idle_ttl_expired", "disconnect_grace_expired"})
"""Ends that are told as ``session.expired``; every other one is ``session.closed``."""

Asked: TypeAlias = m.CloseRequested | m.EndRequested | m.LeaseExpired


def strength(reason: str) -> int:
    """Rank an end: nothing, a caller's word or the lease, a failure, the shutdown of the host.

    Ends merge, and a stronger one pre-empts a weaker.
    """
    if reason == "server_shutdown":
        return 3
    return 2 if reason in OWN - EXPIRED else int(bool(reason))


def is_stronger(data: Session, event: m.EndRequested) -> bool:
    """Whether this end says more than the one under way."""
    return strength(event.reason) > strength(data.reason)


def is_settled(_: Session, event: m.BooksChanged) -> bool:
    """Whether no stage holds anything for the session."""
    return event.owed == 0


def lacks_fence(_: Session, event: m.TurnHeard) -> bool:
    """Whether the answer's epoch, once it is over, would be owed beside as many as the limit allows.

    Room is asked for when an answer begins, so that an interrupt, a cancel, a newer turn or a lost worker always
    finds it: none of them is ever refused for want of a fence, and there are never more than ``max_fences``.
    """
    return event.fences > event.limit


def is_live(_: Session, event: m.CancelRequested) -> bool:
    """Whether the named response, or any if none is named, has no terminal yet."""
    return event.response_id in event.live if event.response_id else bool(event.live)


def has_ended(_: Session, event: m.CancelRequested) -> bool:
    """Whether the named response existed: cancelling it again is not an error (FE-21)."""
    return bool(event.response_id) and event.response_id in event.ended


def is_answering(_: Session, event: m.TurnHeard) -> bool:
    """Whether a response is live; the newer turn supersedes it."""
    return bool(event.live)


def is_answered_by(_: Session, event: m.StageLost) -> bool:
    """Whether the lost worker was part of a live response."""
    return event.answering


def end(_: Session, event: Asked) -> Session:
    """Note why."""
    return Session(event.reason)


def epoch_ended(_: Session, event: Message) -> tuple[m.EpochEnded, ...]:
    """End the current epoch: for the client, for a newer turn, for a lost worker, or with the session."""
    reason = str(getattr(event, "reason", ""))
    if isinstance(event, m.CancelRequested):
        return (m.EpochEnded("client_cancelled", last=False),)
    if isinstance(event, m.TurnHeard):
        return (m.EpochEnded("turn_detected", last=False),)
    if isinstance(event, m.StageLost):
        return (m.EpochEnded("worker_lost", last=False),)
    return (m.EpochEnded(reason or "session_closed", last=not isinstance(event, m.InterruptRequested)),)


def request_aborted(
    _: Session, event: m.CloseRequested | m.EndRequested | m.LeaseExpired | m.CredentialsLost
) -> tuple[m.RequestAborted, ...]:
    """Give back everything, under the ids that are on the books: SR-02."""
    return tuple(m.RequestAborted(request_id) for request_id in event.request_ids)


def request_lost(_: Session, event: m.StageLost) -> tuple[m.RequestLost, ...]:
    """Tell each request of the lost worker."""
    return tuple(m.RequestLost(held, event.incarnation, "worker_lost") for held in event.request_ids)


def request_gone(_: Session, event: m.StageGone) -> tuple[m.RequestGone, ...]:
    """Tell each request of the worker that is gone."""
    return tuple(m.RequestGone(held, event.incarnation, "worker_gone") for held in event.request_ids)


def append_event(data: Session, event: Message) -> tuple[m.AppendEvent, ...]:
    """Sequence the session's terminal event, or what has come of its ears: one error for each turn that is lost."""
    if isinstance(event, m.ListenFailed):
        return (m.AppendEvent("error", "", "runtime_append_failed", event.reason),)
    if isinstance(event, m.TurnsLost):
        return (m.AppendEvent("error", "", "commit_aborted", event.reason),) * event.count
    if isinstance(event, m.TurnHeard):
        return (m.AppendEvent("error", "", "resource_exhausted", f"max_fences = {event.limit} is reached"),)
    kind = "session.expired" if data.reason in EXPIRED else "session.closed"
    return (m.AppendEvent(kind, "", "", data.reason),)


def confirm_prepared(_: Session, event: Message) -> tuple[m.ConfirmPrepared, ...]:
    """Tell the caller of open that there will be no session."""
    return (m.ConfirmPrepared(event.code if isinstance(event, m.PrepareFailed) else "session_closed"),)


MACHINE: Machine[Session] = Machine(
    table.TABLE,
    table.Bindings[Session](
        is_stronger=is_stronger,
        is_settled=is_settled,
        lacks_fence=lacks_fence,
        is_live=is_live,
        has_ended=has_ended,
        is_answering=is_answering,
        is_answered_by=is_answered_by,
        end=end,
        abandon=lambda _data, _event: Session("open_abandoned"),
        fail=lambda _data, event: Session(event.code),
        ConfirmPrepared=confirm_prepared,
        LeaseEnded=lambda _data, _event: (m.LeaseEnded(),),
        EpochEnded=epoch_ended,
        RequestAborted=request_aborted,
        RequestReserved=lambda _data, event: (m.RequestReserved(event.request_id, event.epoch, event.stage, ""),),
        RequestLost=request_lost,
        RequestGone=request_gone,
        ResponseRequested=lambda _data, event: (m.ResponseRequested(event.response_id, event.stages),),
        BooksChanged=lambda _data, _event: (m.BooksChanged(),),
        AppendEvent=append_event,
        SessionEnded=lambda data, _: (m.SessionEnded(data.reason),),
        Opened=lambda _data, event: (m.Opened(event.claim, event.fresh),),
    ),
    create=lambda _: Session(),
)
