"""The books: one comparison each, refused before anything has changed."""

from __future__ import annotations

import pytest

from interlock.errors import ClientError, LimitReached
from interlock.machine import Message
from interlock.session.books import (
    Acknowledged,
    Handed,
    InputQueued,
    InputReleased,
    PlaybackAcked,
    Produced,
    ProducedTogether,
    Sequenced,
    TransportClosed,
    Trimmed,
    TurnCommitted,
    TurnReleased,
)
from interlock.session.settings import Settings
from interlock.session.value import Journal, Playback, Value
from interlock.tables import messages as m
from tests.session.values import FIRST, after, answering, asked, attached, detached, listening


def refused(value: Value, event: Message) -> ClientError:
    with pytest.raises(ClientError) as caught:
        after(value, event)
    return caught.value


def test_a_delta_of_the_current_epoch_takes_the_next_number() -> None:
    value = answering(attached())
    made = after(value, Produced("resp_1.voice", 1, 1, 40.0), Produced("resp_1.mind", 1, 1))
    assert made.journal.head == value.journal.head + 2
    assert made.playback == (Playback("resp_1", made_ms=40.0),)
    assert made.stale == value.stale


@pytest.mark.parametrize("request_id", ["resp_1.voice", "resp_2.voice"], ids=["fresh", "stale"])
@pytest.mark.parametrize("count", [1, 2, 16])
def test_deltas_that_come_together_are_the_same_as_one_by_one(request_id: str, count: int) -> None:
    value = answering(attached())
    one = Produced(request_id, 1, 1, 40.0)
    assert after(value, *[one] * count) == after(value, ProducedTogether(request_id, 1, 1, 40.0 * count, count))


@pytest.mark.parametrize(
    "late",
    [
        Produced("resp_1.voice", 1, 0),
        Produced("resp_1.voice", 1, 2),
        Produced("resp_1.voice", 2, 1),
        Produced("resp_2.voice", 1, 1),
        Produced("listen_1", 1, 1),
    ],
)
def test_fe_27_a_delta_of_anything_else_is_stale_and_takes_no_number(late: Produced) -> None:
    value = listening(answering(attached()))
    assert after(value, late) == value._replace(stale=value.stale + 1)


def test_fe_04_no_delta_is_sequenced_once_an_interrupt_was_accepted() -> None:
    value = after(answering(attached()), m.InterruptRequested("client_cancelled"))
    assert after(value, Produced("resp_1.voice", 1, 1)).journal == value.journal
    assert after(value, Produced("resp_1.voice", 1, 2)).journal == value.journal


def test_sr_05_a_request_that_does_not_run_yet_says_nothing() -> None:
    value = after(asked(attached()), m.WorkerAssigned("resp_1.voice", 1))
    assert after(value, Produced("resp_1.voice", 1, 1)).journal == value.journal


def test_a_session_that_closes_takes_no_more_numbers() -> None:
    value = after(answering(attached()), m.CloseRequested("client_close"))
    assert value.state("session") == "CLOSING"
    assert after(value, Sequenced(3)) == value._replace(stale=value.stale + 1)


def test_handed_and_trimmed_only_move_forward_and_never_past_the_head() -> None:
    value = attached()._replace(journal=Journal(head=9, handed=6, trimmed=3))
    assert after(value, Handed(1, 4)).journal == value.journal
    assert after(value, Handed(1, 8)).journal.handed == 8
    assert [after(value, Trimmed(through)).journal.trimmed for through in (1, 5, 99)] == [3, 5, 9]


@pytest.mark.parametrize(("position", "trimmed"), [(2, 3), (3, 3), (6, 6)])
def test_an_ack_trims_and_never_moves_back(position: int, trimmed: int) -> None:
    value = attached()._replace(journal=Journal(head=9, handed=6, trimmed=3))
    assert after(value, Acknowledged(1, position)).journal.trimmed == trimmed


def test_an_ack_of_what_was_never_sent_is_refused_and_proves_nothing() -> None:
    value = attached()._replace(journal=Journal(head=9, handed=6, trimmed=3))
    assert refused(value, Acknowledged(1, 7, claimed=1)).code == "invalid_event_ack"


def test_an_ack_of_a_superseded_generation_is_stale() -> None:
    value = after(attached(), m.ResumeRequested(2, FIRST, 0, b"token 2"))
    assert after(value, Acknowledged(1, 0, claimed=2)) == value._replace(stale=value.stale + 1)


@pytest.mark.parametrize(
    ("ack", "proves"),
    [
        (Acknowledged(2, 0), False),
        (Acknowledged(2, 5), False),
        (Acknowledged(2, 6), True),
        (Acknowledged(2, 0, claimed=1), False),
        (Acknowledged(2, 0, claimed=2), True),
        (Acknowledged(2, 0, claimed=3), False),
    ],
)
def test_promise_3_proof_is_what_only_a_reader_of_session_resumed_can_say(ack: Acknowledged, proves: bool) -> None:
    """The head was 5 at the claim; the client presented 3, and may have read up to 5 before it dropped."""
    value = attached()._replace(journal=Journal(head=5, handed=5))
    value = after(value, m.ResumeRequested(2, FIRST, 3, b"token 2"))._replace(journal=Journal(head=8, handed=8))
    assert (after(value, ack).credential.presented is None) is proves


def test_a_transport_is_taken_off_the_books_once() -> None:
    value = detached()
    assert value.closing == (1,)
    assert (
        after(value, TransportClosed(1)).closing == after(value, TransportClosed(1), TransportClosed(1)).closing == ()
    )
    assert after(value, TransportClosed(7)).closing == (1,)


@pytest.mark.parametrize(("played", "expected"), [(-5.0, 10.0), (5.0, 10.0), (30.0, 30.0), (999.0, 40.0)])
def test_fe_05_playback_never_moves_back_nor_past_what_was_made(played: float, expected: float) -> None:
    value = after(answering(attached()), Produced("resp_1.voice", 1, 1, 40.0), PlaybackAcked("resp_1", 10.0))
    assert after(value, PlaybackAcked("resp_1", played)).playback == (Playback("resp_1", 40.0, expected),)
    assert after(value, PlaybackAcked("", played)).playback == (Playback("resp_1", 40.0, expected),)


def test_playback_is_a_bounded_ledger_and_what_it_forgot_is_refused() -> None:
    value = attached(Settings(max_playback=2))
    for number in range(1, 4):
        value = asked(value, number)
    assert [entry.response_id for entry in value.playback] == ["resp_2", "resp_3"]
    assert [entry.ended for entry in value.playback] == [True, False]
    assert refused(value, PlaybackAcked("resp_1", 1.0)).code == "playback_item_not_found"
    assert refused(attached(), PlaybackAcked("", 1.0)).code == "playback_item_not_found"


def test_ap_08_input_counts_to_the_byte() -> None:
    value = attached(Settings(input_bytes=64 * 1024))
    full = after(value, InputQueued(60 * 1024), InputQueued(4 * 1024))
    error = refused(full, InputQueued(1))
    assert isinstance(error, LimitReached)
    assert (error.code, error.limit, error.value) == ("input_backpressure", "input_bytes", 64 * 1024)
    assert after(full, InputQueued(0), InputReleased(4 * 1024), InputReleased(60 * 1024)) == value


def test_ap_10_turns_count_one_by_one() -> None:
    value = attached(Settings(max_turns=2))
    full = after(value, TurnCommitted(), TurnCommitted())
    assert (refused(full, TurnCommitted()).code, full.turns) == ("input_backpressure", 2)
    assert after(full, TurnReleased(2)) == value
