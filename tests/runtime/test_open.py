"""Opening: at whichever point it ends, either somebody knows the session or nothing of it counts in admission."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import pytest
import trio
import trio.testing

from interlock.errors import ClientError, LimitReached
from interlock.runtime.acts import ClaimLost
from interlock.runtime.talk import Session
from tests.runtime.pipelines import Gated
from tests.runtime.stage_play import Play, play, state

Open = Callable[[], Awaitable[Session]]


async def cancel_while(opening: Open, blocked: Callable[[], bool]) -> bool:
    """Cancel an open once everything waits and ``blocked`` holds; say whether the cancel came out."""
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(opening)
            await trio.testing.wait_all_tasks_blocked()
            assert blocked()
            scope.cancel()
    return scope.cancelled_caught


async def assert_admits(scene: Play, gate: trio.Event | None = None) -> None:
    """The only slot is free: a session can be opened, and ended."""
    if gate is not None:
        gate.set()
    session, _ = await scene.open()
    session.close()
    await session.wait_closed()


async def test_ap_01_open_cancelled_in_prepare_frees_the_slot_at_that_line() -> None:
    pipeline = Gated()
    async with play(pipeline=pipeline, max_sessions=1) as scene:
        transport = scene.transport()
        assert await cancel_while(lambda: scene.host.open(transport), lambda: pipeline.preparing == 1)
        assert scene.host.slots == 0
        assert scene.host.drivers == {}
        assert scene.host.owed() == []
        await trio.testing.wait_all_tasks_blocked()
        assert pipeline.preparing == 0
        assert (transport.closings, transport.aborts, transport.frames) == ([], [], [])
        await assert_admits(scene, pipeline.gate)


async def test_ap_01_open_cancelled_before_prepare_began_prepares_nothing() -> None:
    pipeline = Gated()
    async with play(pipeline=pipeline, max_sessions=1) as scene:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(scene.host.open, scene.transport())
                nursery.start_soon(cancel_in_the_same_turn, scene, scope)
        assert scope.cancelled_caught
        assert scene.host.slots == 0
        await trio.testing.wait_all_tasks_blocked()
        assert pipeline.preparing == 0
        assert scene.host.drivers == {}
        await assert_admits(scene, pipeline.gate)


async def cancel_in_the_same_turn(scene: Play, scope: trio.CancelScope) -> None:
    while not scene.host.drivers:
        await trio.lowlevel.checkpoint()
    scope.cancel()


async def test_ap_02_open_cancelled_again_and_again_leaves_every_slot_free() -> None:
    async with play(max_sessions=1) as scene:
        for _ in range(50):
            opening = partial(scene.host.open, scene.transport(accepts=0))
            assert await cancel_while(opening, lambda: scene.host.slots == 1)
            assert scene.host.slots == 0
        await trio.testing.wait_all_tasks_blocked()
        assert scene.host.drivers == {}
        assert scene.host.owed() == []
        await assert_admits(scene)


async def test_at_12_open_cancelled_in_activation_ends_the_session() -> None:
    async with play(max_sessions=1) as scene:
        transport = scene.transport(accepts=0)
        found: dict[str, object] = {}

        def blocked() -> bool:
            found.update(scene.host.drivers)
            return len(found) == 1

        assert await cancel_while(lambda: scene.host.open(transport), blocked)
        (session_id,) = found
        assert scene.host.slots == 0
        assert transport.aborts == ["cancelled"]
        with pytest.raises(ClientError, match="the session has ended: open_abandoned"):
            await scene.host.resume(session_id, "token", 0, scene.transport())
        await assert_admits(scene)


async def test_a_cancel_after_the_credentials_were_handed_over_undoes_nothing() -> None:
    async with play() as scene:
        transport, returned = scene.transport(), []

        async def opening() -> None:
            returned.append(await scene.host.open(transport))

        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(opening)
                await transport.wait_for("session.created")
                scope.cancel()
        (session,) = returned
        assert state(session, "attachment") == "ATTACHED"
        session.close()
        await session.wait_closed()


async def test_a_refused_preparation_is_told_and_frees_the_slot() -> None:
    pipeline = Gated(ClientError("unsupported_audio_format", "only pcm16", param="input_audio_format"))
    pipeline.gate.set()
    async with play(pipeline=pipeline, max_sessions=1) as scene:
        with pytest.raises(ClientError, match="only pcm16") as caught:
            await scene.open()
        assert (caught.value.code, caught.value.param) == ("unsupported_audio_format", "input_audio_format")
        assert scene.host.slots == 0
        pipeline.error = None
        await assert_admits(scene)


async def test_a_foreign_error_in_preparation_is_an_engine_error_of_that_session() -> None:
    pipeline = Gated(ExceptionGroup("two at once", [ValueError("a"), OSError("b")]))
    pipeline.gate.set()
    async with play(pipeline=pipeline, max_sessions=1) as scene:
        with pytest.raises(ClientError) as caught:
            await scene.open()
        assert caught.value.code == "engine_error"
        assert scene.host.slots == 0
        pipeline.error = None
        await assert_admits(scene)


async def test_ap_03_a_preparation_that_hangs_is_given_up_at_prepare_s() -> None:
    pipeline = Gated()
    async with play(pipeline=pipeline, max_sessions=1, prepare_s=4.0) as scene:
        began = trio.current_time()
        with pytest.raises(ClientError) as caught:
            await scene.open()
        assert caught.value.code == "prepare_timeout"
        assert trio.current_time() - began == pytest.approx(4.0)
        assert (pipeline.preparing, scene.host.slots) == (0, 0)
        await assert_admits(scene, pipeline.gate)


async def test_at_13_a_transport_that_fails_at_the_credentials_ends_the_session_at_once() -> None:
    async with play(max_sessions=1) as scene:
        transport = scene.transport()
        transport.tear()
        began = trio.current_time()
        with pytest.raises(ClaimLost):
            await scene.host.open(transport)
        assert trio.current_time() == began
        assert scene.host.slots == 0
        assert len(transport.aborts) == 1
        await assert_admits(scene)


async def test_ap_05_of_two_opens_that_race_for_the_last_slot_one_is_admitted() -> None:
    pipeline = Gated()
    async with play(pipeline=pipeline, max_sessions=1) as scene:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(scene.open)
            await trio.testing.wait_all_tasks_blocked()
            with pytest.raises(LimitReached, match="max_sessions = 1") as caught:
                await scene.open()
            assert (caught.value.code, caught.value.retryable) == ("resource_exhausted", True)
            pipeline.gate.set()
        assert scene.host.slots == 1
        assert scene.host.limits()["max_sessions"] == {"limit": 1, "now": 1, "high_water": 1}


async def test_an_open_during_the_shutdown_is_refused_and_one_in_preparation_ends() -> None:
    pipeline = Gated()
    codes: list[str] = []

    async def refused(scene: Play) -> None:
        with pytest.raises(ClientError) as caught:
            await scene.open()
        codes.append(caught.value.code)

    async with play(pipeline=pipeline) as scene, trio.open_nursery() as nursery:
        nursery.start_soon(refused, scene)
        await trio.testing.wait_all_tasks_blocked()
        scene.host.stop()
        await refused(scene)
        await scene.host.wait_stopped()
    assert codes == ["session_closed", "session_closed"]
    assert pipeline.preparing == 0


async def test_a_configuration_cannot_rename_its_session() -> None:
    async with play() as scene:
        session, first = await scene.open(id="sess_of_somebody_else", voice="low")
        created = await first.wait_for("session.created")
        assert created["session_id"] == created["session"]["id"] == session.session_id
        assert created["session"]["voice"] == "low"
        assert session.update({"id": "sess_other"})["id"] == session.session_id


async def test_a_configuration_that_cannot_be_encoded_costs_its_own_open_only() -> None:
    async with play(max_sessions=1) as scene:
        transport = scene.transport()
        with pytest.raises(ClientError, match="is no JSON") as caught:
            await scene.host.open(transport, {"thing": object()})
        assert caught.value.code == "invalid_session_config"
        assert (scene.host.slots, scene.host.drivers, transport.is_open) == (0, {}, True)
        await assert_admits(scene)
