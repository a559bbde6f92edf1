"""The five promises as functions: one oracle for sweeps, fuzzing and tests of the real runtime.

A :class:`Witness` is a recorder: it sees every event that a session took and what was committed, and asks after each
whether a promise was broken. What only shows between the value and what lies beside it is asked at rest. It never
stops the runtime: what it finds is kept in ``broken``, and :meth:`Witness.verdict` raises it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from interlock.machine import Message
from interlock.runtime.driver import Driver
from interlock.runtime.host import Host
from interlock.session.books import Acknowledged, Produced, TransportClosed
from interlock.session.decide import COMPOSITION, Decision
from interlock.session.value import Value
from interlock.tables import messages as m

CLAIMED = frozenset({"ACTIVATING", "REPLAYING", "ATTACHED"})
OVER = frozenset({"QUARANTINED", "CLOSED"})

CONFIRMED = (m.AbortConfirmed, m.RequestFinished, m.SubmitRefused, m.RequestGone)
"""What releases an id that a stage may hold: its own word, or the death of its worker."""


class PromiseBroken(AssertionError):
    """One of the five promises does not hold. The text names it and says what was seen."""


@dataclass
class History:
    """What one session's machines have asked for so far."""

    created: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    terminals: list[str] = field(default_factory=list)
    ordered: list[int] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    voided_through: int = 0


class Witness:
    """Satisfies :class:`interlock.runtime.ports.Recorder`; give it to a host, and ask it when all is at rest."""

    def __init__(self) -> None:
        self.broken: list[str] = []
        self.decisions = 0
        self._sessions: dict[str, History] = {}

    def decided(self, at: float, before: Value, event: Message, decision: Decision) -> None:
        """Look at one commit."""
        self.decisions += 1
        history = self._sessions.setdefault(before.session_id, History())
        for effect in decision.effects:
            _remember(history, effect)
        if isinstance(event, TransportClosed) and event.generation in before.closing:
            history.closed.append(event.generation)
        wrong = list(judge(before, event, decision))
        if decision.value.cells is not before.cells or decision.value.closing is not before.closing:
            wrong += _judge_history(history, before, decision.value)
        self.broken += [f"{sentence} (after {type(event).__name__}, {before.session_id})" for sentence in wrong]

    def refused(self, at: float, before: Value, event: Message, code: str) -> None:
        """A refusal changes nothing: there is nothing to look at."""

    def voided(self, at: float, session_id: str, through: int, unsent: Sequence[int], sent: Sequence[int]) -> None:
        """Remember up to which epoch output was voided."""
        self._sessions[session_id].voided_through = through

    def verdict(self, host: Host) -> None:
        """Ask everything, at rest. Raises :class:`PromiseBroken` with all that was found so far."""
        for driver in host.drivers.values():
            self.broken += [f"{sentence} (at rest, {driver.session_id})" for sentence in judge_rest(driver)]
        self.broken += [f"defect: {defect}" for defect in host.defects]
        if self.broken:
            raise PromiseBroken("; ".join(self.broken[:10]))


def judge(before: Value, event: Message, decision: Decision) -> Iterator[str]:
    """Yield what one commit breaks, from the commit alone."""
    after = decision.value
    if after.cells is not before.cells:  # the data plane leaves the machines alone, and comes far more often
        yield from _one_claim(after)
        yield from _owed_until_released(decision)
    yield from _only_growing(before, after)
    yield from _known_token(before, event, after)
    yield from _nothing_stale(before, event, after)
    if before.state("session") in OVER and after.journal.head != before.journal.head:
        yield "promise 5: something was sequenced after the session's terminal event"


def judge_rest(driver: Driver) -> Iterator[str]:
    """Yield where the value and what lies beside it disagree."""
    value = driver.value
    queued = sum(held.queued_bytes for held in driver.inputs.values())
    if value.input_bytes != queued:
        yield f"promise 4: input_bytes is {value.input_bytes}, reservations add up to {queued}"
    turns = sum(held.turns for held in driver.inputs.values())
    if value.turns != turns:
        yield f"promise 4: turns is {value.turns}, reservations add up to {turns}"
    claimed = {value.generation} if value.state("attachment") in CLAIMED else set()
    if set(driver.deliveries) != claimed | set(value.closing):
        yield f"promise 1: writers {sorted(driver.deliveries)}, claimed {sorted(claimed)}, closing {value.closing}"
    stale = [frame.seq for frame in driver.frames.live if 0 < frame.epoch < value.epoch]
    if stale:
        yield f"promise 2: frames {stale} of older epochs are still held"
    if not value.holds_slot and any(name == "request" for name, _ in value.cells):
        yield "promise 4: a stage may still hold something, and the slot is free"
    waits = value.state("session") == "OPENING" or value.state("attachment") in CLAIMED - {"ATTACHED"}
    if driver.offers and not waits:
        yield f"promise 1: claims {sorted(driver.offers)} are kept, and nobody waits for them"
    if (armed := _armed(driver)) != (wanted := _wanted(value)):
        yield f"promise 1: timers {sorted(armed ^ wanted)} are not as the states say"


def _one_claim(after: Value) -> Iterator[str]:
    session, attachment, lease = (after.state(name) for name in ("session", "attachment", "lease"))
    if session == "OPEN" and (lease == "HELD") != (attachment in CLAIMED):
        yield f"promise 1: the attachment is {attachment} and the lease is {lease}"
    if session == "OPEN" and attachment == "CLOSED":
        yield "promise 3: the session is open, and nobody can attach to it any more"
    if session == "CLOSED" and any(name == "request" for name, _ in after.cells):
        yield "promise 4: the slot is free while a stage may still hold something"
    if session in OVER and attachment != "CLOSED":
        yield f"promise 1: the session is {session} and the attachment is {attachment}"


def _only_growing(before: Value, after: Value) -> Iterator[str]:
    for name in ("generation", "epoch", "answered", "listened", "stale", "refused"):
        if getattr(after, name) < getattr(before, name):
            yield f"promise 1: {name} went back from {getattr(before, name)} to {getattr(after, name)}"
    if not (before.journal.head <= after.journal.head and before.journal.trimmed <= after.journal.trimmed):
        yield f"promise 3: the journal went back from {before.journal} to {after.journal}"
    if after.journal.trimmed > after.journal.head or after.input_bytes < 0 or after.turns < 0:
        yield f"promise 3: {after.journal}, {after.input_bytes} input bytes, {after.turns} turns"


def _known_token(before: Value, event: Message, after: Value) -> Iterator[str]:
    old, new = before.credential, after.credential
    is_claim = after.generation != before.generation
    if old.current != new.current and not is_claim:
        yield "promise 3: the token changed without a claim"
    if is_claim and new.current == old.current:
        yield f"promise 3: claim {after.generation} has the token of the one before it"
    if is_claim and isinstance(event, m.ResumeRequested) and new.presented != event.token:
        yield "promise 3: the token that was presented does not open the session any more"
    if old.presented is not None and new.presented is None and not _is_proof(before, event):
        yield f"promise 3: {type(event).__name__} is no proof, and cost the client its token"


def _is_proof(before: Value, event: Message) -> bool:
    if not isinstance(event, Acknowledged) or event.generation != before.generation:
        return False
    return event.claimed == before.generation or event.position > before.credential.claim_head


def _owed_until_released(decision: Decision) -> Iterator[str]:
    for taken in decision.taken:
        released = taken.address[0] == "request" and taken.to == "RELEASED" and taken.state != "RELEASED"
        if released and taken.state != "RESERVED" and not isinstance(taken.message, CONFIRMED):
            yield f"promise 4: {type(taken.message).__name__} released {taken.address[1]} from {taken.state}"


def _nothing_stale(before: Value, event: Message, after: Value) -> Iterator[str]:
    if isinstance(event, Produced) and after.journal.head > before.journal.head and event.epoch != before.epoch:
        yield f"promise 2: a delta of epoch {event.epoch} was sequenced in epoch {before.epoch}"


def _remember(history: History, effect: Message) -> None:
    match effect:
        case m.AppendEvent(kind="response.created"):
            history.created.append(effect.response_id)
        case m.AppendEvent(kind="response.done"):
            history.ended.append(effect.response_id)
        case m.AppendEvent(kind="session.closed" | "session.expired"):
            history.terminals.append(effect.kind)
        case m.EvictTransport() | m.DropTransport() | m.FinishTransport():
            history.ordered.append(effect.generation)
        case _:
            pass


def _judge_history(history: History, before: Value, after: Value) -> Iterator[str]:
    over = after.state("session") in OVER
    if len(history.terminals) != int(over):
        yield f"promise 5: the session is {after.state('session')} with terminals {history.terminals}"
    if len(set(history.ended)) != len(history.ended) or not set(history.ended) <= set(history.created):
        yield f"promise 5: responses {history.created} ended as {history.ended}"
    if over and set(history.ended) != set(history.created):
        yield f"promise 5: responses {history.created}, and only {history.ended} ended"
    if len(set(history.ordered)) != len(history.ordered):
        yield f"promise 1: transports were ordered to close as {history.ordered}"
    claimed = {after.generation} if after.state("attachment") in CLAIMED else set()
    if set(history.ordered) | claimed != set(range(1, after.generation + 1)):
        yield f"promise 1: of {after.generation} transports {history.ordered} were ordered to close"
    if sorted(after.closing) != sorted(set(history.ordered) - set(history.closed)):
        yield f"promise 4: closing {after.closing}, ordered {history.ordered}, closed {history.closed}"
    if before.epoch != after.epoch and history.voided_through > after.epoch:
        yield f"promise 2: output was voided up to epoch {history.voided_through} in epoch {after.epoch}"


def _armed(driver: Driver) -> frozenset[tuple[str, str, str]]:
    armed = [timer for timer in driver.host.deadlines.armed if timer.session_id == driver.session_id]
    return frozenset((timer.target, str(timer.instance), timer.event.__name__) for timer in armed)


def _wanted(value: Value) -> frozenset[tuple[str, str, str]]:
    """The timers that the states of a value have: what `entering` them anew would arm."""
    wanted: set[tuple[str, str, str]] = set()
    for (name, key), cell in value.cells.items():
        machine = COMPOSITION.machines[name]
        for timeout in machine.states[cell.state].timeouts:
            if machine.delay(timeout.after, cell.data, Message()) != float("inf"):
                wanted.add((name, str(key), timeout.event.__name__))
    return frozenset(wanted)
