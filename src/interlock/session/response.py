"""The response machine's data and bindings: a chain of stage requests, and the one terminal that ends it."""

from __future__ import annotations

from typing import NamedTuple

from interlock.machine import Machine, Message
from interlock.tables import messages as m
from interlock.tables import response as table


class Response(NamedTuple):
    """``chain`` has the request ids of its stages, the model's first; ``open`` those that have not finished."""

    response_id: str
    epoch: int
    chain: tuple[str, ...]
    open: tuple[str, ...]


def request_id_of(response_id: str, stage: str) -> str:
    """Name the request that a response makes at a stage; unique as long as the response's id is."""
    return f"{response_id}.{stage}"


def is_model(data: Response, event: m.StageStarted | m.StageFinished) -> bool:
    """Whether it is the model stage that speaks."""
    return event.request_id == data.chain[0]


def is_last(data: Response, event: m.StageFinished) -> bool:
    """Whether no other stage has anything left to do."""
    return data.open == (event.request_id,)


def finish(data: Response, event: m.StageFinished) -> Response:
    """Take one stage off."""
    return data._replace(open=tuple(held for held in data.open if held != event.request_id))


def finish_input(data: Response, event: m.StageFinished) -> tuple[m.FinishInput, ...]:
    """Tell the next stage that its input is whole, unless it has finished without waiting for that."""
    after = data.chain[data.chain.index(event.request_id) + 1 :][:1]
    return tuple(m.FinishInput(request_id) for request_id in after if request_id in data.open)


def append_event(data: Response, event: Message) -> tuple[m.AppendEvent, ...]:
    """Sequence what the client hears: that the response exists, or how it ended; a failure says why first."""
    name = data.response_id
    if isinstance(event, m.ResponseRequested):
        return (m.AppendEvent("response.created", name, "in_progress", ""),)
    if isinstance(event, m.ResponseInterrupted):
        return (m.AppendEvent("response.done", name, "cancelled", event.reason),)
    if isinstance(event, m.StageFailed):
        error = m.AppendEvent("error", name, "runtime_append_failed", event.reason)
        return (error, m.AppendEvent("response.done", name, "failed", event.reason))
    return (m.AppendEvent("response.done", name, "completed", ""),)


def request_aborted(data: Response, event: m.StageFailed) -> tuple[m.RequestAborted, ...]:
    """Give the other stages' requests back."""
    return tuple(m.RequestAborted(held) for held in data.open if held != event.request_id)


def request_reserved(data: Response, event: m.ResponseRequested) -> tuple[m.RequestReserved, ...]:
    """Reserve one request at each stage of the chain."""
    chain = zip(data.chain, event.stages, strict=True)
    return tuple(m.RequestReserved(held, data.epoch, stage, data.response_id) for held, stage in chain)


def _create(event: m.ResponseRequested) -> Response:
    chain = tuple(request_id_of(event.response_id, stage) for stage in event.stages)
    return Response(event.response_id, event.epoch, chain, chain)


MACHINE: Machine[Response] = Machine(
    table.TABLE,
    table.Bindings[Response](
        is_model=is_model,
        is_last=is_last,
        finish=finish,
        FinishInput=finish_input,
        AppendEvent=append_event,
        RequestAborted=request_aborted,
        RequestReserved=request_reserved,
    ),
    create=_create,
)
