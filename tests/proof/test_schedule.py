"""Races that only some orders of the same steps show: they are found and replayed, and none is made up."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from interlock.proof import Limits, Scenario, Trial, Verdict, run_plan, scenario, sweep
from interlock.proof.plan import Phase, parse, text
from interlock.proof.schedule import preemptions

SEEDS = range(6)


def racing(*, steps: int = 1, locked: bool = False, tasks: int = 2) -> Scenario:
    """Tasks that read, wait, and write: an update is lost, if their orders cross."""

    class Count:
        value = 0

    async def add(count: Count, lock: trio.Lock, wait: int) -> None:
        for _ in range(wait):
            await trio.lowlevel.checkpoint()
        async with lock if locked else trio.Lock():
            seen = count.value
            await trio.lowlevel.checkpoint()
            count.value = seen + 1

    async def both(count: Count, lock: trio.Lock) -> None:
        async with trio.open_nursery() as nursery:
            for number in range(tasks):
                nursery.start_soon(add, count, lock, number * steps)

    @scenario
    async def race(trial: Trial) -> None:
        count = Count()
        outcome = await trial.operation(both, count, trio.Lock())
        assert not outcome.returned or count.value == tasks, f"{count.value} of {tasks} were counted"

    return race


def order_matters() -> Scenario:
    """The second task looks for what the first has put there, in the pass in which both are woken."""

    async def put(box: list[str], start: trio.Event) -> None:
        await start.wait()
        box.append("letter")

    async def take(box: list[str], start: trio.Event, taken: list[str]) -> None:
        await start.wait()
        taken += box

    async def deliver(taken: list[str]) -> None:
        box: list[str] = []
        start = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(put, box, start)
            nursery.start_soon(take, box, start, taken)
            await trio.testing.wait_all_tasks_blocked()
            start.set()

    @scenario
    async def letter(trial: Trial) -> None:
        taken: list[str] = []
        outcome = await trial.operation(deliver, taken)
        assert not outcome.returned or taken == ["letter"]

    return letter


def test_a_race_that_the_seed_hides_is_found_by_one_preemption() -> None:
    hidden = [seed for seed in SEEDS if sweep(order_matters(), 0, seed).verdict is Verdict.PASS]
    assert hidden
    for seed in hidden:
        report = sweep(order_matters(), 0, seed, Limits(preemptions=1))
        assert report.verdict is Verdict.FAIL
        plan = report.shortest
        assert plan is not None
        assert [each.phase for each in plan] == [Phase.FIRST]
        again = run_plan(order_matters(), parse(text(plan)), seed=seed)
        assert again.verdict is Verdict.FAIL
        assert "went first, from" in str(again)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_holds_in_every_order_passes(seed: int) -> None:
    report = sweep(racing(locked=True), 1, seed, Limits(preemptions=2))
    assert report.verdict is Verdict.PASS
    assert report.scopes["schedule"].sites > 0


def test_cancels_and_preemptions_are_counted_apart() -> None:
    report = sweep(racing(locked=True, tasks=3), 1, 0, Limits(preemptions=2))
    assert report.lengths[3] > 0
    assert "(depth 1, up to 2 preemptions, seed 0)" in str(report)
    assert sweep(racing(locked=True), 0, 0, Limits(preemptions=0)).plans == 0


def test_every_order_of_three_is_reached_by_two_preemptions() -> None:
    """Three tasks are woken in one pass: six orders, and two preemptions make all of them."""
    orders: set[tuple[int, ...]] = set()

    async def note(number: int, start: trio.Event, order: list[int]) -> None:
        await start.wait()
        order.append(number)

    async def three(order: list[int]) -> None:
        start = trio.Event()
        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(note, number, start, order)
            await trio.testing.wait_all_tasks_blocked()
            start.set()

    @scenario
    async def noting(trial: Trial) -> None:
        order: list[int] = []
        await trial.operation(three, order)
        orders.add(tuple(order))

    assert sweep(noting, 0, 0, Limits(preemptions=2)).verdict is Verdict.PASS
    assert len(orders) == 6


def test_preemptions_are_counted() -> None:
    assert preemptions(parse("first@3:task1,early@4:op,first@9:task2")) == 2
