"""Faults of lease, grace and liveness, LE-01 to LE-08 (docs/faults.md), where no other test has them already."""

from __future__ import annotations

import logging

import pytest
import trio
import trio.testing

from interlock.errors import ClientError
from interlock.tables import messages as m
from interlock.workers.core import MACHINE, Worker
from tests.runtime.stage_play import LOUD, play, state


async def test_le_01_both_clocks_run_and_the_grace_is_not_the_idle_time() -> None:
    """vllm-omni #3907: the collector asked the idle predicate only, so a detached session lived for the idle time."""
    async with play(grace_s=5.0, idle_s=3600.0) as scene:
        session, _ = await scene.open()
        session.detach()
        await trio.sleep(5.1)
        assert (state(session, "session"), scene.host.slots) == ("CLOSED", 0)


async def test_le_06_what_comes_for_a_session_that_closes_is_a_plain_answer_and_no_fault_of_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """vllm-omni: a touch that raced the session's own close was logged as a server fault."""
    async with play() as scene:
        scene.fleet["ears"].script.abort = "hang"
        session, _ = await scene.open()
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        session.close()
        assert state(session, "session") == "CLOSING"
        for touch in (session.heartbeat, session.commit, session.barge_in, session.clear_input):
            with pytest.raises(ClientError) as caught:
                touch()
            assert caught.value.code == "session_closed"
        session.detach()
        (held,) = scene.fleet["ears"].held
        scene.fleet["ears"].confirm(held)
        with pytest.raises(ClientError, match="over"):
            session.heartbeat()
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.parametrize("event", [m.WorkerReady("ears", 1), m.WorkerHeard("ears", 1)])
@pytest.mark.parametrize("where", ["DRAINING", "LOST"])
def test_le_08_no_sign_of_life_is_published_once_a_worker_closes_or_is_lost(event: m.WorkerReady, where: str) -> None:
    """vllm-omni #1899: a late status update made a dead stage look alive."""
    step = MACHINE.step(where, Worker("ears", 5), event)
    assert (step.state, step.messages) == (where, ())


def test_le_08_a_missed_beat_is_no_loss_and_a_late_one_counts() -> None:
    """vllm-omni #1899: the heartbeat loop ended for good after one failed send."""
    heard = MACHINE.step("READY", Worker("ears", 5), m.WorkerHeard("ears", 1))
    assert (heard.state, [timer.__name__ for timer, _ in heard.row.rearm]) == ("READY", ["HeartbeatOverdue"])
