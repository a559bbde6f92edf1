"""`asyncio.timeout` and `TaskGroup` around every coroutine of a runtime and of its sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import pytest

from interlock.embed import Session
from interlock.session.settings import Settings
from interlock.workers.echo import EARS, MIND
from tests.embed.scene import Run, Scene, scene, state

Call: TypeAlias = Callable[[Scene, Session], Awaitable[Any]]

KIB = 1024


def resumes(play: Scene, session: Session) -> Awaitable[Any]:
    """Resume on a transport that takes nothing."""
    session_id, token, _ = play.wires[0].credentials
    return play.runtime.resume(session_id, token, 0, play.wire(0))


CALLS: dict[str, Call] = {
    "open": lambda play, session: play.runtime.open(play.wire(0)),
    "resume": resumes,
    "wait_ready": lambda play, session: play.runtime.wait_ready(MIND),
    "shutdown": lambda play, session: play.runtime.shutdown(),
    "wait_closed": lambda play, session: session.wait_closed(),
    "wait_room": lambda play, session: session.wait_room(),
}
"""Each of these waits for what does not come, in the scene below."""


@asynccontextmanager
async def waiting() -> AsyncIterator[tuple[Scene, Session]]:
    """A session with full ears, a mind that is gone, and another session whose client does not read."""
    durations: dict[str, Any] = {"shutdown_s": 0.5, "drain_s": 0.5, "cleanup_s": 0.5}
    async with scene(input_bytes=64 * KIB, **durations) as play:
        session, _ = await play.open()
        await play.runtime.open(stuck := play.wire(1))
        assert not stuck.over.is_set()
        play.fleet[EARS].script.takes_input = False
        session.append(b"\x01\x00" * 20 * KIB)
        play.fleet.gone(MIND)
        yield play, session


@pytest.mark.real_clock
@pytest.mark.parametrize("name", CALLS)
def test_a_timeout_around_it_is_a_timeout(run: Run, name: str) -> None:
    async def main() -> None:
        async with waiting() as (play, session):
            passed, began = [], asyncio.get_running_loop().time()
            try:
                async with asyncio.timeout(0.02):
                    await CALLS[name](play, session)
                    passed.append("behind")
            except TimeoutError:
                passed.append("timed out")
            assert passed == ["timed out"]
            assert asyncio.get_running_loop().time() - began < Settings().evict_s
            current = asyncio.current_task()
            assert current is not None
            assert current.cancelling() == 0

    run(main)


@pytest.mark.real_clock
@pytest.mark.parametrize("name", CALLS)
def test_a_group_whose_sibling_fails_does_not_wait_for_it(run: Run, name: str) -> None:
    async def main() -> None:
        async with waiting() as (play, session):
            tasks: list[asyncio.Task[Any]] = []

            async def call() -> None:
                await CALLS[name](play, session)

            async def fail() -> None:
                await asyncio.sleep(0)
                raise KeyError(name)

            try:
                async with asyncio.TaskGroup() as group:
                    tasks += [group.create_task(call()), group.create_task(fail())]
            except* KeyError:
                tasks.append(tasks[0])
            assert len(tasks) == 3
            assert tasks[0].cancelled()
            if name == "resume":
                assert state(session, "attachment") == "ROLLED_BACK"

    run(main)
