"""Shutdown: everybody gets a terminal, the deadline holds whatever hangs, and then nothing is left."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from interlock.runtime.host import Host, open_host
from interlock.session.settings import Settings
from interlock.transport.memory import MemoryTransport
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.scripted import Script, ScriptedFleet
from tests.conftest import tasks
from tests.runtime.stage_play import LOUD


def stages() -> ScriptedFleet:
    fleet = ScriptedFleet(EARS, MIND, VOICE)
    fleet[EARS].script = Script(transcript="hello")
    fleet[MIND].script = Script(texts=("You said: ", "hello."))
    fleet[VOICE].script = Script(frames=1000, begins="input")
    return fleet


async def started(host: Host, nursery: trio.Nursery, scope: trio.CancelScope) -> None:
    """Run a host in a task that a test may cancel."""

    async def run(task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        with scope:
            async with trio.open_nursery() as inner:
                await inner.start(host.run)
                task_status.started()

    await nursery.start(run)
    await trio.testing.wait_all_tasks_blocked()


async def test_sc_10_a_cancel_from_outside_becomes_the_shutdown() -> None:
    fleet, scope, before = stages(), trio.CancelScope(), len(list(tasks()))
    host = Host(EchoPipeline(), fleet)
    transports = [MemoryTransport() for _ in range(5)]
    async with trio.open_nursery() as nursery:
        await started(host, nursery, scope)
        sessions = [await host.open(transport) for transport in transports]
        for session in sessions:
            session.append(LOUD)
            session.commit()
        await trio.sleep(1.0)
        began = trio.current_time()
        scope.cancel()
        await host.wait_stopped()
        assert trio.current_time() - began < 0.001
    assert scope.cancelled_caught
    for transport in transports:
        assert transport.types.count("response.done") == 1
        assert (transport.types[-1], transport.events[-1]["reason"]) == ("session.closed", "server_shutdown")
        assert transport.closings == [(1012, "server_shutdown")]
    assert_nothing_left(host, fleet, before)


def assert_nothing_left(host: Host, fleet: ScriptedFleet, before: int) -> None:
    assert (host.drivers, host.owed(), host.slots, host.defects) == ({}, [], 0, [])
    assert (host.deadlines.armed, fleet.held, len(list(tasks()))) == ((), 0, before)


async def test_cancelled_goes_on_after_the_shutdown_to_whoever_cancelled() -> None:
    seen: list[str] = []
    host = Host(EchoPipeline(), stages())

    async def run() -> None:
        try:
            await host.run()
        except trio.Cancelled:
            seen.append("cancelled")
            raise
        seen.append("returned")

    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    assert (seen, scope.cancelled_caught, host.is_stopping) == (["cancelled"], True, True)


async def test_sc_13_a_stage_that_hangs_holds_up_no_terminal_and_the_deadline_holds() -> None:
    fleet, scope = stages(), trio.CancelScope()
    fleet[EARS].script.abort = "hang"
    host = Host(EchoPipeline(), fleet, Settings(cleanup_s=3.0, shutdown_s=8.0))
    transport = MemoryTransport()
    async with trio.open_nursery() as nursery:
        await started(host, nursery, scope)
        session = await host.open(transport)
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        fleet.lose(EARS)  # and never gone: a thread that hangs
        host.stop()
        await session.wait_closed()
        assert trio.current_time() - began == pytest.approx(3.0)
        await transport.wait_over()
        assert transport.types[-1] == "session.closed"
        await host.wait_stopped()
        assert trio.current_time() - began == pytest.approx(8.0)
    assert [(entry["kind"], entry["state"]) for entry in host.owed()] == [("request", "OWED"), ("worker", "LOST")]
    assert host.slots == 1


async def test_a_shutdown_whose_deadline_comes_before_the_clean_ups_still_ends_every_session() -> None:
    """Found by the sweep (`close_dies`, depth 2): who waited for the terminal event waited for ever."""
    fleet, scope = stages(), trio.CancelScope()
    fleet[EARS].script.abort = "hang"
    host = Host(EchoPipeline(), fleet, Settings(cleanup_s=3.0, shutdown_s=8.0))
    async with trio.open_nursery() as nursery:
        await started(host, nursery, scope)
        session = await host.open(MemoryTransport())
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        fleet.lose(EARS)
        host.stop()
        await trio.testing.wait_all_tasks_blocked()
        for timer in host.deadlines.armed:
            host.deadlines.disarm(timer)  # as if the clock had jumped past both deadlines at once
        await session.wait_closed()
        assert trio.current_time() - began == pytest.approx(8.0)
        await host.wait_stopped()
    assert [(entry["kind"], entry["state"]) for entry in host.owed()] == [("request", "OWED"), ("worker", "LOST")]


async def test_a_worker_that_can_be_ended_is_ended_as_soon_as_the_last_session_has_its_terminal() -> None:
    """A hung request of a worker that can be killed is released by its death, long before the deadline."""
    fleet, scope, before = stages(), trio.CancelScope(), len(list(tasks()))
    fleet[EARS].script.abort = "hang"
    host = Host(EchoPipeline(), fleet, Settings(cleanup_s=3.0, shutdown_s=8.0))
    async with trio.open_nursery() as nursery:
        await started(host, nursery, scope)
        session = await host.open(MemoryTransport())
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        await host.shutdown()
        assert trio.current_time() - began == pytest.approx(3.0)
    assert_nothing_left(host, fleet, before)


async def test_a_transport_that_hangs_is_aborted_at_drain_s() -> None:
    fleet, scope, before = stages(), trio.CancelScope(), len(list(tasks()))
    host = Host(EchoPipeline(), fleet, Settings(drain_s=4.0))
    transport = MemoryTransport()
    async with trio.open_nursery() as nursery:
        await started(host, nursery, scope)
        session = await host.open(transport)
        transport.stall()
        began = trio.current_time()
        host.stop()
        await session.wait_closed()
        assert trio.current_time() == began
        await host.wait_stopped()
        assert trio.current_time() - began == pytest.approx(4.0)
    assert (transport.closings, transport.aborts) == ([], ["server_shutdown"])
    assert_nothing_left(host, fleet, before)


async def test_sc_22_ends_merge_and_a_shutdown_pre_empts_a_close() -> None:
    fleet, scope, before = stages(), trio.CancelScope(), len(list(tasks()))
    fleet[EARS].script.abort = "hang"
    host = Host(EchoPipeline(), fleet, Settings(cleanup_s=3.0))
    transport = MemoryTransport()
    async with trio.open_nursery() as nursery:
        await started(host, nursery, scope)
        session = await host.open(transport)
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        session.close()
        session.close()
        await trio.sleep(1.0)
        host.stop()
        await host.wait_stopped()
    assert [kind for kind in transport.types if kind.startswith("session.")] == ["session.created", "session.closed"]
    assert transport.events[-1]["reason"] == "server_shutdown"
    assert_nothing_left(host, fleet, before)


async def test_a_fleet_that_fails_shuts_the_host_down_in_order() -> None:
    class Failing(ScriptedFleet):
        async def run(self, sink: object) -> None:
            await trio.sleep(5.0)
            raise RuntimeError("no more workers")

    transport = MemoryTransport()
    async with open_host(EchoPipeline(), Failing(EARS)) as host:
        await host.open(transport)
        await host.wait_stopped()
    assert transport.events[-1]["reason"] == "server_shutdown"
    assert host.defects == ["RuntimeError('no more workers')"]


async def test_all_who_wait_for_readiness_are_woken() -> None:
    fleet = ScriptedFleet(EARS, MIND, absent=(MIND,))
    ready: list[str] = []

    async def wait(host: Host, *names: str) -> None:
        await host.wait_ready(*names)
        ready.append("".join(names))

    async with open_host(EchoPipeline(), fleet) as host, trio.open_nursery() as nursery:
        nursery.start_soon(wait, host, MIND)
        nursery.start_soon(wait, host, EARS, MIND)
        nursery.start_soon(wait, host, EARS)
        await trio.testing.wait_all_tasks_blocked()
        assert ready == [EARS]
        fleet.come_back(MIND)
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(ready) == sorted([EARS, MIND, EARS + MIND])
