"""The books: events of the data plane, which no machine sees, and what each does to the frozen value.

Positions, bytes in flight, transports owed a close, playback. One comparison and one replacement each; whatever they
refuse, they refuse before anything has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from interlock.errors import ClientError, LimitReached
from interlock.machine import Message
from interlock.session.credential import prove
from interlock.session.value import Playback, Value, longer, moved


@dataclass(frozen=True, slots=True)
class Produced(Message):
    """A stage made one output delta of a response. ``ms`` is its length if it is audio."""

    request_id: str
    incarnation: int
    epoch: int
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ProducedTogether(Produced):
    """A stage made ``count`` deltas in one breath. ``ms`` is the length of all of them. The same as one by one."""

    count: int = 1


@dataclass(frozen=True, slots=True)
class Sequenced(Message):
    """``count`` lifecycle frames that no machine emits: speech started, a transcript."""

    count: int = 1


@dataclass(frozen=True, slots=True)
class MessageBegun(Message):
    """A response begins to say something: ``opening`` events now, and ``closing`` more with its end."""

    response_id: str
    opening: int
    closing: int


@dataclass(frozen=True, slots=True)
class Handed(Message):
    """A writer took frames up to ``through`` and hands them to its transport now."""

    generation: int
    through: int


@dataclass(frozen=True, slots=True)
class Acknowledged(Message):
    """The client has everything up to ``position``; ``claimed`` is the generation that it says it speaks for."""

    generation: int
    position: int
    claimed: int = 0


@dataclass(frozen=True, slots=True)
class Trimmed(Message):
    """Frames up to ``through`` were let go, for room or for age."""

    through: int


@dataclass(frozen=True, slots=True)
class TransportClosed(Message):
    """A transport that was owed a close has had it."""

    generation: int


@dataclass(frozen=True, slots=True)
class PlaybackAcked(Message):
    """The client has played ``played_ms`` of a response."""

    response_id: str
    played_ms: float


@dataclass(frozen=True, slots=True)
class InputQueued(Message):
    """Audio of ``size`` bytes was taken in."""

    size: int


@dataclass(frozen=True, slots=True)
class InputReleased(Message):
    """Audio of ``size`` bytes was heard, or was lost with the request that it was for."""

    size: int


@dataclass(frozen=True, slots=True)
class TurnCommitted(Message):
    """The client ended its turn by hand."""


@dataclass(frozen=True, slots=True)
class TurnReleased(Message):
    """A committed turn was heard, or was lost with the request that it was for."""

    count: int = 1


Books: TypeAlias = (
    Produced
    | ProducedTogether
    | Sequenced
    | MessageBegun
    | Handed
    | Acknowledged
    | Trimmed
    | TransportClosed
    | PlaybackAcked
    | InputQueued
    | InputReleased
    | TurnCommitted
    | TurnReleased
)


def is_fresh(value: Value, event: Produced) -> bool:
    """Whether a delta is of the current epoch, and from a request that runs."""
    cell = value.cells.get(("request", event.request_id))
    return bool(
        cell is not None
        and event.epoch == value.epoch
        and cell.state == "RUNNING"
        and cell.data.incarnation == event.incarnation
        and cell.data.response_id  # what listens has nothing to say
        and value.cells["session", None].state == "OPEN"
    )


def produced(value: Value, event: Produced, count: int = 1) -> Value:
    """Sequence a delta of the current epoch, from a request that runs; count anything else as stale."""
    if not is_fresh(value, event):
        return value._replace(stale=value.stale + count)
    (head, handed, trimmed), playback = value.journal, value.playback
    if event.ms:
        playback = _made(playback, value.cells["request", event.request_id].data.response_id, event.ms)
    return moved(value, (head + count, handed, trimmed), playback)


def produced_together(value: Value, event: ProducedTogether) -> Value:
    """Sequence deltas that came together: all are fresh, or all are stale, for nothing can come between them."""
    return produced(value, event, event.count)


def sequenced(value: Value, event: Sequenced) -> Value:
    """Take numbers for lifecycle frames; a session that is closing takes no more of these."""
    if value.state("session") != "OPEN":
        return value._replace(stale=value.stale + 1)
    return value._replace(journal=value.journal._replace(head=value.journal.head + event.count))


def message_begun(value: Value, event: MessageBegun) -> Value:
    """Take numbers for the events that begin a message, and remember how many its end will take."""
    after = sequenced(value, Sequenced(event.opening))
    if after.journal.head == value.journal.head:
        return after
    closing, name = event.closing, event.response_id
    return after._replace(
        playback=tuple(e._replace(closing=closing) if e.response_id == name else e for e in after.playback)
    )


def handed(value: Value, event: Handed) -> Value:
    """Move the mark up to which frames were handed to any transport."""
    head, handed, trimmed = value.journal
    return moved(value, (head, max(handed, event.through), trimmed), value.playback)


def acknowledged(value: Value, event: Acknowledged) -> Value:
    """Trim what the client has, and take what only a reader of ``session.resumed`` can know as proof.

    Raises :class:`ClientError` (``invalid_event_ack``) for a position that no transport was handed.
    """
    journal, credential = value.journal, value.credential
    if event.generation != value.generation:
        return value._replace(stale=value.stale + 1)
    if event.position > max(journal.handed, journal.trimmed):  # a client may have been told to go on from ``trimmed``
        raise ClientError("invalid_event_ack", f"position {event.position} was never sent; {journal.handed} was last")
    if event.claimed == value.generation or event.position > credential.claim_head:
        credential = prove(credential)
    after = moved(value, (journal.head, journal.handed, max(journal.trimmed, event.position)), value.playback)
    return after if credential is value.credential else after._replace(credential=credential)


def trimmed(value: Value, event: Trimmed) -> Value:
    """Move the mark below which nothing can be replayed."""
    journal = value.journal
    return value._replace(journal=journal._replace(trimmed=min(max(journal.trimmed, event.through), journal.head)))


def transport_closed(value: Value, event: TransportClosed) -> Value:
    """Take one transport off the books."""
    return value._replace(closing=tuple(held for held in value.closing if held != event.generation))


def playback_acked(value: Value, event: PlaybackAcked) -> Value:
    """Move the client's position in one response; it never moves back, nor past what was made.

    Raises :class:`ClientError`: ``playback_item_not_found`` for a response that is not remembered, and
    ``playback_ack_too_late`` for more of one that the client has cleared; nothing brings cleared speech back (FE-05).
    """
    entries = list(value.playback)
    for index, entry in enumerate(entries):
        if entry.response_id == event.response_id or (not event.response_id and index == len(entries) - 1):
            played_ms = max(entry.played_ms, min(event.played_ms, entry.made_ms))
            if entry.cleared and played_ms > entry.played_ms:
                raise ClientError("playback_ack_too_late", f"{entry.response_id} was cleared at {entry.played_ms} ms")
            entries[index] = entry._replace(played_ms=played_ms)
            return value._replace(playback=tuple(entries))
    raise ClientError("playback_item_not_found", f"no response {event.response_id!r} is remembered")


def input_queued(value: Value, event: InputQueued) -> Value:
    """Reserve room for audio. Raises :class:`LimitReached` (``input_backpressure``) when it finds none."""
    limit = value.settings.input_bytes
    if value.input_bytes + event.size > limit:
        raise LimitReached("input_bytes", limit, "input_backpressure")
    return value._replace(input_bytes=value.input_bytes + event.size)


def input_released(value: Value, event: InputReleased) -> Value:
    """Give room back."""
    return value._replace(input_bytes=value.input_bytes - event.size)


def turn_committed(value: Value, _: TurnCommitted) -> Value:
    """Reserve a turn. Raises :class:`LimitReached` (``input_backpressure``) when too many are not heard yet."""
    limit = value.settings.max_turns
    if value.turns >= limit:
        raise LimitReached("max_turns", limit, "input_backpressure")
    return value._replace(turns=value.turns + 1)


def turn_released(value: Value, event: TurnReleased) -> Value:
    """Give a turn back."""
    return value._replace(turns=value.turns - event.count)


def _made(playback: tuple[Playback, ...], response_id: str, ms: float) -> tuple[Playback, ...]:
    last = playback[-1]
    if last.response_id != response_id:
        return tuple(longer(e, ms) if e.response_id == response_id else e for e in playback)
    return (*playback[:-1], longer(last, ms))


APPLY: dict[type[Message], Callable[[Value, Any], Value]] = {
    Produced: produced,
    ProducedTogether: produced_together,
    Sequenced: sequenced,
    MessageBegun: message_begun,
    Handed: handed,
    Acknowledged: acknowledged,
    Trimmed: trimmed,
    TransportClosed: transport_closed,
    PlaybackAcked: playback_acked,
    InputQueued: input_queued,
    InputReleased: input_released,
    TurnCommitted: turn_committed,
    TurnReleased: turn_released,
}
