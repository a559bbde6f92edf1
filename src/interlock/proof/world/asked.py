"""What is asked for and accepted is done, in the same step, or somebody is told why not.

A promise that nothing bad is left behind holds of a session that does nothing at all. So each event that asks for
something is held against what it asks for, by a rule of its own and not by the tables' rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.machine import Message, Taken
from interlock.proof.promises import OVER
from interlock.proof.world.owed import judge_owed
from interlock.session.decide import Decision
from interlock.session.session import strength
from interlock.session.value import Value
from interlock.tables import messages as m

AT_WORK = frozenset({"RESERVED", "SUBMITTING", "RUNNING"})
ENDED = frozenset({"COMPLETED", "CANCELLED", "FAILED"})


def judge_asked(before: Value, decision: Decision) -> Iterator[str]:
    """Yield what one commit was asked for and did not do, or did without being asked."""
    if not decision.taken or decision.taken[0].row is None:
        return
    event = decision.taken[0].message
    if before.state("session") == "OPEN":
        yield from (f"done as asked: {wrong}" for wrong in _first(before, event, decision))
        yield from (f"done as asked: {wrong}" for wrong in _told(decision))
    yield from (f"done as asked: {wrong}" for wrong in _ended(before, event, decision.value))
    yield from (f"cleaned up: {wrong}" for wrong in (*_retained(decision), *_left_behind(decision)))
    yield from (f"cleaned up: {wrong}" for wrong in judge_owed(before, decision))
    yield from (f"done as asked: {wrong}" for wrong in _requested(decision))
    yield from (f"promise 5: {wrong}" for wrong in _said_otherwise(decision))


def _first(before: Value, event: Message, decision: Decision) -> Iterator[str]:
    after = decision.value
    ends_epoch = after.epoch != before.epoch
    match event:
        case m.InterruptRequested():
            if not ends_epoch:
                yield "an interrupt was accepted, and the epoch goes on"
        case m.CancelRequested():
            meant = [name for name in _live(before) if event.response_id in ("", name)]
            if bool(meant) != ends_epoch:
                yield f"a cancel meant {meant or 'nothing that is live'}, and the epoch {_ends(ends_epoch)}"
            if not meant and event.response_id not in event.ended:
                yield f"a cancel of {event.response_id or 'nothing'} was accepted, and there never was such a response"
        case m.TurnHeard():
            yield from _answered(before, event, decision)
        case m.ListenRequested():
            if not after.state("request", event.request_id):
                yield "audio has come, and no request was made to hear it"
        case m.IdleRequested():
            if after.cells["lease", None].data.idle_s != event.idle_s:
                yield "another idle time was accepted, and does not count"
        case m.IdleDue():
            is_idle = not event.busy and event.idle_for_s >= before.cells["lease", None].data.idle_s
            if is_idle == (after.state("session") == "OPEN"):
                yield f"the session is {'idle' if is_idle else 'not idle'}, and {after.state('session')}"
        case m.StageLost():
            if ends_epoch != event.answering:
                yield f"a lost worker had {'a' if event.answering else 'no'} part in the answer; {_ends(ends_epoch)}"
            yield from _lost(after, event)
        case _:
            return


def _ended(before: Value, event: Message, after: Value) -> Iterator[str]:
    """An end that says more stands; and what a worker that is gone has held is nobody's any more."""
    if isinstance(event, m.EndRequested) and before.state("session") not in OVER:
        had, has = (value.cells["session", None].data.reason for value in (before, after))
        asked = max(had, event.reason, key=strength)
        if strength(has) < strength(asked):
            yield f"the session was to end for {asked}, and ends for {has}"
    if isinstance(event, m.StageGone):
        left = [request_id for request_id in event.request_ids if after.state("request", request_id)]
        if left and before.state("session") != "OPENING":
            yield f"the worker of {event.stage} is gone, and it is still owed {', '.join(left)}"


def _retained(decision: Decision) -> Iterator[str]:
    """A fence is RETAINED, and says so, when an id of its epoch is owed, and not before."""
    cells = decision.value.cells
    for taken in _moved(decision, "fence"):
        cell, key = cells.get(taken.address), taken.address[1]
        if cell is None or taken.state == "RETAINED":
            continue
        is_owed = isinstance(taken.message, m.RequestOwed) and taken.state == "CANCELLING"
        if is_owed != (taken.to == "RETAINED"):
            yield f"on {type(taken.message).__name__} fence {key} goes from {taken.state} to {taken.to}"
        if is_owed and decision.value.state("session") == "OPEN" and not _says_error(decision):
            yield f"fence {key} is RETAINED, and the client is not told"


def _left_behind(decision: Decision) -> Iterator[str]:
    """A response that is over, however it ended, has no stage at work for it."""
    ended = {taken.address[1]: taken.to for taken in _moved(decision, "response") if taken.to in ENDED}
    for (name, key), cell in decision.value.cells.items():
        if name == "request" and cell.data.response_id in ended and cell.state in AT_WORK:
            yield f"{cell.data.response_id} is {ended[cell.data.response_id]}, and {key} is {cell.state}"


def _said_otherwise(decision: Decision) -> Iterator[str]:
    """A response is said to have ended as it did."""
    effects = [effect for effect in decision.effects if isinstance(effect, m.AppendEvent)]
    said = {effect.response_id: effect.status for effect in effects if effect.kind == "response.done"}
    ended = {taken.address[1]: str(taken.to).lower() for taken in _moved(decision, "response") if taken.to in ENDED}
    if said != ended:
        yield f"responses have ended as {ended}, and are said to have ended as {said}"


def _requested(decision: Decision) -> Iterator[str]:
    """For each request a worker is sought; it is bound to the one that was found."""
    sought = {effect.request_id for effect in decision.effects if isinstance(effect, m.SeekWorker)}
    for taken in _moved(decision, "request"):
        cell = decision.value.cells.get(taken.address)
        if not taken.state and taken.address[1] not in sought:
            yield f"{taken.address[1]} is reserved, and no worker is sought for it"
        given = taken.message.worker if isinstance(taken.message, m.WorkerAssigned) else None
        is_bound = cell is None or given is None or taken.state != "RESERVED" or cell.data.incarnation == given
        if not is_bound:
            yield f"{taken.address[1]} was given worker {given}, and is not bound to it"
    yield from _input_ended(decision)


def _input_ended(decision: Decision) -> Iterator[str]:
    """When a stage of a chain has finished, the next one is told that its input is whole."""
    told = {effect.request_id for effect in decision.effects if isinstance(effect, m.FinishInput)}
    for taken in _moved(decision, "response"):
        cell = decision.value.cells.get(taken.address)
        if isinstance(taken.message, m.StageFinished) and cell is not None:
            chain = cell.data.chain
            after = chain[chain.index(taken.message.request_id) + 1 :][:1]
            if set(after) & set(cell.data.open) - told:
                yield f"{taken.message.request_id} has finished, and {after[0]} is not told that its input is whole"


def _moved(decision: Decision, machine: str) -> Iterator[Taken]:
    return (taken for taken in decision.taken if taken.address[0] == machine and taken.row is not None)


def _answered(before: Value, event: m.TurnHeard, decision: Decision) -> Iterator[str]:
    created = any(isinstance(e, m.AppendEvent) and e.kind == "response.created" for e in decision.effects)
    has_room = event.fences <= event.limit
    if created != has_room:
        room = "room" if has_room else "no room"
        yield f"a turn is {'' if created else 'not '}answered, and there is {room} for its epoch"
    if not created and not _says_error(decision):
        yield "a turn is not answered, and nobody is told"
    if not _live(before) and decision.value.epoch != before.epoch:
        yield "a turn ended an epoch in which nothing was being said"


def _lost(after: Value, event: m.StageLost) -> Iterator[str]:
    for request_id in event.request_ids:
        if after.state("request", request_id) in ("SUBMITTING", "RUNNING"):
            yield f"the worker of {event.stage} is lost, and {request_id} goes on there"


def _told(decision: Decision) -> Iterator[str]:
    """An error that a client can do something about is an event of its own."""
    kinds = [type(taken.message) for taken in decision.taken if taken.row is not None and taken.address[0] == "session"]
    if (m.TurnsLost in kinds or m.ListenFailed in kinds) and not _says_error(decision):
        yield "what was said is lost, and nobody is told"


def _says_error(decision: Decision) -> bool:
    return any(isinstance(effect, m.AppendEvent) and effect.kind == "error" for effect in decision.effects)


def _live(value: Value) -> list[str]:
    return [str(key) for name, key in value.cells if name == "response"]


def _ends(ended: bool) -> str:
    return "ended" if ended else "goes on"
