"""Facts: a resume is judged in one order, and each message learns what it must of the other machines."""

from __future__ import annotations

import pytest

from interlock.session.decide import decide
from interlock.session.facts import Verdict, judge
from interlock.session.value import Journal, Value
from interlock.tables import messages as m
from tests.session.values import FIRST, after, answering, asked, attached, detached, listening


def at(journal: Journal) -> Value:
    """Return a session in grace whose journal stands so."""
    return detached()._replace(journal=journal)


def verdict(value: Value, token: bytes, position: int) -> Verdict:
    return judge(value, value.cells, m.ResumeRequested(2, token, position, b"token 2"))


@pytest.mark.parametrize(
    ("position", "expected"),
    [(0, "gap"), (3, "gap"), (4, "accepted"), (5, "accepted"), (9, "accepted"), (10, "future"), (2**53, "future")],
)
def test_a_position_is_retained_from_the_trimmed_mark_to_the_head(position: int, expected: Verdict) -> None:
    """JR-10: compared with the mark, not with whether an entry is there."""
    assert verdict(at(Journal(head=9, handed=9, trimmed=4)), FIRST, position) == expected


def test_position_0_is_legal_as_long_as_nothing_was_let_go() -> None:
    assert verdict(at(Journal()), FIRST, 0) == "accepted"
    assert verdict(at(Journal(head=9, handed=0)), FIRST, 0) == "accepted"


def test_the_order_is_alive_then_token_then_position() -> None:
    value = at(Journal(head=9, handed=9, trimmed=4))
    over = after(value, m.CloseRequested("client_close"))
    assert [verdict(over, token, at_) for token in (FIRST, b"wrong") for at_ in (0, 5, 10)] == ["ended"] * 6
    assert [verdict(value, b"wrong", position) for position in (0, 5, 10)] == ["invalid_token"] * 3


@pytest.mark.parametrize(
    ("token", "position", "code"),
    [
        (b"wrong", 5, "invalid_resume_token"),
        (FIRST, 3, "journal_gap"),
        (FIRST, 10, "session_resume_conflict"),
    ],
)
def test_a_refusal_says_why_and_from_where_and_moves_nothing(token: bytes, position: int, code: str) -> None:
    value = at(Journal(head=9, handed=9, trimmed=4))
    decision = decide(value, m.ResumeRequested(2, token, position, b"token 2"))
    assert decision.effects == (m.RefuseResume(2, code, resumable_from=4, head=9),)
    assert decision.value == value._replace(refused=1)


def test_a_resume_while_closing_is_answered_and_not_left_to_wait() -> None:
    value = after(listening(attached()), m.CloseRequested("client_close"))
    assert value.state("session") == "CLOSING"
    effects = decide(value, m.ResumeRequested(2, FIRST, 0, b"token 2")).effects
    assert effects == (m.RefuseResume(2, "session_resume_expired", resumable_from=0, head=0),)


def test_idle_is_judged_with_what_is_being_said_and_what_was_not_heard_yet() -> None:
    value = attached()
    busy = [fact_of(at_, m.IdleDue(300.0), "busy") for at_ in (value, asked(value), value._replace(turns=1))]
    assert busy == [False, True, True]


def fact_of(value: Value, event: m.IdleDue | m.StageLost | m.CloseRequested | m.CancelRequested, name: str) -> object:
    """Return a fact of the first message of a run, as its row read it."""
    return getattr(decide(value, event).taken[0].message, name)


def test_a_lost_worker_concerns_the_requests_of_its_stage_and_incarnation() -> None:
    value = listening(answering(attached()))
    facts = [
        (fact_of(value, m.StageLost(stage, incarnation), "request_ids"))
        for stage, incarnation in (("voice", 1), ("voice", 2), ("ears", 1), ("no such", 1))
    ]
    assert facts == [("resp_1.voice",), (), ("listen_1",), ()]
    assert [fact_of(value, m.StageLost(stage, 1), "answering") for stage in ("voice", "ears")] == [True, False]


def test_a_close_knows_every_request_and_a_cancel_every_response() -> None:
    value = listening(answering(attached()))
    close = fact_of(value, m.CloseRequested("client_close"), "request_ids")
    assert close == ("resp_1.mind", "resp_1.voice", "listen_1")
    assert fact_of(value, m.CancelRequested("resp_1"), "live") == ("resp_1",)
    cancelled = after(value, m.CancelRequested("resp_1"))
    assert fact_of(cancelled, m.CancelRequested("resp_1"), "ended") == ("resp_1",)
