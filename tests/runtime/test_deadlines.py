"""Deadlines come in order of time, once, and not when they were taken back."""

from __future__ import annotations

import trio

from interlock.runtime.deadlines import Deadlines


async def test_deadlines_come_in_order_of_time_however_they_were_armed(nursery: trio.Nursery) -> None:
    deadlines: Deadlines[str] = Deadlines()
    fired: list[tuple[str, float]] = []
    start = trio.current_time()
    deadlines.arm("late", 9.0)
    nursery.start_soon(deadlines.run, lambda name: fired.append((name, trio.current_time() - start)))
    await trio.sleep(1.0)
    deadlines.arm("soon", 2.0)
    deadlines.arm("never", 4.0)
    deadlines.disarm("never")
    deadlines.disarm("unknown")
    await trio.sleep(20.0)
    assert fired == [("soon", 3.0), ("late", 9.0)]


async def test_a_deadline_that_is_moved_back_comes_once_at_its_new_time(nursery: trio.Nursery) -> None:
    deadlines: Deadlines[str] = Deadlines()
    fired: list[float] = []
    start = trio.current_time()
    nursery.start_soon(deadlines.run, lambda _: fired.append(trio.current_time() - start))
    for _ in range(5):
        deadlines.arm("heartbeat", 5.0)
        await trio.sleep(4.0)
    await trio.sleep(100.0)
    assert fired == [21.0]


async def test_of_two_that_are_due_together_the_first_may_disarm_the_second(nursery: trio.Nursery) -> None:
    deadlines: Deadlines[str] = Deadlines()
    fired: list[str] = []

    def fire(name: str) -> None:
        fired.append(name)
        deadlines.disarm("second")

    deadlines.arm("first", 1.0)
    deadlines.arm("second", 1.0)
    nursery.start_soon(deadlines.run, fire)
    await trio.sleep(5.0)
    assert fired == ["first"]
