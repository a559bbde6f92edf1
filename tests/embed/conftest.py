"""How tests of the embedded runtime run: each on asyncio and on uvloop, in a loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.embed.scene import Run

LOOPS = ("asyncio", "uvloop")


def factory(name: str) -> Callable[[], asyncio.AbstractEventLoop]:
    """Return what makes a loop of this kind."""
    if name == "asyncio":
        return asyncio.new_event_loop
    uvloop = pytest.importorskip("uvloop", reason="uvloop is not installed")
    made: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return made


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Run:
    """Give what runs a coroutine function to its end, as ``asyncio.run`` does."""

    def go(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
        with asyncio.Runner(loop_factory=factory(request.param)) as runner:
            runner.run(main())

    return go
