"""Schedules over real sockets, under the real clock: few, and each to its whole end."""

from __future__ import annotations

import pytest

from interlock.proof.fuzz_acts import ACTS
from interlock.proof.fuzz_campaign import fuzz
from interlock.proof.fuzz_schedule import Event, Schedule
from interlock.proof.fuzz_sockets import SOCKET_ACTS, SOCKETS, TIMES, run_sockets
from tests.proof.fuzz_faults import planted

TALK = Schedule((Event("open"), Event("speak"), Event("tick"), Event("ack"), Event("barge_in"), Event("close")))


@pytest.mark.real_clock
def test_a_conversation_over_a_socket() -> None:
    ran = run_sockets(TALK)
    assert ran.broken == ()
    assert ("session", "OPEN", "CloseRequested", "CLOSING") in ran.reached
    assert ("attachment", "REPLAYING", "ReplayDelivered", "ATTACHED") in ran.reached


@pytest.mark.real_clock
def test_a_torn_connection_a_takeover_and_rude_words() -> None:
    acts = ("open", "speak", "tear", "resume", "resume_from_0", "garbage", "stall", "burst", "allow", "resume_wrong")
    ran = run_sockets(Schedule(tuple(map(Event, acts))))
    assert ran.broken == ()
    assert ("attachment", "DETACHED", "ResumeRequested", "ACTIVATING") in ran.reached
    assert ("attachment", "ATTACHED", "ResumeRequested", "ACTIVATING") in ran.reached


@pytest.mark.slow
@pytest.mark.real_clock
def test_a_few_drawn_schedules() -> None:
    report = fuzz(SOCKETS, seed=1, examples=30, budget_s=15.0)
    assert report.failures == []
    assert report.examples > 5


@pytest.mark.real_clock
def test_a_fault_is_found_over_sockets_as_well() -> None:
    with planted("input_released_twice"):
        assert run_sockets(Schedule((Event("open"), Event("speak")))).broken


def test_every_act_is_one_that_somebody_performs() -> None:
    assert set(SOCKETS.acts) <= {*SOCKET_ACTS, *ACTS, *TIMES}
