"""A second counter, which shares nothing with the instrument, agrees with it on the baseline.

It wraps each task's coroutine and counts what it yields: trio takes one step more than a task yields, its last.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any

import pytest
import trio

from interlock.proof import Trial, run_plan, scenario
from tests.proof import toys


class Counted:
    """Awaits a coroutine, and counts its yields."""

    def __init__(self, awaited: Awaitable[Any], yields: list[int]) -> None:
        self.awaited = awaited
        self.yields = yields

    def __await__(self) -> Generator[Any, Any, Any]:
        inner = self.awaited.__await__()
        sent: Any = None
        while True:
            try:
                message = inner.send(sent)
            except StopIteration as stop:
                return stop.value
            self.yields[0] += 1
            sent = yield message


async def counted(yields: list[int], function: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
    return await Counted(function(*arguments), yields)


@pytest.mark.parametrize("naps", [0, 1, 5])
def test_the_steps_of_one_task_are_its_yields(naps: int) -> None:
    yields = [0]

    async def operation() -> None:
        with trio.fail_after(100):
            for nap in range(naps):
                await trio.sleep(nap)
                await trio.lowlevel.cancel_shielded_checkpoint()

    @scenario
    async def alone(trial: Trial) -> None:
        yields[0] = 0
        await trial.operation(counted, yields, operation)

    assert run_plan(alone, ()).index == yields[0]
    assert yields[0] >= 2 * naps


def test_the_steps_of_a_tree_of_tasks_are_their_yields_and_one_more_for_each_child() -> None:
    yields, children = [0], [0]

    async def child(depth: int) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(depth):
                children[0] += 1
                nursery.start_soon(counted, yields, child, depth - 1)
            await trio.sleep(depth)

    @scenario
    async def tree(trial: Trial) -> None:
        yields[0] = children[0] = 0
        await trial.operation(counted, yields, child, 3)

    case = run_plan(tree, ())
    assert children[0] == 3 + 3 * 2 + 3 * 2 * 1
    assert case.index == yields[0] + children[0]


def test_the_toy_has_the_steps_that_it_had() -> None:
    assert run_plan(toys.resuming(toys.correct), ()).index == 5
