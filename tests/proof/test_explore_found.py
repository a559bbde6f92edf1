"""What `interlock explore` has found in the session core, each as the shortest path that it printed."""

from __future__ import annotations

from interlock.machine import Message
from interlock.session.books import Acknowledged, Handed, Sequenced, Trimmed
from interlock.session.decide import decide, new_value
from interlock.session.settings import Settings
from interlock.session.value import Value
from interlock.tables import messages as m


def after(value: Value, *events: Message) -> Value:
    for event in events:
        value = decide(value, event).value
    return value


UNREAD = (
    m.Prepared(1, b"T0"),
    m.ActivationDelivered(1),
    m.ReplayDelivered(1),
    m.ResumeRequested(2, b"T0", 0, b"T1"),
    m.ActivationDelivered(2),  # handed over, and swallowed on the way: nobody reads T1
    m.ReplayDelivered(2),
    Sequenced(1),
    Handed(2, 1),
    Trimmed(1),
)
GAP = m.ResumeRequested(3, b"T0", 0, b"T2")  # the same client on a second connection: refused, and told the head


def test_an_ack_of_what_a_refusal_told_is_no_proof_of_a_claim_that_nobody_read() -> None:
    value = after(new_value("sess_1", Settings()), *UNREAD, GAP)
    value = after(value, Acknowledged(2, 1))  # on the first connection: downstream is dead, upstream works
    assert value.credential.presented == b"T0"
    assert after(value, m.ResumeRequested(4, b"T0", 1, b"T3")).generation == 3


def test_an_ack_above_what_a_refusal_told_still_is() -> None:
    value = after(new_value("sess_1", Settings()), *UNREAD, GAP, Sequenced(1), Handed(2, 2), Acknowledged(2, 2))
    assert value.credential.presented is None
