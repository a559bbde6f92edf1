"""The oracles that come for free: how an operation ended, what it left behind, and which Cancelled never arrived."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Awaitable, Callable

import pytest
import trio

from interlock.proof import Outcome, Trial, Verdict, run_plan, scenario, sweep
from interlock.proof.course import Course
from interlock.proof.judge import Case
from interlock.proof.plan import parse

Operation = Callable[[], Awaitable[object]]


def outcome_of(operation: Operation, plan: str) -> tuple[Outcome, Case]:
    """Run one plan; give the outcome that the scenario saw, and the verdict over it."""
    seen: list[Outcome] = []

    @scenario
    async def told(trial: Trial) -> None:
        seen.append(await trial.operation(operation))

    case = run_plan(told, parse(plan))
    return seen[0], case


async def one_second() -> int:
    await trio.sleep(1)
    return 7


async def cleanup_fails() -> None:
    async def child() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise OSError("cleanup")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(child)
        await trio.sleep(1)
        await trio.sleep(1)
        nursery.cancel_scope.cancel()


async def replaces() -> None:
    try:
        await trio.sleep(1)
    except trio.Cancelled:
        raise OSError("instead") from None


async def swallows_the_first_of_two() -> None:
    with contextlib.suppress(trio.Cancelled):
        await trio.sleep(1)
    await trio.sleep(1)


async def times_out() -> None:
    with trio.move_on_after(1):
        with contextlib.suppress(trio.Cancelled):
            await trio.sleep_forever()


async def rolls_back_unshielded() -> None:
    try:
        await trio.sleep(1)
    except trio.Cancelled:
        await trio.sleep(1)
        raise


def test_an_operation_that_returns() -> None:
    outcome, case = outcome_of(one_second, "")
    assert (outcome.kind, outcome.value, outcome.was_cancelled, outcome.seconds) == ("returned", 7, False, 1.0)
    assert case.verdict is Verdict.PASS


def test_an_operation_that_is_cancelled_in_time_and_one_that_was_woken_before() -> None:
    early, _ = outcome_of(one_second, "early@0:op")
    late, _ = outcome_of(one_second, "late@1:op")
    assert (early.kind, early.seconds) == ("cancelled", 0.0)
    assert (late.kind, late.seconds) == ("cancelled", 1.0), "sleep's own scope had not caught its Cancelled yet"


def test_a_group_with_a_cancel_and_an_error_has_raised() -> None:
    outcome, case = outcome_of(cleanup_fails, "early@0:op")
    assert outcome.raised
    assert outcome.was_cancelled
    assert isinstance(outcome.error, BaseExceptionGroup)
    assert [repr(error) for error in outcome.error.exceptions] == ["OSError('cleanup')"]
    assert case.verdict is Verdict.PASS


def test_an_error_in_place_of_cancelled_fails_only_a_strict_scenario() -> None:
    async def body(trial: Trial) -> None:
        await trial.operation(replaces)

    assert run_plan(scenario(body), parse("early@0:op")).verdict is Verdict.PASS
    strict = run_plan(scenario(strict=True)(body), parse("early@0:op"))
    assert strict.verdict is Verdict.FAIL
    assert "an error took the place of Cancelled: OSError" in strict.findings[0]


def test_a_strict_scenario_may_still_fail_by_itself() -> None:
    async def fails() -> None:
        await trio.sleep(1)
        raise OSError("by itself")

    @scenario(strict=True)
    async def failing(trial: Trial) -> None:
        assert (await trial.operation(fails)).raised or trial.outcome is not None

    assert run_plan(failing, ()).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("operation", "plan", "found"),
    [
        (swallows_the_first_of_two, "early@0:op", "2 raised, 1 neither"),
        (times_out, "", "1 raised, 1 neither"),
        (rolls_back_unshielded, "early@0:op", ""),
        (swallows_the_first_of_two, "", ""),
    ],
)
def test_each_cancelled_must_arrive(operation: Operation, plan: str, found: str) -> None:
    _, case = outcome_of(operation, plan)
    assert case.verdict is (Verdict.FAIL if found else Verdict.PASS)
    assert found in "".join(case.findings)


def test_a_task_that_outlives_the_operation_is_told_unless_it_is_declared() -> None:
    async def body(trial: Trial) -> None:
        async with trio.open_nursery() as nursery:

            async def operation() -> None:
                nursery.start_soon(trio.sleep, 1)
                await trio.lowlevel.checkpoint()

            await trial.operation(operation)

    report = sweep(scenario(body))
    assert "left running: trio.sleep" in report.failures[0].findings[0]
    assert sweep(scenario(leaves_tasks=True)(body)).verdict is Verdict.PASS


def test_a_system_task_that_runs_on_is_told_even_if_tasks_may_be_left() -> None:
    @scenario(leaves_tasks=True)
    async def leaks(trial: Trial) -> None:
        async def operation() -> None:
            trio.lowlevel.spawn_system_task(trio.sleep_forever, name="keeper")
            await trio.lowlevel.checkpoint()

        await trial.operation(operation)

    assert "left running: keeper" in sweep(leaks).failures[0].findings[0]


def test_an_error_of_the_checks_is_a_failure_whatever_its_kind() -> None:
    @scenario
    async def careless(trial: Trial) -> None:
        await trial.operation(one_second)
        raise KeyError("gone")

    assert "the scenario ended with KeyError" in sweep(careless).failures[0].findings[0]


def test_a_real_thread_is_unresolved() -> None:
    release = threading.Event()

    @scenario
    async def threaded(trial: Trial) -> None:
        await trial.operation(trio.to_thread.run_sync, lambda: release.wait(0.3))

    report = sweep(threaded)
    assert report.verdict is Verdict.UNRESOLVED
    assert "a thread is at work" in report.unresolved[0]


def test_an_instrument_that_trio_has_disabled_is_unresolved(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(self: Course, task: trio.lowlevel.Task) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(Course, "after", breaks)
    _, case = outcome_of(one_second, "")
    assert case.verdict is Verdict.UNRESOLVED
    assert "disabled the sweep's instrument" in case.findings[0]


def test_what_ends_the_program_is_not_a_finding() -> None:
    @scenario
    async def interrupted(trial: Trial) -> None:
        await trial.operation(one_second)
        raise KeyboardInterrupt

    with pytest.raises(BaseExceptionGroup) as raised:
        sweep(interrupted)
    assert raised.value.subgroup(KeyboardInterrupt) is not None


def test_cases_in_one_run_see_no_time_and_no_context_of_each_other() -> None:
    times: list[float] = []

    @scenario
    async def clocked(trial: Trial) -> None:
        times.append(trio.current_time())
        await trial.operation(one_second)
        assert trio.current_time() <= 1.0

    assert sweep(clocked, depth=2).verdict is Verdict.PASS
    assert set(times) == {0.0}
    assert len(times) > 5


def test_a_scope_around_the_operation_is_the_callers_and_its_cancel_goes_on() -> None:
    seen: list[Outcome | None] = []

    @scenario
    async def outer(trial: Trial) -> None:
        with trio.move_on_after(10) as scope:
            trial.expose("host", scope)
            await trial.operation(one_second)
        seen.append(trial.outcome)

    case = run_plan(outer, parse("early@0:host"))
    assert case.verdict is Verdict.PASS
    assert seen[0] is not None
    assert seen[0].cancelled
    report = sweep(outer)
    assert report.scopes["host"].sites > 0


def test_a_named_scope_is_cancelled_while_others_step_and_in_what_follows() -> None:
    landed: list[str] = []

    @scenario(scopes=("host",), leaves_tasks=True)
    async def hosted(trial: Trial) -> None:
        async with trio.open_nursery() as nursery:
            trial.expose("host", nursery.cancel_scope)
            done = trio.Event()

            async def work() -> None:
                for _ in range(3):
                    await trio.lowlevel.checkpoint()
                done.set()

            nursery.start_soon(work)
            await trial.operation(done.wait)
            await trial.settle(trio.sleep, 1)
            nursery.cancel_scope.cancel()
        landed.append("checked")

    report = sweep(hosted, depth=2)
    assert report.verdict is Verdict.PASS, str(report)
    assert report.scopes["op"].beside > 0, "the operation waits while a task of the host steps"
    assert report.scopes["host"].late > 0
    assert len(landed) == report.plans + 2


def test_a_deadline_around_the_operation_is_the_callers_and_no_target() -> None:
    @scenario
    async def guarded(trial: Trial) -> None:
        with trio.fail_after(100):
            await trial.operation(trio.lowlevel.checkpoint)

    assert {site.target for site in run_plan(guarded, (), record=True).sites} == {"op"}


def test_what_encloses_the_operation_ends_its_caller_too() -> None:
    went_on: list[str] = []

    @scenario
    async def outer(trial: Trial) -> None:
        with trial.expose("host", trio.CancelScope()):
            await trial.operation(one_second)
            went_on.append("after the operation")

    assert run_plan(outer, parse("early@0:host")).verdict is Verdict.PASS
    assert went_on == []


def test_a_cancel_may_come_while_somebody_else_is_about_to_run() -> None:
    """The op waits and a task of the host has been woken: a cancel then is another order than one after its step."""

    @scenario(leaves_tasks=True)
    async def hosted(trial: Trial) -> None:
        done = trio.Event()

        async def work() -> None:
            await trio.sleep(1)
            done.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            await trial.operation(done.wait)

    sites = [str(site) for site in run_plan(hosted, (), record=True).sites if site.target == "op"]
    assert sites == ["entry@0:op", "early@0:op", "late@1:op", "early@1:op", "late@2:op", "early@2:op", "late@3:op"]
    assert sweep(hosted, depth=2).verdict is Verdict.PASS


def test_a_case_that_was_broken_off_shares_its_run_with_none_after_it() -> None:
    runs: list[int] = []
    cleaned: list[str] = []

    @scenario
    async def stubborn(trial: Trial) -> None:
        token = trio.lowlevel.current_trio_token()
        if token not in tokens:
            tokens.append(token)
        runs.append(tokens.index(token))

        async def operation() -> None:
            try:
                await trio.lowlevel.checkpoint()
            except BaseException:
                with trio.CancelScope(shield=True):
                    try:
                        await trio.sleep_forever()
                    finally:
                        cleaned.append("its finally ran, since the shield was lifted")
                raise

        await trial.operation(operation)

    tokens: list[trio.lowlevel.TrioToken] = []
    report = sweep(stubborn)
    assert {str(case.plan[0]) for case in report.failures} == {"entry@0:op", "early@0:op", "late@1:op"}
    assert runs == [0, 0, 1, 2, 3, 4, 5, 6], "two baselines, and each failure twice"
    assert len(cleaned) == 6
