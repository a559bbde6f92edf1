"""The sweep of the bridge: every operation of a session, its task cancelled before every step, once and over and over.

Promises 1 and 3. The oracle is that of the trio sweep (`interlock.proof.promises`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from interlock.embed import Runtime
from interlock.embed.landing import Landing
from interlock.proof.play import CutPipeline
from interlock.session.settings import Settings
from interlock.workers.echo import EchoPipeline
from tests.embed.scene import EagerWire, Scene, Wire, claims, scene, scripted, state
from tests.embed.sweep import BOUND, SteppedLoop, Trial, perform, plans

Act = Callable[[Scene, Wire], Awaitable[Any]]


class Operation(NamedTuple):
    """What is there before, and what is cancelled."""

    set_up: Callable[[Scene], Awaitable[Any]]
    act: Act


async def nothing(_: Scene) -> None:
    """There is no session."""


async def attached(scene: Scene) -> None:
    """A session is attached, and has said something."""
    await scene.spoken()


async def detached(scene: Scene) -> None:
    """Its transport is gone."""
    session, _ = await scene.spoken()
    session.detach()


async def open_one(scene: Scene, wire: Wire) -> Any:
    """Open."""
    return await scene.runtime.open(wire)


async def resume_first(scene: Scene, wire: Wire) -> Any:
    """Resume with what the first client knows."""
    session_id, token, _ = scene.wires[0].credentials
    return await scene.runtime.resume(session_id, token, 0, wire)


OPERATIONS = {
    "open": Operation(nothing, open_one),
    "reconnect": Operation(detached, resume_first),
    "takeover": Operation(attached, resume_first),
}


def stepped(main: Callable[[], Any]) -> Any:
    """Run a coroutine function in a loop that counts."""
    with asyncio.Runner(loop_factory=SteppedLoop) as runner:
        return runner.run(main())


def trial_of(operation: Operation, plan: tuple[int, ...], kind: type[Wire] = Wire) -> Trial:
    async def main() -> Trial:
        async with scene(pipeline=CutPipeline(steps=4), kind=kind) as play:
            await operation.set_up(play)
            wire = play.wire()
            task, trial = await perform(lambda: operation.act(play, wire), plan)
            if task.cancelled():
                assert not claims(play, wire), "the cancelled claim still carries the session"
                await what_is_known_opens(play)
            return trial

    trial: Trial = stepped(main)
    return trial


async def what_is_known_opens(play: Scene) -> None:
    """Promise 3, asked as a client would; of a session that nobody can name, nothing counts."""
    clients = [wire for wire in play.wires if "session.created" in wire.types or "session.resumed" in wire.types]
    if not clients:
        assert play.runtime.host.slots == 0, "a slot is held by a session that nobody can name"
        return
    session_id, token, _ = clients[0].credentials
    again = play.wire()
    session = await play.runtime.resume(session_id, token, 0, again)
    assert state(session, "attachment") == "ATTACHED"
    assert again.numbers == [frame.seq for frame in session._driver.frames.live]


@pytest.mark.real_clock
@pytest.mark.slow
@pytest.mark.timeout_s(240)
@pytest.mark.parametrize("kind", [Wire, EagerWire])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_cancel_at_every_step_lands_before_it_is_raised(name: str, kind: type[Wire]) -> None:
    operation = OPERATIONS[name]
    steps = min(trial_of(operation, (), kind).steps for _ in range(3))  # those of a thread that wakes trio vary
    assert steps >= 5, "a sweep of no steps shows nothing"
    trials = {plan: trial_of(operation, plan, kind) for plan in plans(steps)}
    assert sum(trial.cancelled for trial in trials.values()) >= len(trials) // 2
    late = {plan: trial for plan, trial in trials.items() if trial.landed_in > BOUND}
    assert not late, f"landings over {BOUND} steps: {late}"


@pytest.mark.real_clock
def test_the_sweep_finds_a_cancel_that_does_not_land(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Landing, "cancel", asyncio.Future.cancel)
    operation = OPERATIONS["reconnect"]
    found = 0
    for plan in plans(trial_of(operation, ()).steps):
        try:
            trial_of(operation, plan)
        except AssertionError:
            found += 1
    assert found >= 20


@pytest.mark.real_clock
@pytest.mark.slow
@pytest.mark.timeout_s(120)
@pytest.mark.parametrize("phase", ["enter", "leave"])
def test_a_runtime_that_is_cancelled_at_any_step_ends_with_nothing_owed(phase: str) -> None:
    def trial(plan: tuple[int, ...]) -> Trial:
        async def main() -> Trial:
            runtime = Runtime(EchoPipeline(), scripted(), Settings())
            if phase == "leave":
                await runtime.enter()
                await runtime.open(Wire())
                task, done = await perform(runtime.leave, plan)
            else:
                task, done = await perform(runtime.enter, plan)
                if not task.cancelled():
                    await runtime.leave()
            if plan[:1] != (1,):
                assert runtime.is_over
            elif phase == "leave":  # the task was cancelled before it began
                await runtime.leave()
            assert (runtime.owed(), runtime.host.slots, runtime.host.defects) == ([], 0, [])
            return done

        done: Trial = stepped(main)
        return done

    steps = min(trial(()).steps for _ in range(3))
    assert steps >= 5
    cancelled = [trial(plan) for plan in plans(steps)]
    assert sum(each.cancelled for each in cancelled) >= len(cancelled) // 2
