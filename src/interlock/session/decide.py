"""``decide``: the one pure function that moves a session.

One frozen value goes in, with one event; a new value and the effects that it sets off come out. The whole cascade is
computed first: an exception leaves everything as it was. The runtime, the explorer, the fuzzer and the replay all
call this, and nothing else moves a session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

from interlock.machine import Address, Cell, Composition, Message, Taken
from interlock.session import attachment, fence, lease, request, response, session
from interlock.session.books import APPLY
from interlock.session.credential import rotate
from interlock.session.facts import fill
from interlock.session.settings import Settings
from interlock.session.value import Playback, Value
from interlock.tables import messages as m
from interlock.wire.lifecycle import EXPANSIONS

COMPOSITION = Composition(
    session.MACHINE, attachment.MACHINE, lease.MACHINE, fence.MACHINE, request.MACHINE, response.MACHINE
)


class Decision(NamedTuple):
    """What to commit, what to perform, in order, and which rows said so."""

    value: Value
    effects: tuple[Message, ...]
    taken: tuple[Taken, ...]


_new = cast("Callable[[type[Decision], tuple[Any, ...]], Decision]", tuple.__new__)
"""Makes a :class:`Decision` of its three values, without one more call of Python."""


def new_value(session_id: str, settings: Settings, idle_s: float | None = None) -> Value:
    """Return a session that has just been admitted: OPENING, with its slot. ``idle_s`` overrides the setting."""
    clocks = (settings.idle_s if idle_s is None else idle_s, settings.grace_s)
    cells: dict[Address, Cell] = {
        ("session", None): Cell("OPENING", session.MACHINE.create(None)),
        ("attachment", None): Cell("DETACHED", attachment.MACHINE.create(None)),
        ("lease", None): Cell("HELD", lease.MACHINE.create(clocks)),
        ("fence", 1): Cell("OPEN", fence.MACHINE.create(m.EpochOpened(1))),
    }
    return Value(session_id, settings, cells)


def decide(value: Value, event: Message, composition: Composition | None = None) -> Decision:
    """Return what ``event`` does to ``value``. Pure. ``composition`` is another version of the machines, to compare.

    Raises :class:`interlock.errors.ClientError` when the client may not have what it asks for, and
    :class:`interlock.errors.Defect` when a machine met an event that its state does not list.
    """
    apply = APPLY.get(type(event))
    if apply is not None:
        return _new(Decision, (apply(value, event), (), ()))
    settings = value.settings
    limits = {
        "max_requests": settings.max_requests,
        "max_responses": settings.max_responses,
        "max_steps": settings.max_steps,
    }
    run = (composition or COMPOSITION).run(value.cells, event, partial(fill, value), limits)
    stale = value.stale + sum(taken.row is None for taken in run.taken)
    after = _cleared(_counted(value._replace(cells=run.cells, stale=stale), run.taken), run.taken)
    effects: list[Message] = []
    for effect in run.effects:
        after, done = _fold(after, effect)
        effects.append(done)
    return Decision(after, tuple(effects), run.taken)


def _fold(value: Value, effect: Message) -> tuple[Value, Message]:
    """Enter an effect into the books, and fill in what only the books know."""
    match effect:
        case m.AppendEvent():
            return _append(value, effect)
        case m.AdvanceEpoch():
            return value._replace(epoch=effect.epoch), effect
        case m.RotateCredential():
            credential = rotate(value.credential, effect.token, effect.fresh, value.journal.head)
            return value._replace(credential=credential), effect
        case m.EvictTransport():
            at_once = len(value.closing) >= value.settings.max_evicting
            return _closing(value, effect.generation), replace(effect, at_once=at_once)
        case m.DropTransport() | m.FinishTransport():
            return _closing(value, effect.generation), effect
        case m.RefuseResume():
            return _refused(value, effect), effect
        case _:
            return value, effect


def _append(value: Value, effect: m.AppendEvent) -> tuple[Value, Message]:
    journal = value.journal
    playback = value.playback
    count = len(EXPANSIONS[effect.kind])
    if effect.kind == "response.created":
        playback = (*playback, Playback(effect.response_id))[-value.settings.max_playback :]
    elif effect.kind == "response.done":
        count = 1 + sum(e.closing for e in playback if e.response_id == effect.response_id)
        playback = tuple(e._replace(ended=True) if e.response_id == effect.response_id else e for e in playback)
    after = value._replace(journal=journal._replace(head=journal.head + count), playback=playback)
    return after, replace(effect, seq=journal.head + 1)


def _closing(value: Value, generation: int) -> Value:
    return value._replace(closing=(*value.closing, generation))


def _refused(value: Value, effect: m.RefuseResume) -> Value:
    """Count a refusal. One that tells the head makes an ack of it no proof of a claim that is not proved yet."""
    credential = value.credential
    if effect.code == "journal_gap" and credential.presented is not None:
        credential = credential._replace(claim_head=max(credential.claim_head, effect.head))
    return value._replace(refused=value.refused + 1, credential=credential)


def _cleared(value: Value, taken: tuple[Taken, ...]) -> Value:
    """Make the client's position final in each response that it has cancelled or cleared, live or not."""
    event = taken[0].message
    if not isinstance(event, m.CancelRequested) or taken[0].row is None:
        return value
    names = (event.response_id,) if event.response_id else event.live
    playback = tuple(e._replace(cleared=e.cleared or e.response_id in names) for e in value.playback)
    return value._replace(playback=playback)


def _counted(value: Value, taken: tuple[Taken, ...]) -> Value:
    """Count what was ever asked for; the next id is made from it."""
    kinds = [type(delivery.message) for delivery in taken if delivery.row is not None]
    answered = value.answered + kinds.count(m.ResponseRequested)
    return value._replace(answered=answered, listened=value.listened + kinds.count(m.ListenRequested))
