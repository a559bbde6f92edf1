"""Ctrl-C comes at any instruction. Inside a dispatch it waits until what began is whole."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
import trio
import trio.testing

from interlock.machine import Message
from interlock.runtime.driver import Driver
from interlock.runtime.perform import perform
from tests.runtime.stage_play import play


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Python's own handler, beside which trio puts its: a server that ran in this process may have left another."""
    left = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, left)


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_from_the_keyboard_waits_for_the_end_of_a_dispatch(monkeypatch: pytest.MonkeyPatch) -> None:
    performed: list[str] = []

    def interrupted(driver: Driver, effect: Message) -> None:
        signal.raise_signal(signal.SIGINT)
        perform(driver, effect)
        performed.append(type(effect).__name__)

    async def main() -> None:
        async with play() as scene:
            session, _ = await scene.open()
            value = scene.driver(session).value
            monkeypatch.setattr("interlock.runtime.driver.perform", interrupted)
            session.barge_in()
            monkeypatch.undo()
            assert scene.driver(session).value.epoch == value.epoch + 1
            assert "AdvanceEpoch" in performed
            with pytest.raises(KeyboardInterrupt):
                await trio.lowlevel.checkpoint()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
