"""Every duration of `session/settings.py`: it runs out to the moment, and whoever waited is told by which word."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import trio
import trio.testing

from interlock.errors import ClientError
from interlock.runtime.host import Host
from interlock.session.settings import Settings
from interlock.transport.converse import converse
from interlock.transport.memory import MemoryTransport
from interlock.transport.opening import Opening
from interlock.workers.echo import EARS, VOICE, EchoPipeline
from interlock.workers.scripted import Script, ScriptedFleet
from tests.faults import test_conversation_limits_told, test_limits_told
from tests.faults.test_limits_told import beside, errors, release
from tests.runtime.pipelines import Gated
from tests.runtime.stage_play import LOUD, play, speak_up_to, state
from tests.transport.spoken import Line


def soon(seconds: float) -> Any:
    """Equal to a moment so many seconds from now."""
    return pytest.approx(trio.current_time() + seconds)


async def test_idle_s() -> None:
    async with play(idle_s=7.0) as scene:
        _, first = await scene.open()
        due = soon(7.0)
        await first.wait_over()
        assert (trio.current_time(), first.events[-1]["reason"]) == (due, "idle_ttl_expired")


async def test_first_s() -> None:
    async with beside(first_s=3.0) as scene:
        due, line = soon(3.0), Line(Opening("/v1/duplex"))
        await converse(scene.host, line)
        assert (trio.current_time(), line.closings) == (due, [(4400, "config_timeout")])
        assert errors(line) == [("config_timeout", "no message for 3.0 s")]


async def test_farewell_s() -> None:
    async with beside(farewell_s=1.5) as scene:
        line = Line(Opening("/v1/realtime"))
        line.leave()
        await converse(scene.host, line)
        assert (line.farewells, line.types) == ([1.5], ["session.created"])


async def test_idle_max_s() -> None:
    async with beside(idle_max_s=400.0) as scene:
        with pytest.raises(
            ClientError, match=r"idle_timeout_s = 401 is over idle_max_s = 400\.0: ask for less"
        ) as open_:
            await scene.open(idle_timeout_s=401)
        session, _ = await scene.open(idle_timeout_s=400)
        with pytest.raises(ClientError) as update:
            session.update({"idle_timeout_s": 401})
        assert open_.value.code == update.value.code == "invalid_session_config"
        for wrong in ("long", True, 0, -1, float("inf"), float("nan")):
            with pytest.raises(ClientError):
                await scene.open(idle_timeout_s=wrong)


@pytest.mark.parametrize("asked", [3, 20, None])
async def test_an_update_of_the_idle_time_rearms_the_clock_that_runs(asked: float | None) -> None:
    async with play(idle_s=10.0) as scene:
        session, _ = await scene.open()
        await trio.sleep(6.0)
        session.update({"idle_timeout_s": asked})
        due = soon(asked or 10.0)
        await session.wait_closed()
        assert trio.current_time() == due


async def test_an_idle_time_that_is_changed_counts_after_the_next_resume_as_well() -> None:
    async with play(idle_s=100.0) as scene:
        session, first = await scene.open()
        session.update({"idle_timeout_s": 4})
        session.detach()
        again = await scene.host.resume(session.session_id, first.credentials[1], 0, scene.transport())
        due = soon(4.0)
        await again.wait_closed()
        assert trio.current_time() == due


async def test_grace_s() -> None:
    async with beside(grace_s=5.0) as scene:
        session, first = await scene.open()
        session.detach()
        due = soon(5.0)
        await session.wait_closed()
        assert trio.current_time() == due
        with pytest.raises(ClientError, match="disconnect_grace_expired"):
            await scene.host.resume(session.session_id, first.credentials[1], 0, scene.transport())


async def test_evict_s() -> None:
    async with beside(evict_s=1.5) as scene:
        session, first = await scene.open()
        first.stall()
        session.heartbeat()
        await trio.testing.wait_all_tasks_blocked()
        due = soon(1.5)
        await scene.host.resume(session.session_id, first.credentials[1], 0, scene.transport())
        await first.wait_over()
        assert (trio.current_time(), first.aborts) == (due, ["session_replaced"])


async def test_drain_s() -> None:
    async with beside(drain_s=3.0) as scene:
        session, first = await scene.open()
        first.stall()
        due = soon(3.0)
        session.close()
        await first.wait_over()
        assert (trio.current_time(), first.closings, len(first.aborts)) == (due, [], 1)


async def test_write_s() -> None:
    async with beside(write_s=6.0) as scene:
        session, first = await scene.open()
        first.stall()
        session.heartbeat()
        due = soon(6.0)
        await first.wait_over()
        assert (trio.current_time(), first.aborts) == (due, ["write_timeout"])
        assert state(session, "session") == "OPEN"


async def test_prepare_s() -> None:
    pipeline = Gated()
    async with play(pipeline=pipeline, prepare_s=2.5) as scene:
        due = soon(2.5)
        with pytest.raises(ClientError) as caught:
            await scene.open()
        assert (trio.current_time(), caught.value.code) == (due, "prepare_timeout")


async def test_cleanup_s() -> None:
    async with beside(cleanup_s=4.0) as scene:
        scene.fleet[EARS].script.abort = "hang"
        session, first = await scene.open()
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        due = soon(4.0)
        session.close()
        await session.wait_closed()
        assert (trio.current_time(), state(session, "session")) == (due, "QUARANTINED")
        await first.wait_for("session.closed")
        release(scene, EARS)


async def test_reserve_s() -> None:
    async with beside(reserve_s=2.0) as scene:
        scene.fleet.gone(EARS)
        session, first = await scene.open()
        session.append(LOUD)
        due = soon(2.0)
        await first.wait_for("error")
        assert (trio.current_time(), errors(first)) == (due, [("runtime_append_failed", "stage_unavailable")])
        assert scene.driver(session).value.input_bytes == 0


async def test_submit_s() -> None:
    async with beside(submit_s=3.0) as scene:
        scene.fleet[EARS].script.submit = "hang"
        session, first = await scene.open()
        session.append(LOUD)
        due = soon(3.0)
        await first.wait_for("error")
        assert (trio.current_time(), errors(first)) == (due, [("runtime_append_failed", "submit_overdue")])


async def test_abort_s() -> None:
    async with beside(abort_s=1.0) as scene:
        scene.fleet[VOICE].script = Script(abort="hang")
        session, first = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        due = soon(1.0)
        session.barge_in()
        await first.wait_for("error")
        assert (trio.current_time(), errors(first)) == (due, [("runtime_signal_failed", "abort_overdue")])
        release(scene, VOICE)


async def test_shutdown_s() -> None:
    fleet = ScriptedFleet(EARS, "mind", VOICE)
    fleet[EARS].script.abort = "hang"
    host, first = Host(EchoPipeline(), fleet, Settings(cleanup_s=1.0, drain_s=5.0, shutdown_s=6.0)), MemoryTransport()
    async with trio.open_nursery() as nursery:
        await nursery.start(host.run)
        await trio.testing.wait_all_tasks_blocked()
        session = await host.open(first)
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        fleet.lose(EARS)  # and never gone
        due = soon(6.0)
        await host.shutdown()
        assert (trio.current_time(), first.events[-1]["reason"]) == (due, "server_shutdown")
    assert [entry["kind"] for entry in host.owed()] == ["request", "worker"]


def test_no_setting_is_left_out() -> None:
    here = {name.removeprefix("test_") for name in globals()}
    told = (test_limits_told, test_conversation_limits_told)
    there = {name.removeprefix("test_") for each in told for name, _ in inspect.getmembers(each, inspect.isfunction)}
    assert set(Settings.model_fields) - here - there == set()
