"""What a committed decision means to whoever runs a server: a session has opened, a claim has landed, a stage owes.

Metrics, log lines and spans are three ways of hearing the same story. All of it is read from decisions that were
committed, and never from a second account of what should have happened: what is told here is what the session is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

from interlock.machine import Cancelled, Key, Message, Taken
from interlock.runtime.perform import attempt
from interlock.session.decide import Decision
from interlock.session.reasons import OWN
from interlock.session.value import Value
from interlock.tables import messages as m

log = logging.getLogger("interlock")

Kind: TypeAlias = Literal[
    "opened",
    "claimed",
    "claim_landed",
    "detached",
    "resume_refused",
    "cancel_began",
    "cancel_landed",
    "request_owed",
    "response_began",
    "response_ended",
    "quarantined",
    "ended",
]
"""Past tense: each has happened."""


class Told(NamedTuple):
    """One thing that happened. ``why`` is a word of a small, fixed vocabulary: an outcome, a code, a reason.

    ``claim`` and ``generation`` are the session's as they are after it; ``subject`` is the epoch, request or response
    that it is about; ``took_s`` how long it was under way, where that is known.
    """

    kind: Kind
    at: float
    session: str
    generation: int
    claim: int
    why: str = ""
    way: str = ""
    subject: Key = None
    took_s: float = 0.0


WAYS: Final = ("open", "reconnect", "takeover")
OUTCOMES: Final = ("attached", "cancelled", "transport_lost", "superseded", "ended")
"""How a claim comes about, and how it lands: ``way`` and ``why`` of what is told when it does."""

Listener: TypeAlias = Callable[[Told], None]

FINAL_RESPONSES: Final = frozenset({"COMPLETED", "CANCELLED", "FAILED"})
RESTING: Final = frozenset({"DETACHED", "ROLLED_BACK"})
CLAIMING: Final = frozenset({"ACTIVATING", "REPLAYING"})


class Story:
    """A recorder (:class:`interlock.runtime.ports.Recorder`) that tells its listeners, in order.

    One that fails is let go of alone.
    """

    def __init__(self, *listeners: Listener) -> None:
        self._listeners: list[Listener] = list(listeners)
        self._claims: dict[str, tuple[str, float]] = {}
        self._cancels: dict[tuple[str, Key], float] = {}
        self.stale = 0

    def decided(self, at: float, before: Value, event: Message, decision: Decision) -> None:
        """Tell what a decision did. Most events are audio, and tell nothing."""
        self.stale += decision.value.stale - before.stale
        if not decision.taken:
            return
        for told in self._read(at, decision):
            self._tell(told)

    def refused(self, at: float, before: Value, event: Message, code: str) -> None:
        """Tell of a resume that a session refused because it is over."""
        if isinstance(event, m.ResumeRequested):
            self._tell(Told("resume_refused", at, before.session_id, before.generation, event.claim, code))

    def voided(self, at: float, session_id: str, through: int, unsent: Sequence[int], sent: Sequence[int]) -> None:
        """Frames that were freed are no news."""

    def _tell(self, told: Told) -> None:
        for listener in tuple(self._listeners):
            if (error := attempt(partial(listener, told), lambda error: error)) is not None:
                log.error("a listener of what happens to sessions has failed, and is not told again", exc_info=error)
                self._listeners.remove(listener)

    def _read(self, at: float, decision: Decision) -> Iterator[Told]:
        value, attachment = decision.value, decision.value.cells["attachment", None].data
        told = Told("opened", at, value.session_id, attachment.generation, attachment.claim)
        for taken in decision.taken:
            if taken.row is not None:
                yield from self._of(told, taken, value)
        for effect in decision.effects:
            if isinstance(effect, m.RefuseResume):
                yield told._replace(kind="resume_refused", claim=effect.claim, why=effect.code)

    def _of(self, told: Told, taken: Taken, value: Value) -> Iterator[Told]:
        machine, key = taken.address
        moved = taken.state != taken.to
        match machine:
            case "attachment":
                yield from self._of_attachment(told, taken)
            case "session" if moved:
                yield from self._of_session(told, taken.to, value)
            case "fence" if moved:
                yield from self._of_fence(told._replace(subject=key), taken)
            case "response":
                yield from _of_response(told._replace(subject=key), taken)
            case "request" if moved and taken.to == "OWED":
                yield told._replace(kind="request_owed", subject=key)

    def _of_session(self, told: Told, to: str, value: Value) -> Iterator[Told]:
        reason = value.cells["session", None].data.reason
        why = reason if reason in OWN else "by_caller"
        if to == "OPEN":
            yield told
        elif to == "QUARANTINED":
            yield told._replace(kind="quarantined", why=why)
        elif to == "CLOSED":
            self._claims.pop(told.session, None)
            yield told._replace(kind="ended", why=why)

    def _of_attachment(self, told: Told, taken: Taken) -> Iterator[Told]:
        was, to = taken.state, taken.to
        is_claim = to == "ACTIVATING" and _is_accepted_claim(taken.message)
        if was in CLAIMING and (is_claim or to not in CLAIMING):
            way, began = self._claims.pop(told.session, ("open", told.at))
            outcome = "superseded" if is_claim else _outcome(taken)
            yield told._replace(kind="claim_landed", why=outcome, way=way, took_s=told.at - began)
        if was == "ATTACHED" and to == "DETACHED":
            yield told._replace(kind="detached")
        if is_claim:
            way = _way(taken)
            self._claims[told.session] = (way, told.at)
            yield told._replace(kind="claimed", way=way)

    def _of_fence(self, told: Told, taken: Taken) -> Iterator[Told]:
        key = (told.session, taken.address[1])
        if taken.state == "OPEN":
            self._cancels[key] = told.at
            yield told._replace(kind="cancel_began")
        if taken.to == "CLOSED":
            took_s = told.at - self._cancels.pop(key, told.at)
            yield told._replace(kind="cancel_landed", why="retried" if taken.state == "RETAINED" else "", took_s=took_s)


def _of_response(told: Told, taken: Taken) -> Iterator[Told]:
    if isinstance(taken.message, m.ResponseRequested):
        yield told._replace(kind="response_began")
    elif taken.to in FINAL_RESPONSES and taken.state not in FINAL_RESPONSES:
        yield told._replace(kind="response_ended", why=taken.to.lower())


def _is_accepted_claim(message: Message) -> bool:
    return isinstance(message, m.Opened) or (isinstance(message, m.ResumeRequested) and message.verdict == "accepted")


def _way(taken: Taken) -> str:
    """Say how a claim came about: the session's first, one of a session that nobody had, or a takeover."""
    if isinstance(taken.message, m.Opened):
        return "open"
    return "reconnect" if taken.state in RESTING else "takeover"


def _outcome(taken: Taken) -> str:
    """Say how a claim landed."""
    if taken.to == "ATTACHED":
        return "attached"
    if taken.to == "CLOSED":
        return "ended"
    return "cancelled" if isinstance(taken.message, Cancelled) else "transport_lost"
