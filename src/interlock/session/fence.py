"""The fence machine's data and bindings: what an interrupted epoch still owes to the stages."""

from __future__ import annotations

from typing import NamedTuple

from interlock.machine import Machine
from interlock.tables import fence as table
from interlock.tables import messages as m


class Fence(NamedTuple):
    """The epoch, and the ids of its stage requests that are not released."""

    epoch: int
    ids: tuple[str, ...] = ()


def owes(_: Fence, event: m.EpochEnded) -> bool:
    """Whether a stage may still hold something of the epoch."""
    return bool(event.request_ids)


def hold(data: Fence, event: m.EpochEnded) -> Fence:
    """Take the ids on."""
    return data._replace(ids=event.request_ids)


def is_last(data: Fence, event: m.RequestReleased) -> bool:
    """Whether this id was all that was missing."""
    return all(held == event.request_id for held in data.ids)


def forget(data: Fence, event: m.RequestReleased) -> Fence:
    """Take one id off."""
    return data._replace(ids=tuple(held for held in data.ids if held != event.request_id))


def advance_epoch(data: Fence, event: m.EpochEnded) -> tuple[m.AdvanceEpoch, ...]:
    """Move the session to the next epoch; the last one has no successor, but is over all the same."""
    return (m.AdvanceEpoch(data.epoch + 1),)


def epoch_opened(data: Fence, event: m.EpochEnded) -> tuple[m.EpochOpened, ...]:
    """Open the next epoch, unless the session ends."""
    return () if event.last else (m.EpochOpened(data.epoch + 1),)


def response_interrupted(_: Fence, event: m.EpochEnded) -> tuple[m.ResponseInterrupted, ...]:
    """End every response of the epoch."""
    return tuple(m.ResponseInterrupted(response_id, event.reason) for response_id in event.response_ids)


def request_aborted(_: Fence, event: m.EpochEnded) -> tuple[m.RequestAborted, ...]:
    """Ask for the clean-up of every stage request of the epoch."""
    return tuple(m.RequestAborted(request_id) for request_id in event.request_ids)


def append_event(_: Fence, event: m.RequestOwed) -> tuple[m.AppendEvent, ...]:
    """Tell the client that the stage has not confirmed, while it can still be told."""
    return () if event.ended else (m.AppendEvent("error", "", "runtime_signal_failed", event.reason),)


MACHINE: Machine[Fence] = Machine(
    table.TABLE,
    table.Bindings[Fence](
        owes=owes,
        hold=hold,
        is_last=is_last,
        forget=forget,
        AdvanceEpoch=advance_epoch,
        VoidOutput=lambda data, _: (m.VoidOutput(data.epoch),),
        EpochOpened=epoch_opened,
        ResponseInterrupted=response_interrupted,
        RequestAborted=request_aborted,
        AppendEvent=append_event,
    ),
    create=lambda event: Fence(event.epoch),
)
