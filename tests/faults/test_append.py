"""Faults of opening, input and admission, AP-01 to AP-22 (docs/faults.md), where no other test has them already."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from interlock.errors import ClientError, LimitReached
from interlock.runtime.talk import Session
from interlock.tables import messages as m
from interlock.transport.client import open_client
from interlock.transport.client_errors import ConnectionLost
from interlock.transport.memory import MemoryTransport
from interlock.workers.echo import EARS, MIND, VOICE
from interlock.workers.protocol import Append
from interlock.workers.scripted import Script
from tests.runtime.stage_play import LOUD, Play, play, speak_up_to
from tests.transport.scripted import Seat, delta, played

SOURCE = Path(__file__).parents[2] / "src" / "interlock"
TURN_LOST = "commit_aborted"


def codes(transport: MemoryTransport) -> list[str]:
    return [event["error"]["code"] for event in transport.events if event["type"] == "error"]


async def committed(scene: Play, turns: int) -> tuple[Session, MemoryTransport]:
    """Open a session that has committed turns which its ears have not heard."""
    scene.fleet[EARS].script = Script()
    session, first = await scene.open()
    session.append(LOUD)
    await trio.testing.wait_all_tasks_blocked()
    for _ in range(turns):
        session.commit()
    return session, first


@pytest.mark.parametrize("where", ["reserved", "submitting", "running"])
@pytest.mark.parametrize("how", ["cancel", "fail"])
async def test_ap_06_a_response_that_was_announced_ends_once_wherever_it_is_cut(where: str, how: str) -> None:
    """vllm-omni #7636: a cancelled append left its precreated response active for ever; each new one was refused."""
    async with play() as scene:
        scene.fleet[MIND].script = Script(submit="hang" if where == "submitting" else "accept")
        if where == "reserved":
            scene.fleet.gone(MIND)
        session, first = await scene.open()
        response_id = await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        if how == "cancel":
            session.cancel_response()
        elif where == "reserved":
            await trio.sleep(scene.host.settings.reserve_s)
        else:
            scene.fleet[MIND].fail(f"{response_id}.{MIND}")
        await first.wait_for("response.done")
        await trio.testing.wait_all_tasks_blocked()
        assert (first.types.count("response.created"), first.types.count("response.done")) == (1, 1)
        if where == "reserved":
            scene.fleet.come_back(MIND)
        scene.fleet[MIND].script = Script(texts=("again",))
        session.create_response()
        await scene.until(session, lambda d: len(d.value.playback) == 2 and d.value.playback[1].ended)


async def test_ap_11_a_turn_that_failed_does_not_poison_the_next() -> None:
    """vllm-omni #7743: the failed turn stayed the tail, and each later commit was refused."""
    async with play() as scene:
        scene.fleet[EARS].script.submit = "fail"
        session, first = await scene.open()
        for number in range(1, 4):
            session.append(LOUD)
            session.commit()
            await trio.testing.wait_all_tasks_blocked()
            assert codes(first) == ["runtime_append_failed", TURN_LOST] * number
        scene.fleet[EARS].script = Script(transcript="hello")
        await scene.speak(session)
        assert scene.driver(session).value.input_bytes == 0


async def test_ap_13_a_refused_append_never_reaches_the_model() -> None:
    """vllm-omni #6220: a failed append fed placeholders into the model's state."""
    async with play(input_bytes=64 * 1024) as scene:
        scene.fleet[EARS].script.takes_input = False
        session, _ = await scene.open()
        session.append(LOUD)
        with pytest.raises(LimitReached):
            session.append(b"\1\0" * 40_000)
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()
        assert b"".join(order.payload for order in scene.fleet.orders_of(Append, EARS)) == LOUD + LOUD


@pytest.mark.real_clock
@pytest.mark.timeout_s(10)
async def test_ap_14_what_was_said_on_a_lost_connection_is_said_to_have_failed_and_never_repeated() -> None:
    """vllm-omni #7294: an append with an unknown outcome was tried again, and applied twice."""

    async def first(seat: Seat) -> None:
        await seat.create()
        await seat.until("input_audio_buffer.append")
        seat.transport.abort("crash")

    async def second(seat: Seat) -> None:
        await seat.resume("t2", 2)
        await seat.until("session.heartbeat")
        await seat.send(delta(1))
        await seat.hold()

    async with played(first, second) as (url, seats), open_client(url) as client:
        await client.append(LOUD)
        with pytest.raises(ConnectionLost):
            await anext(client)
        with pytest.raises(ConnectionLost):
            await client.append(LOUD)
        await client.resume()
        await client.say("session.heartbeat")
        assert (await anext(client))["server_event_seq"] == 1
        assert [message["type"] for message in seats.seats[1].heard][:3] == [
            "session.resume",
            "session.event_ack",
            "session.heartbeat",
        ]


async def test_ap_16_what_locks_the_configuration_is_audio_at_a_stage_and_not_an_append_that_was_refused() -> None:
    """vllm-omni #6318: a failed append locked the instructions, although the model had seen nothing."""
    async with play(input_bytes=64 * 1024) as scene:
        scene.fleet[EARS].script.submit = "refuse"
        session, _ = await scene.open()
        with pytest.raises(LimitReached):
            session.append(b"\1\0" * 40_000)
        session.update({"input_audio_format": "pcm16_24k"})
        session.append(LOUD)
        await trio.testing.wait_all_tasks_blocked()  # refused by the stage
        session.update({"input_audio_format": "pcm16"})
        scene.fleet[EARS].script = Script()
        session.append(LOUD)
        session.update({"input_audio_format": "pcm16"})
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(ClientError, match="clear the input"):
            session.update({"input_audio_format": "pcm16_24k"})


async def test_ap_18_closing_is_there_when_close_returns_and_an_append_in_the_gap_is_refused() -> None:
    """sglang-omni #2035: the flag was set by a task, and what was accepted before it ran was thrown away."""
    async with play() as scene:
        ends: list[Callable[[Session], object]] = [
            lambda session: session.close(),
            lambda session: scene.driver(session).dispatch(m.IdleDue(300.0)),
            lambda session: scene.driver(session).dispatch(m.EndRequested("output_backpressure")),
            lambda _: scene.host.stop(),
        ]
        for end in ends:
            session, _ = await scene.open()
            end(session)
            with pytest.raises(ClientError) as caught:
                session.append(LOUD)
            assert (caught.value.code, scene.driver(session).value.input_bytes) == ("session_closed", 0)


async def test_ap_19_how_many_requests_a_model_takes_is_said_by_the_model_and_kept() -> None:
    """sglang-omni #2035: a default over 1 for models with one static buffer, and two sessions raced on it."""
    async with play() as scene:
        scene.fleet[VOICE].script = Script(capacity=1)
        session, first = await scene.open()
        other, second = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        other.append(LOUD)
        other.commit()
        done = await second.wait_for("response.done")
        assert (done["response"]["status"], done["reason"]) == ("failed", "full")
        assert (len(scene.fleet[VOICE].held), "response.done" in first.types) == (1, False)


async def test_ap_21_a_session_whose_credentials_are_too_large_to_tell_is_not_left_open() -> None:
    """openai/codex #30111: the session was committed before anybody knew that the answer could be sent."""
    async with play(max_sessions=1, config_bytes=2048) as scene:
        with pytest.raises(ClientError, match="over config_bytes = 2048: send less") as caught:
            await scene.open(instructions="x" * 2048)
        assert (caught.value.code, scene.host.slots) == ("invalid_session_config", 0)
        await scene.open(instructions="x" * 1024)


def test_ap_22_no_wait_holds_a_worker() -> None:
    """vllm-omni: a wait occupied the executor thread that what it waited for needed. Here nothing has an executor."""
    for folder in ("session", "runtime", "transport", "embed"):
        for file in (SOURCE / folder).glob("*.py"):
            names = {node.attr for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute)}
            assert not names & {"to_thread", "from_thread", "run_in_executor", "Semaphore", "CapacityLimiter"}, file


@pytest.mark.parametrize("lost", ["cleared", "failed", "refused", "worker", "gone", "finished"])
async def test_each_turn_that_is_lost_is_told_once_and_keeps_its_room_until_the_stage_lets_go(lost: str) -> None:
    """I12: each accepted command has one outcome. A clear, or a failure, had swallowed turns without a word."""
    async with play(max_turns=3) as scene:
        session, first = await committed(scene, turns=2)
        (listening,) = scene.fleet[EARS].held
        scene.fleet[EARS].script.abort = "hang"
        match lost:
            case "cleared":
                session.clear_input()
            case "failed":
                scene.fleet[EARS].fail(listening)
            case "refused":
                scene.fleet[EARS].refuse(listening)
            case "worker":
                scene.fleet.lose(EARS)
            case "gone":
                scene.fleet.gone(EARS)
            case _:
                scene.fleet[EARS].finish(listening)
        await trio.testing.wait_all_tasks_blocked()
        assert [code for code in codes(first) if code == TURN_LOST] == [TURN_LOST] * 2
        assert scene.driver(session).value.turns == (2 if lost in ("cleared", "failed", "worker") else 0)
        if lost == "worker":
            scene.fleet.gone(EARS)
        elif lost in ("cleared", "failed"):
            scene.fleet[EARS].say(listening, "", reason="commit")  # too late: its loss was told
            scene.fleet[EARS].confirm(listening)
        assert (scene.driver(session).value.turns, codes(first).count(TURN_LOST)) == (0, 2)
        assert first.numbers == sorted(set(first.numbers))


async def test_a_turn_lost_before_a_worker_came_is_told_as_well() -> None:
    async with play(reserve_s=3.0) as scene:
        scene.fleet.gone(EARS)
        session, first = await scene.open()
        session.append(LOUD)
        session.commit()
        await trio.sleep(3.1)
        assert codes(first) == ["runtime_append_failed", TURN_LOST]
        assert scene.driver(session).inputs == {}


async def test_a_turn_lost_with_its_session_is_told_by_the_terminal_alone() -> None:
    async with play() as scene:
        session, first = await committed(scene, turns=2)
        session.close()
        await first.wait_over()
        assert (codes(first), first.types[-1]) == ([], "session.closed")


async def test_a_thousand_small_appends_take_no_more_room_than_one_large_one() -> None:
    """Counted by their bytes, they piled up one by one, and empty ones without any limit."""
    async with play() as scene:
        scene.fleet.gone(EARS)
        session, _ = await scene.open()
        for _ in range(1000):
            session.append(b"\1\0")
            session.append(b"")
        (held,) = scene.driver(session).inputs.values()
        assert (len(held.waiting), held.queued_bytes, scene.driver(session).value.input_bytes) == (1, 2000, 2000)
