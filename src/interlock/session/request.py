"""The request machine's data and bindings: what one stage may still hold for the session, and who is told."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

from interlock.machine import Cancelled, Machine, Message
from interlock.tables import messages as m
from interlock.tables import request as table


class Request(NamedTuple):
    """One id at one stage. ``response_id`` is empty while the stage listens; ``retries`` counts clean-ups.

    Past ``max_retries`` nobody tries again by the clock: the id rests in OWED until the session closes, its worker is
    gone, or a late confirmation comes.
    """

    request_id: str
    epoch: int
    stage: str
    response_id: str
    incarnation: int = 0
    retries: int = 0
    max_retries: int = 20

    @property
    def rests(self) -> bool:
        """Whether no clock tries the clean-up again."""
        return self.retries >= self.max_retries


RETRY_S, RETRY_MAX_S = 0.5, 5.0
"""Back-off of a clean-up that was not confirmed: doubles from the first to the second."""

Failure: TypeAlias = (
    Cancelled
    | m.ReserveOverdue
    | m.SubmitOverdue
    | m.SubmitRefused
    | m.RequestFailed
    | m.RequestLost
    | m.RequestGone
    | m.AbortConfirmed
    | m.AbortFailed
    | m.AbortOverdue
)

REASONS: dict[type[Message], str] = {
    Cancelled: "cancelled",
    m.ReserveOverdue: "stage_unavailable",
    m.SubmitOverdue: "submit_overdue",
    m.AbortOverdue: "abort_overdue",
    m.AbortConfirmed: "unknown_to_stage",
}
"""What a failure that carries no reason of its own is called."""


def take_worker(data: Request, event: m.WorkerAssigned) -> Request:
    """Bind the request to one incarnation of its stage's worker."""
    return data._replace(incarnation=event.worker)


def count_retry(data: Request, _: Message) -> Request:
    """Count another clean-up."""
    return data._replace(retries=data.retries + 1)


def retry_after(data: Request, _: Message) -> float:
    """Seconds until the next clean-up; infinite when it has been tried often enough."""
    if data.rests:
        return math.inf
    return min(RETRY_S * 2.0 ** min(data.retries, 10), RETRY_MAX_S)


def reason_of(event: Message) -> str:
    """Name why a stage did not do what was asked."""
    return REASONS.get(type(event)) or str(getattr(event, "reason", ""))


def stage_started(data: Request, _: Message) -> tuple[m.StageStarted, ...]:
    """Tell the response, if it is for one."""
    return (m.StageStarted(data.response_id, data.request_id),) if data.response_id else ()


def stage_finished(data: Request, _: Message) -> tuple[m.StageFinished, ...]:
    """Tell the response, if it is for one."""
    return (m.StageFinished(data.response_id, data.request_id),) if data.response_id else ()


def stage_failed(data: Request, event: Message) -> tuple[m.StageFailed, ...]:
    """Tell the response, if it is for one. FE-07: the failure goes to the response that owns the request."""
    return (m.StageFailed(data.response_id, data.request_id, reason_of(event)),) if data.response_id else ()


def listen_failed(data: Request, event: Message) -> tuple[m.ListenFailed, ...]:
    """Tell the session, if the stage was listening for it."""
    return () if data.response_id else (m.ListenFailed(data.request_id, reason_of(event)),)


def request_owed(data: Request, event: Message) -> tuple[m.RequestOwed, ...]:
    """Tell the fence of the request's epoch that the clean-up is still owed; no fence holds a listening request."""
    return (m.RequestOwed(data.epoch, data.request_id, reason_of(event)),) if data.response_id else ()


def request_released(data: Request, _: Message) -> tuple[m.RequestReleased, ...]:
    """Tell the fence of the request's epoch that the stage has let go."""
    return (m.RequestReleased(data.epoch, data.request_id),) if data.response_id else ()


def _create(event: m.RequestReserved) -> Request:
    return Request(event.request_id, event.epoch, event.stage, event.response_id, max_retries=event.max_retries)


MACHINE: Machine[Request] = Machine(
    table.TABLE,
    table.Bindings[Request](
        take_worker=take_worker,
        count_retry=count_retry,
        retry_after=retry_after,
        SeekWorker=lambda data, _: (m.SeekWorker(data.request_id, data.stage),),
        ForgetRequest=lambda data, _: (m.ForgetRequest(data.request_id),),
        StageStarted=stage_started,
        StageFinished=stage_finished,
        StageFailed=stage_failed,
        ListenFailed=listen_failed,
        RequestReleased=request_released,
        RequestOwed=request_owed,
        BooksChanged=lambda _data, _event: (m.BooksChanged(),),
    ),
    create=_create,
)
