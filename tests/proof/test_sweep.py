"""Each planted fault is found, at the depth at which it can be, and the correct toy is not accused."""

from __future__ import annotations

import random

import pytest
import trio

from interlock.proof import Limits, Misused, Trial, Verdict, run_plan, scenario, sweep
from interlock.proof.plan import Phase, parse, text
from tests.proof import toys
from tests.proof.toys import Resume, resuming

FOUND_AT_1: list[tuple[Resume, type[toys.Leases], str]] = [
    (toys.except_exception, toys.Leases, "1 leases are out"),
    (toys.unshielded_rollback, toys.Leases, "1 leases are out"),
    (toys.checkpoint_after_commit, toys.Leases, "cancelled, but attached is True"),
    (toys.double_release, toys.Leases, "-1 leases are out"),
    (toys.correct, toys.HastyLeases, "1 leases are out"),
    (toys.swallows, toys.Leases, "Cancelled was swallowed"),
    (toys.hangs_when_cancelled, toys.Leases, "a deadlock"),
    (toys.never_settles_when_cancelled, toys.Leases, "a livelock"),
]


def test_the_correct_toy_passes_at_depth_2() -> None:
    report = sweep(resuming(toys.correct), depth=2)
    assert report.verdict is Verdict.PASS, str(report)
    assert report.counts[Verdict.PASS] == report.plans + 1
    assert report.unresolved == []


def test_the_correct_toy_passes_at_depth_2_with_faulty_ports() -> None:
    report = sweep(resuming(toys.correct, ports=True), depth=2)
    assert report.verdict is Verdict.PASS, str(report)
    assert report.scopes["leases.acquire"].fault > 0
    assert report.scopes["leases.release"].fault > 0


@pytest.mark.parametrize(("resume", "leases", "finding"), FOUND_AT_1)
def test_a_planted_fault_is_found_with_one_injection(resume: Resume, leases: type[toys.Leases], finding: str) -> None:
    report = sweep(resuming(resume, leases), depth=1)
    assert report.verdict is Verdict.FAIL
    assert finding in "\n".join(found for case in report.failures for found in case.findings)


def test_a_cleanup_torn_by_its_own_deadline_is_found_with_two_injections_only() -> None:
    toy = resuming(toys.shield_torn_by_its_deadline)
    assert sweep(toy, depth=1).verdict is Verdict.PASS
    report = sweep(toy, depth=2)
    assert report.verdict is Verdict.FAIL
    assert report.shortest is not None
    assert [injection.family for injection in report.shortest] == ["op", "timer"]


def test_a_shield_without_a_deadline_is_found_when_its_port_hangs() -> None:
    toy = resuming(toys.shield_without_deadline, ports=True)
    report = sweep(toy, depth=2, limits=Limits(kept=1000))
    hung = [case for case in report.failures if case.plan[-1].phase is Phase.HANG]
    assert hung
    assert {case.plan[-1].target for case in hung} == {"leases.release"}
    assert all("a deadlock" in case.findings[0] for case in hung)


def test_a_failure_names_the_place_and_a_plan_that_replays_it() -> None:
    toy = resuming(toys.except_exception)
    report = sweep(toy)
    assert report.shortest is not None
    told = str(report)
    assert f"`{report.failures[0].landings[0].place.source}`" in told
    assert "toys.py:" in told
    replayed = run_plan(toy, parse(text(report.shortest)))
    assert replayed.verdict is Verdict.FAIL
    assert replayed.findings == report.failures[0].findings
    assert replayed.landings == report.failures[0].landings


def test_a_deadlock_of_the_baseline_is_told_and_not_spun() -> None:
    report = sweep(resuming(toys.hangs))
    assert report.verdict is Verdict.FAIL
    assert report.plans == 0
    assert "a deadlock: no deadline is left" in str(report)
    assert "toys.py:" in report.failures[0].findings[0]


def test_a_baseline_over_its_steps_is_unresolved() -> None:
    report = sweep(resuming(toys.never_settles), limits=Limits(steps=300))
    assert report.verdict is Verdict.UNRESOLVED
    assert "a livelock: not settled after 300 steps" in report.unresolved[0]


def test_a_scenario_that_draws_lots_is_unresolved() -> None:
    @scenario
    async def lottery(trial: Trial) -> None:
        async def operation() -> None:
            for _ in range(next(draws)):
                await trio.lowlevel.checkpoint()

        await trial.operation(operation)

    draws = iter(random.Random(7).sample(range(1, 50), 49))
    report = sweep(lottery)
    assert report.verdict is Verdict.UNRESOLVED
    assert report.plans == 0
    assert "not reproducible: one run took" in report.unresolved[0]


def test_a_failure_that_does_not_come_twice_is_unresolved() -> None:
    @scenario
    async def fickle(trial: Trial) -> None:
        outcome = await trial.operation(trio.lowlevel.checkpoint)
        assert outcome.returned or next(luck)

    luck = iter([False, True] * 20)
    report = sweep(fickle)
    assert report.verdict is Verdict.UNRESOLVED
    assert report.counts[Verdict.FAIL] == 0
    assert "not reproducible" in report.unresolved[0]


@pytest.mark.parametrize(
    "plan", ["early@999:op", "late@2:nobody", "late@1:timer9", "raise@1:nobody.send", "late@1:op,late@2:op"]
)
def test_an_injection_that_cannot_fire_is_unresolved(plan: str) -> None:
    case = run_plan(resuming(toys.correct), parse(plan))
    assert case.verdict is Verdict.UNRESOLVED
    assert "did not fire" in case.findings[0]


async def idle(_trial: Trial) -> None:
    """A scenario without an operation."""


async def broken(trial: Trial) -> None:
    trial.expose("op", trio.CancelScope())


async def thoughtless(trial: Trial) -> None:
    async def operation() -> None:
        pass

    await trial.operation(operation)


def test_a_set_up_that_fails_is_unresolved() -> None:
    assert "the set-up failed: Misused" in sweep(broken).unresolved[0]


def test_a_scenario_without_an_operation_is_unresolved() -> None:
    assert "it never called trial.operation" in sweep(idle).unresolved[0]


def test_an_operation_without_a_checkpoint_is_unresolved() -> None:
    report = sweep(thoughtless)
    assert report.verdict is Verdict.UNRESOLVED
    assert report.unresolved == ["scope op had no site at all, so nothing is known about it"]


def test_a_named_scope_without_a_site_is_unresolved() -> None:
    @scenario
    async def quiet(trial: Trial) -> None:
        trial.expose("host", trio.CancelScope())
        await trial.operation(trio.lowlevel.checkpoint)

    report = sweep(quiet)
    assert report.verdict is Verdict.UNRESOLVED
    assert report.unresolved == ["scope host had no site at all, so nothing is known about it"]


def test_a_declared_scope_that_never_comes_is_unresolved() -> None:
    @scenario(scopes=("delivery",))
    async def absent(trial: Trial) -> None:
        await trial.operation(trio.lowlevel.checkpoint)

    assert sweep(absent).unresolved == ["scope delivery had no site at all, so nothing is known about it"]


def test_a_sweep_over_its_limit_is_unresolved() -> None:
    report = sweep(resuming(toys.correct), depth=2, limits=Limits(plans=30))
    assert report.verdict is Verdict.UNRESOLVED
    assert report.plans == 30
    assert "incomplete: stopped after 30 plans, the limit" in report.unresolved


def test_no_scope_is_cancelled_twice_and_no_nursery_at_all() -> None:
    targets: set[str] = set()
    report = sweep(resuming(toys.correct), depth=2)
    targets.update(report.scopes)
    assert targets == {"op", "timer"}
    toy = resuming(toys.except_exception)
    wide = sweep(toy, depth=3, limits=Limits(kept=10_000))
    assert all([i.target for i in case.plan].count("op") <= 1 for case in wide.failures)


def test_one_shared_run_and_a_run_for_each_case_agree() -> None:
    for resume in (toys.correct, toys.except_exception, toys.shield_torn_by_its_deadline):
        shared = sweep(resuming(resume), depth=2).as_json()
        alone = sweep(resuming(resume), depth=2, limits=Limits(shared=False)).as_json()
        assert shared | {"seconds": 0} == alone | {"seconds": 0}


def test_the_same_seed_gives_the_same_report() -> None:
    first, second = (sweep(resuming(toys.correct), depth=2, seed=5).as_json() for _ in range(2))
    assert first | {"seconds": 0} == second | {"seconds": 0}


async def test_a_sweep_inside_trio_is_refused() -> None:
    with pytest.raises(Misused, match="call it from a plain function"):
        sweep(resuming(toys.correct))
