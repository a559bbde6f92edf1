"""A session at rest costs memory and a timer: no task, and no wake-up."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from tests.conftest import tasks
from tests.runtime.stage_play import play, state


async def test_a_thousand_detached_sessions_add_no_task() -> None:
    async with play(max_sessions=1000, grace_s=30.0) as scene:
        before = len(list(tasks()))
        sessions = [(await scene.open())[0] for _ in range(1000)]
        assert len(list(tasks())) == before + 1000  # one writer each, while attached
        for session in sessions:
            session.detach()
        await trio.testing.wait_all_tasks_blocked()
        assert len(list(tasks())) == before
        assert len(scene.host.deadlines) == 1000
        began = trio.current_time()
        await sessions[-1].wait_closed()
        assert trio.current_time() - began == pytest.approx(30.0)
        assert {state(session, "session") for session in sessions} == {"CLOSED"}
        assert (scene.host.slots, len(scene.host.deadlines), len(list(tasks()))) == (0, 0, before)


async def test_a_session_at_rest_wakes_nobody_until_its_deadline() -> None:
    async with play(grace_s=30.0) as scene:
        session, _ = await scene.open()
        session.detach()
        await trio.testing.wait_all_tasks_blocked()
        before = trio.lowlevel.current_statistics()
        records = len(scene.trace.records)
        await trio.sleep(29.9)
        assert len(scene.trace.records) == records
        assert trio.lowlevel.current_statistics().tasks_living == before.tasks_living
