"""A rate with a burst; and how many a client holds."""

from __future__ import annotations

import math

from interlock.transport.crowd import Crowd
from interlock.transport.meter import Meter


def test_a_burst_passes_then_the_rate_holds() -> None:
    meter = Meter(10, 2, now=0)
    assert [meter.take(1, now=0) for _ in range(21)] == [True] * 20 + [False]
    assert not meter.take(1, now=0.1)
    assert meter.take(1, now=0.31)
    assert [meter.take(5, now=60), meter.take(15, now=60), meter.take(0.5, now=60)] == [True, True, False]


def test_no_rate_is_no_limit() -> None:
    meter = Meter(math.inf, 10, now=0)
    assert all(meter.take(10**12, now=0) for _ in range(10))


def test_a_crowd_counts_each_apart_and_forgets_who_left() -> None:
    crowd = Crowd(2)
    assert [crowd.enter("a"), crowd.enter("a"), crowd.enter("a"), crowd.enter("b")] == [True, True, False, True]
    for name in ("a", "a", "a", "b"):
        crowd.leave(name)
    assert len(crowd) == 0
    assert crowd.enter("a")
