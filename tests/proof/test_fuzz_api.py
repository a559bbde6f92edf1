"""The public API as a state machine: a test of its own under Hypothesis, and campaigns that end in a schedule."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from interlock.proof.fuzz import FLAT
from interlock.proof.fuzz_api import fuzz_api
from interlock.proof.fuzz_pump import Pump, SteppedWorld
from interlock.proof.fuzz_rules import CALLS, CLAIMS, STAGES, Api, Broken
from interlock.proof.fuzz_schedule import Event, Found, Schedule
from tests.proof.fuzz_faults import planted

TestApi = Api.TestCase
TestApi.settings = settings(
    max_examples=40,
    stateful_step_count=15,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def test_a_world_is_stepped_from_outside() -> None:
    pump = Pump(SteppedWorld())
    pump.step(Event("open"))
    (client,) = pump.world.clients
    assert client.link.types == ["session.created"]
    pump.step(Event("speak"))
    assert "response.output_audio.delta" in client.link.types
    before = pump.world.clock.current_time()
    pump.step(Event("forty_seconds"))
    assert pump.world.clock.current_time() - before == pytest.approx(40.0)
    pump.close()
    assert pump.world.broken == []
    assert pump.world.schedule_of == Schedule((Event("open"), Event("speak"), Event("forty_seconds")))


def test_stepped_or_run_a_schedule_comes_to_the_same() -> None:
    events = (Event("open"), Event("speak"), Event("resume"), Event("barge_in"), Event("tick"), Event("close"))
    pump = Pump(SteppedWorld())
    for event in events:
        pump.step(event)
    pump.close()
    assert frozenset(pump.world.ledger.rows) == FLAT.run(Schedule(events)).reached


@pytest.mark.parametrize("fault", ["void_not_performed", "old_token_kept", "writer_not_woken"])
def test_a_campaign_finds_a_fault_and_tells_it_as_a_schedule(fault: str) -> None:
    with planted(fault):
        report = fuzz_api(seed=1, examples=400, budget_s=40.0)
        (found,) = report.failures
        assert FLAT.run(found.schedule).broken
    assert len(found.schedule.events) <= 6
    assert FLAT.run(found.schedule).broken == ()


def test_a_sound_runtime_passes_and_is_counted() -> None:
    report = fuzz_api(seed=2, examples=30)
    assert report.failures == []
    assert report.examples >= 30
    assert report.events > report.examples
    assert len(report.reached) > 30


def test_the_rules_have_every_act() -> None:
    assert not {*CALLS, *CLAIMS} & set(STAGES)
    assert "lose" in STAGES


def test_what_is_broken_is_told_with_the_file_of_the_schedule() -> None:
    error = Broken(Found("flat", Schedule((Event("open"),)), ("promise 1: so",)))
    assert str(error).startswith("promise 1: so\n{")
    assert '["open", 0, 0]' in str(error)
