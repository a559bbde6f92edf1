"""Cases in several processes come to the same, in the same order; and a process that is ended is told."""

from __future__ import annotations

import os

import pytest
import trio

from interlock.errors import WorldError
from interlock.proof import Limits, Report, Scenario, Trial, scenario, spread, sweep
from interlock.proof.plan import Phase, injection, parse
from interlock.proof.run import Request
from interlock.proof.spread import FEW, cores, run_spread
from tests.proof import toys
from tests.proof.toys import Resume, resuming


def told(report: Report) -> dict[str, object]:
    return {name: value for name, value in report.as_json().items() if name != "seconds"}


@pytest.mark.parametrize("planted", [toys.correct, toys.unshielded_rollback])
def test_two_processes_report_what_one_does(planted: Resume, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "FEW", 1)
    one, two = (sweep(resuming(planted, ports=True), depth=2, jobs=jobs) for jobs in (1, 2))
    assert told(one) == told(two)
    assert str(one).splitlines()[4:] == str(two).splitlines()[4:]


def test_a_limit_on_plans_holds_in_several_processes() -> None:
    report = sweep(resuming(toys.correct), depth=2, limits=Limits(plans=130), jobs=2)
    assert report.plans == 130
    assert report.unresolved == ["incomplete: stopped after 130 plans, the limit"]


def test_cases_come_back_in_the_order_of_their_requests() -> None:
    plans = [parse(f"early@{1 + number % 9}:op") for number in range(2 * FEW)]
    requests = [Request(plan) for plan in plans]
    found = run_spread(resuming(toys.correct), requests, seed=0, limits=Limits(), jobs=2)
    assert [case.plan for case, _ in found] == plans


def test_an_injection_from_another_process_is_the_one_shared_object() -> None:
    requests = [Request(parse("early@3:op"))] * FEW
    for case, _ in run_spread(resuming(toys.correct), requests, seed=0, limits=Limits(), jobs=2):
        assert case.plan[0] is injection(Phase.EARLY, 3, "op")


def killing(parent: int) -> Scenario:
    @scenario
    async def ends_its_process(trial: Trial) -> None:
        await trial.operation(trio.sleep, 1)
        if os.getpid() != parent:
            os._exit(9)

    return ends_its_process


def test_a_process_that_is_ended_from_outside_is_an_error_of_one_line() -> None:
    requests = [Request(())] * FEW
    with pytest.raises(WorldError, match=r"a process of the sweep of \S*ends_its_process was ended"):
        list(run_spread(killing(os.getpid()), requests, seed=0, limits=Limits(), jobs=2))


def test_zero_jobs_are_one_for_each_core() -> None:
    assert (cores(), cores(3)) == (os.cpu_count(), 3)
