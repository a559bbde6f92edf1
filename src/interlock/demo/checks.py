"""What the demo verifies before it says that all is well. Each check looks at the evidence and returns one verdict.

A check says what must hold as a sentence, and in its detail what it found, so that a failure is its own explanation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from interlock.demo.evidence import (
    DELTAS,
    Evidence,
    Record,
    Turn,
    find,
    is_output,
    made,
    response_of,
    sequenced,
    voided,
)
from interlock.wire.codes import CloseCode

MARGIN_MS: Final = 500.0
STALL_MS: Final = 150.0
LEADING_WORDS: Final = 2
"""A reply begins with so many words of its own; the user's follow."""


class Verdict(NamedTuple):
    """What must hold, whether it does, and what was found."""

    sentence: str
    ok: bool
    detail: str


Check: TypeAlias = Callable[[Evidence], Verdict]


def replies_repeat_the_user(evidence: Evidence) -> Verdict:
    """Recognising the audio of each reply that nobody talked over gives the user's words back."""
    whole = [turn for turn in evidence.turns if turn.response_id not in (evidence.cancelled, evidence.failed)]
    wrong = [turn for turn in whole if words(turn.recognised)[LEADING_WORDS:] != words(turn.words)]
    detail = "; ".join(f'"{turn.recognised}"' for turn in whole) if not wrong else "; ".join(map(_misheard, wrong))
    sentence = f"the audio of {len(whole)} uninterrupted replies, recognised, gives back the user's words"
    return Verdict(sentence, bool(whole) and not wrong, detail)


def barge_in_came_early(evidence: Evidence) -> Verdict:
    """At the barge-in at least half a second of the reply was not sequenced yet."""
    whole = evidence.turn(evidence.cancelled).whole_ms
    before = sum(ms for _, ms in made(evidence.trace, evidence.cancelled))
    return _early("barge-in", whole - before, f"of {whole / 1000:.2f} s in all, {before / 1000:.2f} s were sequenced")


def tear_came_early(evidence: Evidence) -> Verdict:
    """At the tear at least half a second of the reply was not sequenced yet."""
    return _rest(evidence, "tear", evidence.torn, find(evidence.trace, "attachment", None, "TransportLost"))


def takeover_came_early(evidence: Evidence) -> Verdict:
    """At the takeover at least half a second of the reply was not sequenced yet."""
    claims = [index for index, record in enumerate(evidence.trace) if _claims(record)]
    return _rest(evidence, "takeover", evidence.taken_over, claims[-1] if claims else -1)


def nothing_after_the_cancel(evidence: Evidence) -> Verdict:
    """After the cancelled response's ``response.done`` not one delta of it arrived."""
    of_it = [r for r in evidence.received if r.response_id == evidence.cancelled]
    ends = [index for index, r in enumerate(of_it) if r.kind == "response.done"]
    late = [r.seq for r in of_it[ends[0] :] if r.kind in DELTAS] if ends else []
    status = str(of_it[ends[0]].event["response"]["status"]) if ends else "missing"
    detail = f"deltas after it: {late}" if late else f"response.done x {len(ends)}, {status}; no delta after it"
    sentence = "after the cancelled response's response.done not one delta of it arrived"
    return Verdict(sentence, len(ends) == 1 and status == "cancelled" and not late, detail)


def nothing_sequenced_after_the_interrupt(evidence: Evidence) -> Verdict:
    """The server sequenced no delta of the cancelled response after it had accepted the interrupt."""
    trace, response_id = evidence.trace, evidence.cancelled
    accepted = find(trace, "response", response_id, "ResponseInterrupted")
    after = {index for _, index in sequenced(trace) if index > accepted}
    late = [index for index in after if is_output(trace[index]) and response_of(trace[index]) == response_id]
    made_late = [r for r in trace[accepted:] if is_output(r) and response_of(r) == response_id]
    detail = f"{len(made_late)} came late and were dropped" if not late else f"records {sorted(late)} sequenced some"
    sentence = "the trace shows that none was sequenced after the interrupt was accepted"
    return Verdict(sentence, accepted >= 0 and not late, detail if accepted >= 0 else "the trace has no interrupt")


def numbers_agree(evidence: Evidence) -> Verdict:
    """Over all connections exactly the numbers that were sequenced and not voided arrived, in order, each once.

    A frame that a transport had been handed before the interrupt was received all the same, and is expected.
    """
    freed = voided(evidence.trace)
    owed = [number for number, _ in sequenced(evidence.trace) if number not in freed]
    got = [r.seq for r in evidence.heard if r.seq]
    lines = len({(r.client, r.connection) for r in evidence.received})
    ok = bool(owed) and got == owed and not evidence.duplicates
    detail = f"{len(got)} events over {lines} connections, {len(freed)} voided unsent" if ok else _difference(owed, got)
    if evidence.duplicates:
        detail += f"; {evidence.duplicates} arrived twice"
    return Verdict("what arrived is what was sequenced and not voided: in order, each once", ok, detail)


REPLACED = f"closed with {CloseCode.REPLACED:d}"


def superseded_client_was_told(evidence: Evidence) -> Verdict:
    """The superseded client read ``session.replaced``, and then a close frame that says the same."""
    told = [r.event for r in evidence.received if r.client == "A" and r.kind == "session.replaced"]
    ok = len(told) == 1 and evidence.ended.get("A") == "replaced" and evidence.parted == REPLACED
    by = told[0]["attachment_generation"] if told else "nobody"
    detail = f"session.replaced x {len(told)}, by generation {by}; then: {evidence.parted or 'no close frame'}"
    return Verdict("the superseded client was told so and closed", ok, detail)


def session_ended_once(evidence: Evidence) -> Verdict:
    """The session got its one terminal event, last of all, on the second client."""
    kinds = [(r.client, r.kind) for r in evidence.heard if r.seq]
    ends = [pair for pair in kinds if pair[1] in ("session.closed", "session.expired")]
    ok = ends == [("B", "session.closed")] and kinds[-1:] == ends
    return Verdict("the session got one terminal event, and nothing followed it", ok, f"{ends}")


def books_are_empty(evidence: Evidence) -> Verdict:
    """After ``session.closed``, before any shutdown, nothing is held."""
    held = {name: evidence.books.get(name) for name in ("requests", "slots", "journal_bytes")}
    owed = evidence.books.get("owed")
    detail = ", ".join(f"{name} = {count}" for name, count in held.items()) + f", owed = {owed}"
    sentence = "after session.closed the books hold no request, no slot and no journal byte"
    return Verdict(sentence, all(count == 0 for count in held.values()) and owed == [], detail)


def server_stopped_well(evidence: Evidence) -> Verdict:
    """On SIGTERM the server ended with nothing owed, and met no defect of its own."""
    defects = evidence.stopped.get("defects")
    owed = evidence.stopped.get("owed")
    ok = evidence.stopped_code == 0 and owed == [] and defects == []
    detail = f"exit code {evidence.stopped_code}, owed = {owed}, defects = {defects}"
    return Verdict("on SIGTERM the server ended with nothing owed", ok, detail)


def loop_did_not_stall(evidence: Evidence) -> Verdict:
    """The server's event loop never stood still for long."""
    stall = evidence.longest_stall_ms
    return Verdict(
        f"the longest stall of the server's event loop is under {STALL_MS:g} ms", stall < STALL_MS, f"{stall} ms"
    )


CHECKS: Final[Sequence[Check]] = (
    replies_repeat_the_user,
    barge_in_came_early,
    tear_came_early,
    takeover_came_early,
    nothing_after_the_cancel,
    nothing_sequenced_after_the_interrupt,
    numbers_agree,
    superseded_client_was_told,
    session_ended_once,
    books_are_empty,
    server_stopped_well,
    loop_did_not_stall,
)


def verdicts(evidence: Evidence, asked: Sequence[Check] = CHECKS) -> Iterator[Verdict]:
    """Yield the verdict of every check."""
    return (check(evidence) for check in asked)


def words(text: str) -> list[str]:
    """Return the words of a text, without case and punctuation."""
    return re.findall(r"[a-z']+", text.lower())


def _misheard(turn: Turn) -> str:
    return f'said "{turn.words}", got back "{turn.recognised}"'


def _early(moment: str, left_ms: float, detail: str) -> Verdict:
    sentence = f"at the {moment} at least {MARGIN_MS / 1000:g} s of the reply was not yet sequenced"
    return Verdict(sentence, left_ms >= MARGIN_MS, f"{left_ms / 1000:.2f} s was not; {detail}")


def _rest(evidence: Evidence, moment: str, response_id: str, index: int) -> Verdict:
    """Judge a reply that went on afterwards: the trace has the rest of it."""
    audio = made(evidence.trace, response_id)
    whole = sum(ms for _, ms in audio)
    left = sum(ms for at, ms in audio if at > index >= 0)
    return _early(moment, left, f"of {whole / 1000:.2f} s in all")


def _claims(record: Record) -> bool:
    event = record.get("event", {})
    return bool(event.get("type") == "ResumeRequested" and "refused" not in record and _accepted(record))


def _accepted(record: Record) -> bool:
    return any(row["machine"] == "attachment" and row["to"] == "ACTIVATING" for row in record.get("rows", ()))


def _difference(owed: Sequence[int], got: Sequence[int]) -> str:
    missing, extra = sorted(set(owed) - set(got)), sorted(set(got) - set(owed))
    if missing or extra:
        return f"missing {missing[:8]}, not expected {extra[:8]}, of {len(owed)}"
    return f"{len(got)} arrived for {len(owed)} that were due, or in another order"
