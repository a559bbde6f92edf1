"""Running cases: deterministic, at virtual time, many of them in one ``trio.run``.

An empty ``trio.run`` costs more than a short case, so cases share one. Each starts as the first did: in a task of its
own (and so with context variables of its own), with the clock at 0 and the scheduler's draws from the start. A case
that had to be broken off ends its ``trio.run`` too, and the next one begins in a fresh one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import trio
import trio.testing

from interlock.proof import trio_internals
from interlock.proof.course import Course, Traced
from interlock.proof.judge import Case, judge
from interlock.proof.plan import Plan
from interlock.proof.scenario import Scenario
from interlock.proof.trial import Misused, Trial
from interlock.proof.verdict import Limits, Verdict
from interlock.proof.watch import Watch


class Request(NamedTuple):
    """A plan to run: also note what else could be injected (``record``), and every step (``trace``).

    ``steps`` is the limit of this case, where that is less than what the sweep allows any.
    """

    plan: Plan
    record: bool = False
    trace: bool = False
    steps: int | None = None


Take: TypeAlias = Callable[[Case, list[Traced] | None], None]


def run_all(scenario: Scenario, requests: Iterator[Request], take: Take, *, seed: int, limits: Limits) -> None:
    """Run each request, in order, and hand over its case before the next one is asked for.

    Raises :class:`trio_internals.TrioChanged` under a trio that hides what we need, and :class:`Misused` in a run.
    """
    trio_internals.require()
    if trio.lowlevel.in_trio_run():
        raise Misused("a sweep runs trio itself, many times: call it from a plain function")
    with trio_internals.deterministic() as draws:
        while _loop(scenario, requests, take, seed, limits, draws):
            pass


def run_plan(
    scenario: Scenario, plan: Plan, *, seed: int = 0, limits: Limits | None = None, record: bool = False
) -> Case:
    """Replay one plan, and note where everybody waited."""
    cases: list[Case] = []
    requests = iter([Request(plan, record, trace=True)])
    run_all(scenario, requests, lambda case, _: cases.append(case), seed=seed, limits=limits or Limits())
    return cases[0]


def _loop(
    scenario: Scenario, requests: Iterator[Request], take: Take, seed: int, limits: Limits, draws: trio_internals.Draws
) -> bool:
    """Run cases in one ``trio.run`` until there are no more, or one has spoilt it; return whether there may be more."""
    watch, clock = Watch(), trio.testing.MockClock(autojump_threshold=0)

    async def main() -> bool:
        for request in requests:
            trio_internals.restart(clock, seed)
            course = Course(request.plan, limits, record=request.record, trace=request.trace)
            draws.order = course.schedule.order if course.schedule is not None else None
            course.budget = limits.steps if request.steps is None else min(limits.steps, request.steps)
            case = await _case(scenario, course, watch)
            draws.order = None
            take(case, course.trace)
            if case.spoilt or not limits.shared:
                return True
        return False

    return trio.run(main, clock=clock, instruments=[watch])


async def _case(scenario: Scenario, course: Course, watch: Watch) -> Case:
    trial = Trial(course)
    errors: list[Exception] = []
    watch.follow(course)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_scene, scenario, trial, course, errors, name=scenario.name)
    except BaseException as error:  # a case that was broken off may end in anything; what ends the program goes on
        if not course.stopped or _ends_the_program(error):
            raise
    finally:
        watch.rest()
    case = judge(scenario, course, trial, errors[0] if errors else None, trio_internals.is_installed(watch))
    case.spoilt = bool(course.stopped or course.ours or case.verdict is Verdict.UNRESOLVED)
    return case


async def _scene(scenario: Scenario, trial: Trial, course: Course, errors: list[Exception]) -> None:
    """Run the scenario as a task of its own, and keep the error that it ends with."""
    course.adopt(trio.lowlevel.current_task())
    with course.root:
        try:
            await scenario.body(trial)
        except BaseException as error:  # this is the harness's capture of the outcome
            if not isinstance(error, Exception):
                raise
            errors.append(error)
        finally:
            course.end()


def _ends_the_program(error: BaseException) -> bool:
    group = error if isinstance(error, BaseExceptionGroup) else BaseExceptionGroup("", [error])
    return group.subgroup((KeyboardInterrupt, SystemExit)) is not None
