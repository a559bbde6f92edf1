"""The canary: which private name of trio the sweep stands on, what it is needed for, and what says that it is gone."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from trio._core import _run

from interlock.proof import sweep
from interlock.proof import trio_internals as internals
from tests.proof import toys


def test_this_trio_has_every_name() -> None:
    assert internals.missing() == [], f"trio {trio.__version__} has renamed these: adapt proof/trio_internals.py"


@pytest.mark.parametrize("name", [internals.FLAG, internals.DRAWS, "CancelStatus"])
def test_a_name_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delattr(_run, name)
    assert all(f"trio._core._run.{name}" in lost for lost in internals.missing())
    with pytest.raises(internals.TrioChanged, match=f"no longer has trio._core._run.{name}"):
        sweep(toys.resuming(toys.correct))


@pytest.mark.parametrize("flag", [False, True])
def test_the_flag_is_set_and_put_back(monkeypatch: pytest.MonkeyPatch, flag: bool) -> None:
    monkeypatch.setattr(_run, internals.FLAG, flag)
    with internals.deterministic():
        assert getattr(_run, internals.FLAG) is True
    assert getattr(_run, internals.FLAG) is flag


def test_the_flag_and_the_draws_make_the_schedule_and_are_put_back() -> None:
    async def order() -> list[int]:
        ran: list[int] = []

        async def run(number: int) -> None:
            ran.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(run, number)
        return ran

    async def orders() -> list[list[int]]:
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, trio.testing.MockClock)
        found = []
        for seed in (1, 1, 2):
            internals.restart(clock, seed)
            found.append(await order())
        return found

    flag, state = getattr(_run, internals.FLAG), getattr(_run, internals.DRAWS).getstate()
    with internals.deterministic():
        first, again, other = trio.run(orders, clock=trio.testing.MockClock())
    assert first == again != other
    assert getattr(_run, internals.FLAG) is flag
    assert getattr(_run, internals.DRAWS).getstate() == state


async def test_the_scopes_of_a_task_from_the_inside_out() -> None:
    with trio.CancelScope() as outer, trio.CancelScope(shield=True) as inner:
        await trio.lowlevel.checkpoint()
        found = list(internals.scopes(trio.lowlevel.current_task()))
        assert found[:2] == [inner, outer]
        assert internals.is_live(inner)
        outer.cancel()
        assert not internals.is_live(outer)
        assert internals.homes(trio.lowlevel.current_task(), trio.CancelScope()) == [], "the shield hides it"
        inner.shield = False
        assert internals.homes(trio.lowlevel.current_task(), trio.CancelScope())[0] is outer
    assert not internals.is_live(inner)


async def test_the_cancelled_that_a_step_starts_with() -> None:
    class Looks(trio.abc.Instrument):
        def before_task_step(self, task: trio.lowlevel.Task) -> None:
            seen.append(internals.delivered(task))

    seen: list[trio.Cancelled | None] = []
    looks = Looks()
    trio.lowlevel.add_instrument(looks)
    assert internals.is_installed(looks)
    caught = None
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.sleep_forever()
        except trio.Cancelled as error:
            caught = error
            raise
    trio.lowlevel.remove_instrument(looks)
    assert not internals.is_installed(looks)
    assert [cancelled for cancelled in seen if cancelled is not None] == [caught]


async def test_a_task_that_catches_everything_can_be_felled() -> None:
    async def fell_it() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(toys.spin)
            for _ in range(3):
                await trio.lowlevel.checkpoint()
            (task,) = nursery.child_tasks
            internals.fell(task)

    with pytest.raises(BaseExceptionGroup) as raised:
        await fell_it()
    assert raised.group_contains(internals.Felled)
