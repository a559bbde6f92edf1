"""Random walks over `decide`: whatever the world does, in whatever order, no promise breaks and no state is undeclared.

A walk is a list of small numbers, so that it shrinks. Events are made from what the world can see: ids that exist,
that existed, generations and epochs now and before. This is not the explorer: it samples.
"""

from __future__ import annotations

from hypothesis import given, settings, strategies

from tests.session.walk import Walk

STEPS = strategies.lists(strategies.integers(0, 10_000), max_size=120)


@given(STEPS)
@settings(max_examples=400, deadline=None)
def test_every_walk_keeps_the_promises_and_can_end(steps: list[int]) -> None:
    walk = Walk()
    for number in steps:
        walk.step(number)
    walk.settle()
