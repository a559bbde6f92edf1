"""The worker machine, stepped by hand: when it is lost, gone, started again, and given up."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic import ValidationError

from interlock.errors import MachineError
from interlock.machine import Address, ArmTimer, Cell, Composition, Message
from interlock.tables import messages as m
from interlock.workers.core import StageSpec, Worker, WorkerSettings, cancellation, worker_machine

SETTINGS = WorkerSettings(restart_s=1.0, restart_max_s=3.0, max_restarts=3)


class Stepped:
    """One worker machine, and the effects of its last event."""

    def __init__(self, *events: Message) -> None:
        self.composition = Composition(worker_machine(SETTINGS))
        self.cells: Mapping[Address, Cell] = {}
        self.effects: tuple[Message, ...] = ()
        for event in (m.WorkerWanted("think", SETTINGS.max_restarts), *events):
            self.take(event)

    def take(self, event: Message) -> None:
        done = self.composition.run(self.cells, event, lambda _, message: message, {})
        self.cells, self.effects = done.cells, done.effects

    @property
    def state(self) -> str:
        return self.cells["worker", "think"].state if self.cells else "STOPPED"

    @property
    def data(self) -> Worker:
        data: Worker = self.cells["worker", "think"].data
        return data

    @property
    def pause(self) -> float | str:
        return next(e.after for e in self.effects if isinstance(e, ArmTimer) and e.event is m.RestartDue)

    def names(self) -> list[str]:
        return [type(effect).__name__ for effect in self.effects if not isinstance(effect, ArmTimer)]


READY = m.WorkerReady("think", 1)
EXITED = m.WorkerExited("think", 1)


def test_a_worker_that_was_lost_is_not_started_again_before_it_is_gone() -> None:
    worker = Stepped(READY, m.LinkLost("think", 1, "end of file"))
    assert worker.state == "LOST"
    worker.take(m.RestartDue("think"))
    assert (worker.state, worker.pause) == ("LOST", 1.0)
    worker.take(EXITED)
    assert worker.effects == (m.AnnounceGone("think", 1),)
    worker.take(m.RestartDue("think"))
    assert (worker.state, worker.data.incarnation, worker.data.exited) == ("STARTING", 2, False)


def test_each_restart_in_a_row_waits_longer_until_the_stage_is_given_up() -> None:
    worker = Stepped()
    pauses = []
    for incarnation in range(1, 5):
        worker.take(m.WorkerExited("think", incarnation))
        pauses.append(worker.pause)
        worker.take(m.RestartDue("think"))
    assert pauses == [1.0, 2.0, 3.0, 3.0]
    assert worker.state == "STOPPED"


def test_a_worker_that_was_steady_is_forgiven_its_restarts() -> None:
    worker = Stepped(EXITED, m.RestartDue("think"), m.WorkerReady("think", 2))
    assert worker.data.failures == 1
    worker.take(m.WorkerSteady("think"))
    worker.take(m.WorkerExited("think", 2))
    assert (worker.data.failures, worker.pause) == (0, 1.0)


@pytest.mark.parametrize("events", [(), (READY,)], ids=["starting", "ready"])
def test_a_cancelled_worker_is_killed_and_never_started_again(events: tuple[Message, ...]) -> None:
    worker = Stepped(*events)
    worker.take(cancellation(worker.data))
    assert worker.state == "LOST"
    assert m.KillWorker("think", 1) in worker.effects
    worker.take(m.RestartDue("think"))
    assert worker.state == "LOST"
    worker.take(EXITED)
    assert worker.state == "STOPPED"


def test_a_stop_of_a_lost_worker_waits_for_its_end() -> None:
    worker = Stepped(READY, m.HeartbeatOverdue("think"), m.StopRequested("think"))
    assert worker.state == "LOST"
    worker.take(EXITED)
    assert (worker.state, worker.effects[-1]) == ("STOPPED", m.AnnounceGone("think", 1))


def test_a_stop_between_two_incarnations_is_at_once() -> None:
    assert Stepped(EXITED, m.StopRequested("think")).state == "STOPPED"


def test_what_an_earlier_incarnation_does_is_stale() -> None:
    worker = Stepped(EXITED, m.RestartDue("think"))
    for event in (READY, m.WorkerHeard("think", 1), m.LinkLost("think", 1, ""), EXITED):
        worker.take(event)
        assert (worker.state, worker.effects) == ("STARTING", ())


def test_four_beats_may_get_lost_within_a_heartbeat_deadline() -> None:
    assert WorkerSettings(heartbeat_s=5.0).beat_s == 1.0


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"restart_s = 5.0 is over restart_max_s = 1.0"):
        WorkerSettings(restart_s=5.0, restart_max_s=1.0)


def test_a_process_takes_only_what_can_be_handed_to_one() -> None:
    with pytest.raises(MachineError, match=r"'package.module:factory'"):
        StageSpec("think", lambda: NotImplemented)
    with pytest.raises(MachineError, match="JSON cannot carry its arguments"):
        StageSpec("think", "a:b", {"args": object()})
    StageSpec("think", lambda: NotImplemented, {"args": object()}, carrier="thread")
