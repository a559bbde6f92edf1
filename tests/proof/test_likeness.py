"""Cases that came to the same are extended once; what might differ is not taken for the same."""

from __future__ import annotations

from collections.abc import Hashable

import pytest
import trio

from interlock.proof import Limits, Scenario, Trial, Verdict, run_plan, scenario, sweep
from interlock.proof.plan import parse
from interlock.proof.scenarios import SCENARIOS
from tests.proof import toys

EVERY = Limits(merge=False)


@pytest.mark.parametrize("name", ["open", "idle", "close_dies", "grace_late"])
def test_what_is_spared_is_exactly_what_would_have_been_run(name: str) -> None:
    merged, every = sweep(SCENARIOS[name], 2), sweep(SCENARIOS[name], 2, limits=EVERY)
    assert (merged.verdict, every.verdict) == (Verdict.PASS, Verdict.PASS)
    assert merged.plans + merged.merged == every.plans
    assert merged.merged > 0


def counting(*, revealed: bool, honest: bool = True) -> Scenario:
    """A shielded count: a cancel between its steps changes nothing, until it is over."""

    async def count(seen: list[int]) -> None:
        with trio.CancelScope(shield=True):
            for number in range(3):
                await trio.lowlevel.checkpoint()
                seen.append(number)
        await trio.lowlevel.checkpoint()

    @scenario
    async def counted(trial: Trial) -> None:
        seen: list[int] = []
        if revealed:
            state: Hashable = object()
            trial.reveal(lambda: len(seen) if honest else state)
        await trial.operation(count, seen)

    return counted


def test_only_a_scenario_that_reveals_its_state_is_merged() -> None:
    plain, revealed = sweep(counting(revealed=False), 2), sweep(counting(revealed=True), 2)
    assert plain.merged == 0
    assert revealed.plans + revealed.merged == plain.plans


def test_unequal_states_are_two_cases_even_where_the_steps_are_equal() -> None:
    assert sweep(counting(revealed=True, honest=False), 2).merged == 0


def likeness(swept: Scenario, plan: str) -> int | None:
    return run_plan(swept, parse(plan), record=True).likeness


def test_the_scope_that_was_cancelled_is_part_of_it() -> None:
    async def nap() -> None:
        for seconds in (0.1, 0.2):
            with trio.move_on_after(10), trio.CancelScope(shield=True):
                await trio.sleep(seconds)

    @scenario
    async def napping(trial: Trial) -> None:
        trial.reveal(lambda: None)
        await trial.operation(nap)

    found = {
        plan: likeness(napping, plan) for plan in ("early@1:timer2", "late@2:timer2", "early@2:timer2", "early@1:op")
    }
    assert found["early@1:timer2"] == found["late@2:timer2"] is not None
    assert len(set(found.values())) == 3, "two scopes at the same depth are two scopes"


def test_a_failure_that_only_a_later_pair_shows_is_still_found() -> None:
    swept = toys.resuming(toys.shield_torn_by_its_deadline)

    async def revealing(trial: Trial) -> None:
        trial.reveal(lambda: None)  # nothing is known of its state; the steps alone tell its cases apart
        await swept.body(trial)

    assert sweep(Scenario("torn", revealing), 1).verdict is Verdict.PASS
    assert sweep(Scenario("torn", revealing), 2).verdict is Verdict.FAIL


def test_the_report_says_how_many_were_spared() -> None:
    report = sweep(SCENARIOS["idle"], 2)
    assert f"; {report.merged} more would come to the same" in str(report)
    assert report.as_json()["plans_alike"] == report.merged
