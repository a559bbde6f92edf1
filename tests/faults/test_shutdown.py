"""Faults of closing and shutdown, SC-01 to SC-22 (docs/faults.md), where no other test has them already."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from interlock.errors import ClientError, LimitReached
from interlock.machine import Message
from interlock.observe.trace import Trace
from interlock.session.decide import Decision
from interlock.session.value import Value
from interlock.tables import messages as m
from interlock.workers.echo import EARS, MIND, VOICE
from interlock.workers.scripted import Script
from tests.runtime.pipelines import Gated
from tests.runtime.stage_play import LOUD, play, speak_up_to, state

SOURCE = Path(__file__).parents[2] / "src" / "interlock"


async def test_sc_01_a_cancelled_caller_is_cancelled_and_what_it_asked_for_never_begins() -> None:
    """vllm-omni #7636: waiting for a predecessor swallowed the caller's own cancel, and the queued open went ahead."""
    pipeline = Gated()
    async with play(pipeline=pipeline) as scene:
        session_of_nobody = None
        with trio.CancelScope() as scope:
            scope.cancel()
            session_of_nobody = await scene.host.open(scene.transport())
        assert (scope.cancelled_caught, session_of_nobody) == (True, None)
        await trio.testing.wait_all_tasks_blocked()
        assert (pipeline.begun, scene.host.drivers) == (0, {})


@pytest.mark.parametrize("second", ["stage fails", "worker lost", "worker gone", "lease", "shutdown", "close"])
async def test_sc_03_whoever_ends_last_there_is_one_terminal(second: str) -> None:
    """vllm-omni: the close had left its terminal to a manager that a stage failure then took it away from."""
    async with play(cleanup_s=5.0) as scene:
        scene.fleet[VOICE].script = Script(abort="hang")
        session, first = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        (voice,) = scene.fleet[VOICE].held
        session.close()
        ends: dict[str, Callable[[], object]] = {
            "stage fails": lambda: scene.fleet[VOICE].fail(voice),
            "worker lost": lambda: scene.fleet.lose(VOICE),
            "worker gone": lambda: scene.fleet.gone(VOICE),
            "lease": lambda: scene.driver(session).dispatch(m.IdleDue(300.0)),
            "shutdown": scene.host.stop,
            "close": session.close,
        }
        ends[second]()
        await first.wait_over()
        assert [kind for kind in first.types if kind in ("session.closed", "session.expired")] == ["session.closed"]
        assert first.events[-1]["reason"] == ("server_shutdown" if second == "shutdown" else "client_close")
        if scene.fleet[VOICE].condition == "lost":
            scene.fleet.gone(VOICE)
        scene.fleet[VOICE].confirm(voice)


async def test_sc_04_the_terminal_says_that_the_session_is_over_and_the_slot_is_a_fact_of_its_own() -> None:
    """vllm-omni #7869: a client took session.closed for a free slot, and its prompt reopen was refused."""
    async with play(max_sessions=1, cleanup_s=1.0) as scene:
        session, first = await scene.open()
        session.append(LOUD)
        session.close()
        await first.wait_for("session.closed")
        session, second = await scene.open()  # all was given back: there is room when the client reads it

        scene.fleet[EARS].script.abort = "hang"
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        session.close()
        await second.wait_for("session.closed")
        with pytest.raises(LimitReached) as full:
            await scene.open()
        assert (full.value.code, full.value.retryable) == ("resource_exhausted", True)
        (held,) = scene.fleet[EARS].held
        scene.fleet[EARS].confirm(held)
        scene.fleet[EARS].script.abort = "confirm"
        await scene.open()


async def test_sc_06_a_session_that_closes_takes_no_command_no_resume_and_no_touch() -> None:
    """vllm-omni: the close awaited the teardown before it marked the session, which took commands meanwhile."""
    async with play() as scene:
        scene.fleet[EARS].script.abort = "hang"
        session, first = await scene.open()
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        session.close()
        assert state(session, "session") == "CLOSING"
        with pytest.raises(ClientError) as resumed:
            await scene.host.resume(session.session_id, first.credentials[1], 0, scene.transport())
        assert resumed.value.code == "session_resume_expired"
        for act in (session.barge_in, session.heartbeat, lambda: session.append(LOUD), lambda: session.update({})):
            with pytest.raises(ClientError, match="over"):
                act()
        (held,) = scene.fleet[EARS].held
        scene.fleet[EARS].confirm(held)


async def test_sc_08_a_close_from_inside_what_it_ends_waits_for_nobody() -> None:
    """vllm-omni: close ran inside the worker that it had to stop, and waited for itself."""
    async with play() as scene:
        session, first = await scene.open()

        class Closes(Trace):
            def decided(self, at: float, before: Value, event: Message, decision: Decision) -> None:
                if isinstance(event, m.TurnHeard):
                    session.close()

        scene.host.record = Closes()
        session.append(LOUD)
        session.commit()
        await session.wait_closed()
        await first.wait_over()
        assert (first.types.count("response.done"), first.types[-1]) == (1, "session.closed")


def test_sc_12_there_is_no_lock_that_a_hand_over_could_wait_for() -> None:
    """livekit/agents #6071: close drained tasks while it held the lock that one of them needed."""
    locks = {"Lock", "RLock", "StrictFIFOLock", "Condition", "Semaphore"}
    for folder in ("machine", "session", "runtime"):
        for file in (SOURCE / folder).glob("*.py"):
            names = {node.attr for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute)}
            assert not names & locks, file


async def test_sc_13_two_stages_that_hang_hold_the_terminal_up_no_longer_than_one() -> None:
    """livekit/agents #5497: one clean-up step hung, and the close event never fired."""
    async with play(cleanup_s=3.0) as scene:
        for name in (EARS, VOICE):
            scene.fleet[name].script.abort = "hang"
        scene.fleet[VOICE].script.ends = False
        session, _ = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        session.detach()
        session.close()
        await session.wait_closed()
        assert trio.current_time() - began == pytest.approx(3.0)
        for name in (EARS, VOICE):
            for held in list(scene.fleet[name].held):
                scene.fleet[name].confirm(held)


async def test_sc_15_work_that_was_asked_for_ahead_has_an_owner_that_ends_it() -> None:
    """livekit/agents #6858: pre-emptive work was parked and forgotten, and the hand-over waited for it."""
    async with play() as scene:
        scene.fleet.gone(VOICE)
        session, _ = await scene.open()
        response_id = await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        assert state(session, "request", f"{response_id}.{VOICE}") == "RESERVED"
        session.barge_in()
        assert state(session, "request", f"{response_id}.{VOICE}") == ""
        await trio.testing.wait_all_tasks_blocked()
        assert [entry for entry in scene.host.owed() if entry["kind"] == "request"] == []


async def test_sc_16_an_end_is_taken_while_the_session_is_still_starting() -> None:
    """pipecat #4276: the consumer waited for "started" and could never take the cancel."""
    pipeline = Gated()
    async with play(pipeline=pipeline) as scene:
        async with trio.open_nursery() as nursery:

            async def opening() -> None:
                with pytest.raises(ClientError):
                    await scene.host.open(scene.transport())

            nursery.start_soon(opening)
            await trio.testing.wait_all_tasks_blocked()
            (driver,) = scene.host.drivers.values()
            driver.dispatch(m.CloseRequested("client_close"))
            assert (driver.value.state("session"), scene.host.slots) == ("CLOSED", 0)
        assert pipeline.preparing == 0


async def test_sc_17_an_interrupt_takes_back_speech_and_no_lifecycle_event() -> None:
    """pipecat #3524: the end frame was flushed with the queued data, and the shutdown waited for it."""
    async with play(frames=40) as scene:
        session, first = await scene.open()
        first.stall()
        await scene.speak(session)
        session.close()
        for generation in (1, 2, 3):
            scene.driver(session).dispatch(m.TransportLost(generation + 7, "nobody"))
        first.allow()
        await first.wait_over()
        kinds = first.types
        assert (kinds.count("response.created"), kinds.count("response.done"), kinds[-1]) == (1, 1, "session.closed")


async def test_sc_19_a_close_comes_after_what_was_sequenced_before_it() -> None:
    """pipecat #4006: the end took the fast lane, overtook data in flight, and the work was cut off."""
    async with play() as scene:
        session, first = await scene.open()
        first.stall()
        await scene.speak(session)
        head = scene.driver(session).value.journal.head
        lifecycle = [frame.seq for frame in scene.driver(session).frames.live if frame.epoch == 0]
        session.close()
        first.allow()
        await first.wait_over()
        assert set(lifecycle) <= set(first.numbers)
        assert first.events[-1]["server_event_seq"] > head
        assert first.numbers == sorted(first.numbers)


async def test_sc_20_a_branch_that_is_paused_ends_all_the_same() -> None:
    """pipecat #4806: what the branch waited for was routed elsewhere, and its end and its cancel were blocked there."""
    async with play(drain_s=2.0) as scene:
        scene.fleet[MIND].script = Script(submit="hang", abort="hang")
        session, first = await scene.open()
        await speak_up_to(scene, session, "response")
        first.stall()
        session.heartbeat()
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        session.close()
        await session.wait_closed()
        await first.wait_over()
        assert trio.current_time() - began <= scene.host.settings.cleanup_s + 2.0
        for held in list(scene.fleet[MIND].held):
            scene.fleet[MIND].confirm(held)


async def test_sc_22_closes_at_once_join_and_each_is_answered() -> None:
    """oh-my-openagent #7587: the second close was refused as unknown, and the reservation held for ever."""
    async with play(cleanup_s=2.0) as scene:
        scene.fleet[EARS].script.abort = "hang"
        session, first = await scene.open()
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        over: list[float] = []

        async def close() -> None:
            session.close()
            await session.wait_closed()
            over.append(trio.current_time())

        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(close)
        assert over == [pytest.approx(began + 2.0)] * 3
        await first.wait_over()
        assert first.types.count("session.closed") == 1
        (held,) = scene.fleet[EARS].held
        scene.fleet[EARS].confirm(held)


@pytest.mark.parametrize("reason", ["server_shutdown", "idle_ttl_expired", "disconnect_grace_expired", "worker_lost"])
async def test_nobody_puts_a_reason_of_ours_into_our_mouth(reason: str) -> None:
    """A close with the lease's word was told as session.expired, and one with the host's could not be pre-empted."""
    async with play() as scene:
        session, _ = await scene.open()
        for act in (session.close, session.barge_in):
            with pytest.raises(ClientError) as caught:
                act(reason)
            assert (caught.value.code, caught.value.param) == ("bad_event", "reason")
        assert (state(session, "session"), scene.driver(session).value.epoch) == ("OPEN", 1)


@pytest.mark.parametrize("reason", ["", "a\nb", "\ud800", "x" * 124])
async def test_a_reason_is_a_line_that_fits_a_close_frame(reason: str) -> None:
    async with play() as scene:
        session, first = await scene.open()
        with pytest.raises(ClientError, match="reason"):
            session.close(reason)
        session.close("x" * 123)
        await first.wait_over()
        assert first.closings == [(1000, "x" * 123)]


async def test_a_callers_own_word_is_as_weak_as_the_clients() -> None:
    async with play(cleanup_s=5.0) as scene:
        scene.fleet[EARS].script.abort = "hang"
        session, first = await scene.open()
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        session.close("moved to another room")
        scene.driver(session).dispatch(m.EndRequested("internal_error"))
        await first.wait_over()
        assert first.events[-1]["reason"] == "internal_error"
        (held,) = scene.fleet[EARS].held
        scene.fleet[EARS].confirm(held)


def test_every_word_with_which_we_end_a_session_is_kept_for_us() -> None:
    from interlock.session.reasons import OWN

    found: set[str] = set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())) if "/proof/" not in str(file) else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("m.EndRequested", "m.LeaseExpired"):
                texts = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)]
                found.update(text for text in texts if isinstance(text, str))
    assert {"server_shutdown", "output_backpressure", "disconnect_grace_expired"} <= found <= OWN
