"""What a request comes to, by what was last said of it: a rule of its own, and not the tables' rows.

A stage that holds nothing of it releases it; a worker that is lost leaves it owed; what is wanted no more, or failed,
is being aborted; an abort that nobody confirmed is owed; what is owed is tried again, and counted. And whoever waits
for it is told: its response or listener that it failed, its fence that it is owed or released, and the session of each
release.
"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.machine import Cancelled, Message, Taken
from interlock.session.decide import Decision
from interlock.session.value import Value
from interlock.tables import messages as m

AT_STAGE = frozenset({"SUBMITTING", "RUNNING"})
WANTED = AT_STAGE | {"RESERVED"}
GIVEN_BACK = (m.AbortConfirmed, m.RequestFinished, m.SubmitRefused, m.RequestGone)
UNCONFIRMED = (Cancelled, m.AbortFailed, m.AbortOverdue)
WANTED_NO_MORE = (Cancelled, m.RequestAborted, m.RequestFailed, m.SubmitOverdue)
AGAIN = (m.RetryDue, m.RequestAborted)


def judge_owed(before: Value, decision: Decision) -> Iterator[str]:
    """Yield each request that came to something else, or of which somebody was not told."""
    for taken in decision.taken:
        if taken.address[0] == "request" and taken.row is not None and taken.state:
            due = _due(taken.state, taken.message)
            if due not in ("", taken.to):
                yield f"on {type(taken.message).__name__} {taken.address[1]} is {taken.to}, and not {due}"
            yield from _counted(before, decision, taken)
            yield from _told(before, decision, taken)


def _due(state: str, message: Message) -> str:
    """Name the state that a request has to come to; empty where nothing is asked."""
    if isinstance(message, GIVEN_BACK):
        return "RELEASED"
    if isinstance(message, m.RequestLost):
        return "OWED"
    if state in AT_STAGE and isinstance(message, WANTED_NO_MORE):
        return "ABORTING"
    if state == "SUBMITTING" and isinstance(message, m.SubmitAccepted):
        return "RUNNING"
    if state == "ABORTING" and isinstance(message, UNCONFIRMED):
        return "OWED"
    return "ABORTING" if state == "OWED" and isinstance(message, AGAIN) else ""


def _counted(before: Value, decision: Decision, taken: Taken) -> Iterator[str]:
    had, has = before.cells.get(taken.address), decision.value.cells.get(taken.address)
    is_again = taken.state == "OWED" and isinstance(taken.message, AGAIN)
    if is_again and had is not None and has is not None and has.data.retries <= had.data.retries:
        yield f"{taken.address[1]} is cleaned up again, and that is not counted"


def _told(before: Value, decision: Decision, taken: Taken) -> Iterator[str]:
    """A release is told to the fence and the session, and what lies beside the machines goes; so with the rest."""
    key, had = taken.address[1], before.cells.get(taken.address)
    said = {type(each.message) for each in decision.taken if getattr(each.message, "request_id", key) == key}
    forgotten = {effect.request_id for effect in decision.effects if isinstance(effect, m.ForgetRequest)}
    answers = had is not None and bool(had.data.response_id)
    if taken.to == "RELEASED":
        if key not in forgotten:
            yield f"{key} is released, and what lies beside the machines for it stays"
        if m.BooksChanged not in said or (answers and m.RequestReleased not in said):
            yield f"{key} is released, and the session or its fence is not told"
    if taken.to == "OWED" != taken.state and answers and m.RequestOwed not in said:
        yield f"{key} is owed, and its fence is not told"
    ended_well = isinstance(taken.message, (m.RequestFinished, m.RequestAborted))
    has_failed = taken.state in WANTED and taken.to not in WANTED and not ended_well
    if has_failed and had is not None and (m.StageFailed if answers else m.ListenFailed) not in said:
        yield f"{key} has failed, and nobody is told"
