"""Where a cancel of a wait lands: in its delivery, or, once the outcome is there, nowhere."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from interlock.runtime.waiter import Waiter


async def test_a_result_that_is_there_already_is_returned_without_waiting() -> None:
    waiter: Waiter[int] = Waiter()
    waiter.succeed(7)
    waiter.succeed(8)
    waiter.fail(ValueError())
    assert await waiter.wait(lambda: pytest.fail("nothing was cancelled")) == 7


async def test_an_error_is_raised_to_the_one_who_waits(nursery: trio.Nursery) -> None:
    waiter: Waiter[int] = Waiter()
    nursery.start_soon(trio.testing.wait_all_tasks_blocked)
    trio.lowlevel.current_trio_token().run_sync_soon(waiter.fail, KeyError("lost"))
    with pytest.raises(KeyError, match="lost"):
        await waiter.wait(lambda: pytest.fail("nothing was cancelled"))


async def test_an_early_cancel_lands_inside_the_call_that_cancels(nursery: trio.Nursery) -> None:
    waiter: Waiter[int] = Waiter()
    scope, log = trio.CancelScope(), []

    async def wait() -> None:
        with scope:
            await waiter.wait(lambda: log.append("landed"))
        log.append(f"caught {scope.cancelled_caught}")

    nursery.start_soon(wait)
    await trio.testing.wait_all_tasks_blocked()
    scope.cancel()
    assert (log, waiter.is_settled) == (["landed"], True)
    waiter.succeed(1)
    scope.cancel()
    await trio.testing.wait_all_tasks_blocked()
    assert log == ["landed", "caught True"]


async def test_a_cancel_after_the_outcome_and_before_the_task_runs_returns_the_outcome(nursery: trio.Nursery) -> None:
    waiter: Waiter[int] = Waiter()
    scope, log = trio.CancelScope(), []

    async def wait() -> None:
        with scope:
            log.append(await waiter.wait(lambda: pytest.fail("it was committed")))

    nursery.start_soon(wait)
    await trio.testing.wait_all_tasks_blocked()
    waiter.succeed(1)
    scope.cancel()
    await trio.testing.wait_all_tasks_blocked()
    assert log == [1]
    assert not scope.cancelled_caught


async def test_a_deadline_lands_once_however_often_it_is_cancelled_again() -> None:
    waiter: Waiter[int] = Waiter()
    landings: list[float] = []
    with trio.CancelScope() as outer, trio.move_on_after(3.0), trio.move_on_after(3.0):
        try:
            await waiter.wait(lambda: landings.append(trio.current_time()))
        finally:
            outer.cancel()
    assert landings == [pytest.approx(trio.current_time())]
