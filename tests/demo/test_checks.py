"""No check is here that cannot fail: each passes on a true story, and fails on the same story with one thing untrue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from interlock.demo import checks
from interlock.demo.checks import CHECKS, Check, verdicts
from interlock.demo.evidence import Evidence, Received
from tests.demo.story import told

AUDIO = "response.output_audio.delta"
Tamper = Callable[[Evidence], Evidence]


def misheard(evidence: Evidence) -> Evidence:
    first, *others = evidence.turns
    return replace(evidence, turns=[first._replace(recognised="you said something else"), *others])


def nobody_spoke(evidence: Evidence) -> Evidence:
    return replace(evidence, turns=[turn for turn in evidence.turns if turn.response_id == evidence.cancelled])


def cancelled_at_its_end(evidence: Evidence) -> Evidence:
    return replace(evidence, turns=[turn._replace(whole_ms=800.0) for turn in evidence.turns])


def moved_to_the_end(event: str, *, last: bool) -> Tamper:
    """Let something happen only after the whole reply was sequenced: its record comes last."""

    def tamper(evidence: Evidence) -> Evidence:
        found = [record for record in evidence.trace if record["event"]["type"] == event]
        moved = found[-1] if last else found[0]
        head = {"journal": evidence.trace[-1]["journal"]}
        return replace(evidence, trace=[*(r for r in evidence.trace if r is not moved), {**moved, **head}])

    return tamper


def without(event: str) -> Tamper:
    """Leave all records of one event out of the trace."""
    return lambda evidence: replace(evidence, trace=[r for r in evidence.trace if r["event"]["type"] != event])


def delta_after_done(evidence: Evidence) -> Evidence:
    late = Received(99.0, "A", 1, {"type": AUDIO, "response_id": "r2", "server_event_seq": 999, "delta": ""})
    return replace(evidence, received=[*evidence.received, late])


def second_done(evidence: Evidence) -> Evidence:
    done = next(r for r in evidence.received if r.kind == "response.done" and r.response_id == "r2")
    return replace(evidence, received=[*evidence.received, done])


def completed_instead(evidence: Evidence) -> Evidence:
    def completed(r: Received) -> Received:
        return r._replace(event={**r.event, "response": {"status": "completed"}}) if r.kind == "response.done" else r

    return replace(evidence, received=[completed(r) for r in evidence.received])


def sequenced_late(evidence: Evidence) -> Evidence:
    """Sequence one more delta of the cancelled response at the end of the trace."""
    head = evidence.trace[-1]["journal"][0] + 1
    event = {"type": "Produced", "request_id": "r2.voice", "incarnation": 1, "epoch": 1, "ms": 100.0}
    record = {"at": 99.0, "session": "sess_x", "event": event, "journal": [head, head, 0]}
    return replace(evidence, trace=[*evidence.trace, record])


def lost(evidence: Evidence) -> Evidence:
    return replace(evidence, received=[r for r in evidence.received if r.seq != 5])


def swapped(evidence: Evidence) -> Evidence:
    received = list(evidence.received)
    received[2], received[3] = received[3], received[2]
    return replace(evidence, received=received)


def received_again(evidence: Evidence) -> Evidence:
    return replace(evidence, received=[*evidence.received[:4], *evidence.received[3:]])


def voided_and_received(evidence: Evidence) -> Evidence:
    void: dict[str, Any] = {"at": 1.0, "session": "sess_x", "voided": {"through": 1, "unsent": [5], "sent": []}}
    return replace(evidence, trace=[*evidence.trace, void])


def not_told(evidence: Evidence) -> Evidence:
    return replace(evidence, received=[r for r in evidence.received if r.kind != "session.replaced"])


def more_after_the_end(evidence: Evidence) -> Evidence:
    event = {"type": "error", "server_event_seq": 998}
    return replace(evidence, received=[*evidence.received, Received(99.0, "B", 1, event)])


def still_held(name: str) -> Tamper:
    return lambda evidence: replace(evidence, books={**evidence.books, name: 1})


TAMPERED: list[tuple[Check, Tamper]] = [
    (checks.replies_repeat_the_user, misheard),
    (checks.replies_repeat_the_user, nobody_spoke),
    (checks.barge_in_came_early, cancelled_at_its_end),
    (checks.tear_came_early, moved_to_the_end("TransportLost", last=False)),
    (checks.tear_came_early, without("TransportLost")),
    (checks.takeover_came_early, moved_to_the_end("ResumeRequested", last=True)),
    (checks.takeover_came_early, without("ResumeRequested")),
    (checks.nothing_after_the_cancel, delta_after_done),
    (checks.nothing_after_the_cancel, second_done),
    (checks.nothing_after_the_cancel, completed_instead),
    (checks.nothing_sequenced_after_the_interrupt, sequenced_late),
    (checks.nothing_sequenced_after_the_interrupt, without("InterruptRequested")),
    (checks.numbers_agree, lost),
    (checks.numbers_agree, swapped),
    (checks.numbers_agree, received_again),
    (checks.numbers_agree, voided_and_received),
    (checks.numbers_agree, lambda evidence: replace(evidence, duplicates=1)),
    (checks.numbers_agree, lambda evidence: replace(evidence, trace=[], received=[])),
    (checks.superseded_client_was_told, not_told),
    (checks.superseded_client_was_told, lambda evidence: replace(evidence, parted="reset")),
    (checks.superseded_client_was_told, lambda evidence: replace(evidence, ended={"A": "closed"})),
    (checks.session_ended_once, more_after_the_end),
    (checks.books_are_empty, still_held("requests")),
    (checks.books_are_empty, still_held("slots")),
    (checks.books_are_empty, still_held("journal_bytes")),
    (checks.books_are_empty, lambda evidence: replace(evidence, books={})),
    (checks.server_stopped_well, lambda evidence: replace(evidence, stopped_code=1)),
    (checks.server_stopped_well, lambda evidence: replace(evidence, stopped={"owed": [], "defects": ["x"]})),
    (checks.loop_did_not_stall, lambda evidence: replace(evidence, longest_stall_ms=150.0)),
]


def test_a_true_story_passes() -> None:
    assert [(verdict.sentence, verdict.ok) for verdict in verdicts(told())] == [
        (verdict.sentence, True) for verdict in verdicts(told())
    ]


@pytest.mark.parametrize(("check", "tamper"), TAMPERED)
def test_a_check_fails_where_its_point_is_untrue(check: Check, tamper: Tamper) -> None:
    assert check(told()).ok
    assert not check(tamper(told())).ok


def test_every_check_was_tampered_with() -> None:
    assert {check for check, _ in TAMPERED} == set(CHECKS)


def test_what_the_first_client_gave_up_counts_once() -> None:
    """The first client may read a little more before it is told; the second one gets it too, and has it counted."""
    evidence = told()
    given = next(r for r in evidence.received if r.client == "B")
    extra = given._replace(client="A", connection=2)
    place = evidence.received.index(given)
    received = [*evidence.received[:place], extra, *evidence.received[place:]]
    assert checks.numbers_agree(replace(evidence, received=received)).ok


def test_a_detail_says_what_was_found() -> None:
    assert checks.numbers_agree(lost(told())).detail == "missing [5], not expected [], of 43"
    assert checks.barge_in_came_early(told()).detail == "0.60 s was not; of 1.00 s in all, 0.40 s were sequenced"
