"""The gate: each operation of a session is cut at every step, beside every fault; without a fault, in pairs as well."""

from __future__ import annotations

import pytest

from interlock.proof import Limits, Report, Verdict, run_plan, sweep
from interlock.proof.plan import parse
from interlock.proof.scenarios import OPERATIONS, PLAIN, RACES, RACING, SCENARIOS
from interlock.proof.schedule import preemptions

REACHED = {"reconnect": ("transport.send", "delivery"), "takeover": ("transport.send", "delivery")}


def assert_all_held(report: Report) -> None:
    assert report.verdict is Verdict.PASS, str(report)
    assert report.plans > 0


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name not in RACING])
def test_at_every_step(name: str) -> None:
    assert_all_held(sweep(SCENARIOS[name], 1))


@pytest.mark.gate
@pytest.mark.timeout_s(300)
@pytest.mark.parametrize("name", PLAIN)
def test_in_pairs(name: str) -> None:
    report = sweep(SCENARIOS[name], 2)
    assert_all_held(report)
    assert report.lengths[2] > report.lengths[1], "pairs"
    for scope in REACHED.get(name, ()):
        assert report.scopes[scope].sites > 0


@pytest.mark.parametrize("name", RACING)
def test_in_every_order_that_two_preemptions_make(name: str) -> None:
    assert_all_held(sweep(SCENARIOS[name], 0, limits=Limits(preemptions=2)))


def test_resume_and_expiry_race_and_either_may_win() -> None:
    swept = SCENARIOS["race_resume_grace"]
    plans = [(), *((site,) for site in run_plan(swept, (), record=True, limits=Limits(preemptions=1)).sites)]
    cases = [run_plan(swept, plan) for plan in plans if preemptions(plan) == len(plan)]
    assert all(case.verdict is Verdict.PASS for case in cases)
    assert len({case.steps for case in cases}) > 1


def test_the_canonical_cases_are_cut_in_activation_in_replay_and_in_the_wait_of_the_caller() -> None:
    for name in ("takeover", "reconnect", "reconnect_midway"):
        reached = {place.rpartition(":")[0].rpartition("/")[2] for place in sweep(SCENARIOS[name], 1).awaits}
        assert {"writer.py", "waiter.py", "memory.py"} <= reached


def test_every_operation_is_there_once_and_beside_its_faults() -> None:
    assert len(SCENARIOS) == sum(len(operation.faults) for operation in (*OPERATIONS, *RACES))
    assert len(set(PLAIN)) == len(OPERATIONS)


@pytest.mark.parametrize(("name", "plan"), [("close_dies", "late@1:host,early@8:timer1")])
def test_found_once_and_mended(name: str, plan: str) -> None:
    """A shutdown that was cut by its own deadline left a session without its terminal event."""
    case = run_plan(SCENARIOS[name], parse(plan))
    assert case.verdict is Verdict.PASS, str(case)
