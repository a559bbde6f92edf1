"""Schedules and campaigns: any bytes are a schedule, the same seed is the same campaign, failures become short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.proof.fuzz import FLAT, Ran, Target, decoded, schedules
from interlock.proof.fuzz_acts import ACTS
from interlock.proof.fuzz_campaign import fuzz
from interlock.proof.fuzz_replay import replayed
from interlock.proof.fuzz_run import run
from interlock.proof.fuzz_schedule import Event, Found, Schedule
from interlock.proof.fuzz_shrink import likeness, shrink
from interlock.proof.fuzz_world import World

EVERYTHING = Schedule(tuple(Event(act) for act in ("open", "speak", "tick", *ACTS)))


def toy(schedule: Schedule) -> Ran:
    """Break on a, later b, where the scheduler's order is odd; reach every act that is there."""
    acts = [event.act for event in schedule.events]
    broken = "a" in acts and "b" in acts[acts.index("a") :]
    reached = frozenset((act,) for act in acts)
    return Ran((f"promise 9: b came after a at {acts.index('b')}",) if broken else (), reached)


TOY = Target("flat", ("a", "b", "c", "d"), toy)


def test_the_gate_of_a_few_hundred_schedules() -> None:
    report = fuzz(FLAT, seed=4, examples=300, budget_s=50.0)
    assert report.failures == []
    assert report.examples == 300
    assert len(report.reached) > 90


@given(st.binary(min_size=4, max_size=100))
@settings(database=None)
def test_any_bytes_are_a_schedule(data: bytes) -> None:
    schedule = decoded(data, FLAT)
    assert {event.act for event in schedule.events} <= set(ACTS)
    assert len(schedule.events) <= 1 + (len(data) - 4) // 3


@given(schedules(max_events=8))
@settings(max_examples=40, deadline=None, database=None)
def test_the_strategy_serves_tests_of_ones_own(schedule: Schedule) -> None:
    assert FLAT.run(schedule).broken == ()


def test_every_act_finds_something_to_do_or_does_nothing() -> None:
    assert run(World(EVERYTHING), ACTS).broken == []
    assert run(World(Schedule(tuple(Event(act) for act in ACTS))), ACTS).broken == []
    assert run(World(Schedule(())), ACTS).broken == []


def test_a_run_is_the_same_every_time(capsys: pytest.CaptureFixture[str]) -> None:
    told = set()
    for _ in range(3):
        assert replayed(Found("flat", EVERYTHING._replace(order=5), ())) == ()
        told.add(capsys.readouterr().out)
    assert len(told) == 1


def test_a_campaign_is_the_same_every_time() -> None:
    first, second = (fuzz(TOY, seed=7, examples=450) for _ in range(2))
    assert (first.examples, first.kept, first.failures) == (second.examples, second.kept, second.failures)
    assert fuzz(TOY, seed=8, examples=450).kept != first.kept


def test_one_failure_of_each_kind_is_told_and_short() -> None:
    report = fuzz(TOY, examples=400)
    (found,) = report.failures
    assert found.schedule == Schedule((Event("a"), Event("b")))
    assert report.repeated > 0


def test_a_budget_is_kept_and_enough_is_enough() -> None:
    assert fuzz(TOY, budget_s=0.3).seconds < 5.0
    assert fuzz(TOY, examples=0).examples == 0
    assert fuzz(TOY, examples=400, enough=1).repeated == 0


def test_a_corpus_runs_first_and_others_grow_from_it() -> None:
    seen: list[Schedule] = []

    def run_it(schedule: Schedule) -> Ran:
        seen.append(schedule)
        return Ran((), frozenset({(str(len(schedule.events)),)}))

    stem = Schedule((Event("d"), Event("d"), Event("c")))
    fuzz(replace(TOY, run=run_it), examples=60, corpus=[stem])
    assert seen[0] == stem
    assert sum(schedule.events[:3] == stem.events for schedule in seen) > 3


@pytest.mark.slow
def test_several_processes_make_one_report() -> None:
    report = fuzz(FLAT, examples=60, jobs=2, budget_s=50.0)
    assert report.examples == 60
    assert report.failures == []


def test_shrinking_drops_events_then_lowers_numbers() -> None:
    def fails(schedule: Schedule) -> Sequence[str]:
        picks = [event.pick for event in schedule.events if event.act == "x"]
        return [f"promise 1: {max(picks)}"] if max(picks, default=0) >= 3 else []

    long = Schedule((*[Event("y", 9, 3)] * 7, Event("x", 200, 2), *[Event("z", 9)] * 6), 77, 3)
    short, said = shrink(long, fails(long), fails)
    assert short == Schedule((Event("x", 3),))
    assert said == ("promise 1: 3",)


def test_shrinking_does_not_slip_to_another_failure() -> None:
    def fails(schedule: Schedule) -> Sequence[str]:
        return ["promise 2: other"] if len(schedule.events) < 3 else ["promise 1: this one"]

    long = Schedule(tuple(Event("x") for _ in range(9)))
    assert len(shrink(long, fails(long), fails)[0].events) == 3


def test_failures_are_alike_without_their_ids() -> None:
    one = ["promise 3: numbers [4, 5] were lost before 6 (at rest, sess_abc-1)"]
    other = ["promise 3: numbers [9] were lost before 12 (at rest, sess_xyz_2)"]
    assert likeness(one) == likeness(other) != likeness(["promise 3: numbers came twice"])
    assert likeness([]) == ""
