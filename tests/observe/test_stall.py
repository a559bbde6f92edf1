from __future__ import annotations

import pytest
import trio
import trio.testing

from interlock.observe.stall import TICK_S, Stall


async def test_a_stall_is_what_the_tick_was_late(nursery: trio.Nursery, clock: trio.testing.MockClock) -> None:
    stall = Stall()
    nursery.start_soon(stall.run)
    await trio.sleep(0.1)
    assert stall.take_ms() == 0
    clock.jump(0.2)
    await trio.sleep(0.1)
    assert stall.take_ms() == pytest.approx((0.2 - TICK_S) * 1000, abs=TICK_S * 1000)
    assert stall.take_ms() == 0


async def test_a_stall_that_is_only_just_over_counts(nursery: trio.Nursery, clock: trio.testing.MockClock) -> None:
    stall = Stall()
    nursery.start_soon(stall.run)
    await trio.sleep(0.1)
    clock.jump(0.2)
    assert stall.take_ms() == pytest.approx(200, abs=TICK_S * 1000)


def test_nothing_was_watched() -> None:
    with pytest.raises(RuntimeError):
        Stall().take_ms()
