"""What is asked for and accepted is done, in the same step, or somebody is told why not.

A promise that nothing bad is left behind holds of a session that does nothing at all. So each event that asks for
something is held against what it asks for, by a rule of its own and not by the tables' rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.machine import Message
from interlock.proof.promises import OVER
from interlock.session.decide import Decision
from interlock.session.session import strength
from interlock.session.value import Value
from interlock.tables import messages as m


def judge_asked(before: Value, decision: Decision) -> Iterator[str]:
    """Yield what one commit was asked for and did not do, or did without being asked."""
    if not decision.taken or decision.taken[0].row is None:
        return
    event = decision.taken[0].message
    if before.state("session") == "OPEN":
        yield from (f"done as asked: {wrong}" for wrong in _first(before, event, decision))
        yield from (f"done as asked: {wrong}" for wrong in _told(decision))
    yield from (f"done as asked: {wrong}" for wrong in _ended(before, event, decision.value))
    yield from (f"cleaned up: {wrong}" for wrong in _retained(decision))


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
    for taken in decision.taken:
        if taken.address[0] == "fence" and taken.to == "RETAINED" != taken.state and taken.address in cells:
            held = [
                cells["request", name].state for name in cells[taken.address].data.ids if ("request", name) in cells
            ]
            if "OWED" not in held:
                yield f"fence {taken.address[1]} is RETAINED, and what it holds is {', '.join(held)}"
            if decision.value.state("session") == "OPEN" and not _says_error(decision):
                yield f"fence {taken.address[1]} is RETAINED, and the client is not told"


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
