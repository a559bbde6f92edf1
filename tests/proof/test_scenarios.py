"""The gate: each operation of a session is cut at every step, beside every fault; without a fault, in pairs as well."""

from __future__ import annotations

import pytest

from interlock.proof import Report, Verdict, run_plan, sweep
from interlock.proof.plan import parse
from interlock.proof.scenarios import OPERATIONS, PLAIN, SCENARIOS

REACHED = {"reconnect": ("transport.send", "delivery"), "takeover": ("transport.send", "delivery")}


def assert_all_held(report: Report) -> None:
    assert report.verdict is Verdict.PASS, str(report)
    assert report.plans > 0


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name not in PLAIN])
def test_beside_a_fault(name: str) -> None:
    assert_all_held(sweep(SCENARIOS[name], 1))


@pytest.mark.slow
@pytest.mark.timeout_s(300)
@pytest.mark.parametrize("name", PLAIN)
def test_in_pairs(name: str) -> None:
    report = sweep(SCENARIOS[name], 2)
    assert_all_held(report)
    assert report.lengths[2] > report.lengths[1], "pairs"
    for scope in REACHED.get(name, ()):
        assert report.scopes[scope].sites > 0


def test_the_canonical_cases_are_cut_in_activation_in_replay_and_in_the_wait_of_the_caller() -> None:
    for name in ("takeover", "reconnect", "reconnect_midway"):
        reached = {place.rpartition(":")[0].rpartition("/")[2] for place in sweep(SCENARIOS[name], 1).awaits}
        assert {"delivery.py", "waiter.py", "memory.py"} <= reached


def test_every_operation_is_there_once_and_beside_its_faults() -> None:
    assert len(SCENARIOS) == sum(len(operation.faults) for operation in OPERATIONS)
    assert len(set(PLAIN)) == len(OPERATIONS)


@pytest.mark.parametrize(("name", "plan"), [("close_dies", "late@1:host,early@7:timer1")])
def test_found_once_and_mended(name: str, plan: str) -> None:
    """A shutdown that was cut by its own deadline left a session without its terminal event."""
    case = run_plan(SCENARIOS[name], parse(plan))
    assert case.verdict is Verdict.PASS, str(case)
