"""Every limit of `session/settings.py` that counts something: hit once, told to whoever hit it, and to nobody else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from interlock.errors import ClientError, LimitReached
from interlock.runtime.acts import ResyncRequired
from interlock.tables import messages as m
from interlock.transport.converse import converse
from interlock.transport.memory import MemoryTransport
from interlock.transport.opening import Opening
from interlock.wire.lifecycle import LifecycleFacts
from interlock.workers.echo import EARS, VOICE
from interlock.workers.scripted import Script
from tests.faults.door import alive, door
from tests.runtime.stage_play import LOUD, Play, play, speak_up_to, state
from tests.transport.spoken import Line

KIB = 1024
SMALL: dict[str, Any] = {"journal_bytes": 64 * KIB, "reserve_bytes": 4 * KIB, "write_bytes": 4 * KIB}


@asynccontextmanager
async def beside(**settings: Any) -> AsyncIterator[Play]:
    """Run a play in which a bystander must notice nothing."""
    async with play(**settings) as scene:
        other, second = await scene.open()
        before = other._driver.value
        yield scene
        other.heartbeat()
        await second.wait_for("session.heartbeat_ack")
        assert other._driver.value == before
        assert second.types == ["session.created", "session.heartbeat_ack"]


def errors(transport: MemoryTransport) -> list[tuple[str, str]]:
    return [(e["error"]["code"], e["error"]["message"]) for e in transport.events if e["type"] == "error"]


def release(scene: Play, *stages: str) -> None:
    """Let stages confirm, from now on and what they have held back."""
    for name in stages:
        scene.fleet[name].script.abort = "confirm"
        for held in list(scene.fleet[name].held):
            scene.fleet[name].confirm(held)


async def test_max_sessions() -> None:
    async with beside(max_sessions=2) as scene:
        await scene.open()
        with pytest.raises(LimitReached, match="max_sessions = 2 is reached; try again") as full:
            await scene.open()
        assert (full.value.code, full.value.retryable) == ("resource_exhausted", True)


async def test_max_requests() -> None:
    async with beside(max_requests=2) as scene:
        session, first = await scene.open()
        session.append(LOUD)
        session.commit()
        await first.wait_for("error")
        assert errors(first) == [
            ("resource_exhausted", "max_requests = 2 is reached; try again when something has ended")
        ]
        assert (state(session, "session"), scene.driver(session).value.answered) == ("OPEN", 0)


async def test_max_responses() -> None:
    """A newer turn ends the answer to the one before it, so that one is enough for whoever talks without a pause."""
    async with beside(max_responses=1, max_requests=64) as scene:
        scene.fleet[VOICE].script.ends = False
        session, first = await scene.open()
        for _ in range(4):
            await speak_up_to(scene, session, "response")
            await trio.testing.wait_all_tasks_blocked()
        assert (errors(first), first.types.count("response.done")) == ([], 3)
        assert scene.host.limits()["max_responses"]["high_water"] == 1


async def test_max_fences() -> None:
    async with beside(max_fences=2) as scene:
        scene.fleet[VOICE].script = Script(abort="hang")
        session, first = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        session.barge_in()
        session.append(LOUD)
        session.commit()
        await first.wait_for("error")
        assert errors(first) == [("resource_exhausted", "max_fences = 2 is reached")]
        release(scene, VOICE)


async def test_max_evicting() -> None:
    async with beside(max_evicting=1, evict_s=2.0) as scene:
        session, first = await scene.open()
        transports = [first]
        for _ in range(2):
            transports[-1].stall()
            session.heartbeat()
            await trio.testing.wait_all_tasks_blocked()
            transports.append(scene.transport())
            session = await scene.host.resume(session.session_id, first.credentials[1], 0, transports[-1])
        assert [made.aborts for made in transports] == [[], ["session_replaced"], []]


async def test_max_turns() -> None:
    async with beside(max_turns=1) as scene:
        scene.fleet[EARS].script = Script()
        session, _ = await scene.open()
        session.append(LOUD)
        session.commit()
        with pytest.raises(LimitReached, match="max_turns = 1") as full:
            session.commit()
        assert (full.value.code, scene.driver(session).value.turns) == ("input_backpressure", 1)


async def test_max_retries() -> None:
    async with beside(max_retries=1, idle_s=3000.0) as scene:
        scene.fleet[VOICE].script = Script(abort="refuse")
        session, first = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        session.barge_in()
        await trio.sleep(60.0)
        assert [(entry["retries"], entry["rests"]) for entry in scene.host.owed()] == [(1, True)]
        assert [code for code, _ in errors(first)] == ["runtime_signal_failed"]
        release(scene, VOICE)


async def test_max_steps() -> None:
    """Settings that pass cannot reach it: a session has room to end with all it may have. Past it, it ends loudly."""
    async with play(defects=2) as scene:
        session, first = await scene.open()
        other, _ = await scene.open()
        driver = scene.driver(session)
        driver.value = driver.value._replace(settings=driver.settings.model_copy(update={"max_steps": 3}))
        driver.dispatch(m.TurnHeard("resp_1", scene.host.pipeline.answer))  # type: ignore[arg-type]
        assert "over 3 deliveries in one run" in scene.host.defects[0]
        driver.value = driver.value._replace(settings=driver.settings)
        driver.dispatch(m.EndRequested("internal_error"))
        await first.wait_over()
        assert (first.events[-1]["reason"], state(other, "session")) == ("internal_error", "OPEN")


async def test_max_notices() -> None:
    async with beside(max_notices=2) as scene:
        session, first = await scene.open()
        first.stall()
        session.heartbeat()
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(3):
            session.heartbeat()
        assert (state(session, "attachment"), first.aborts) == ("DETACHED", ["notices_overflowed"])


async def test_max_refusals() -> None:
    async with beside(max_refusals=2) as scene:
        line = Line(Opening("/v1/duplex"))
        line.hear({"type": "session.resume"})
        line.hear({"type": "session.update"})
        await converse(scene.host, line)
        told = [code for code, _ in errors(line)]
        assert (told, line.closings) == (["bad_event"] * 3, [(4400, "bad_event")])
        assert errors(line)[-1][1] == "max_refusals = 2 first messages were refused"


async def test_max_playback() -> None:
    async with beside(max_playback=1) as scene:
        session, _ = await scene.open()
        await scene.speak(session)
        (forgotten,) = scene.driver(session).value.playback
        await scene.speak(session)
        await scene.until(session, lambda driver: driver.value.playback[-1].response_id != forgotten.response_id)
        with pytest.raises(ClientError) as caught:
            session.playback_ack(forgotten.response_id, 1.0)
        assert caught.value.code == "playback_item_not_found"


async def test_max_tombstones() -> None:
    async with beside(max_tombstones=2) as scene:
        ended = []
        for _ in range(3):
            session, first = await scene.open()
            ended.append((session.session_id, first.credentials[1]))
            session.close()
            await session.wait_closed()
        told = []
        for session_id, token in ended:
            with pytest.raises(ClientError) as caught:
                await scene.host.resume(session_id, token, 0, scene.transport())
            assert caught.value.code == "session_resume_expired"
            told.append(str(caught.value).partition(",")[0])
        assert told == ["no such session", *["the session has ended: client_close"] * 2]


async def test_journal_bytes() -> None:
    async with beside(**SMALL) as scene:
        scene.fleet[VOICE].script = Script()
        session, first = await scene.open()
        await speak_up_to(scene, session, "response")
        await trio.testing.wait_all_tasks_blocked()
        first.stall()
        (voice,) = scene.fleet[VOICE].held
        for index in range(60):
            scene.fleet[VOICE].audio(voice, index)
        first.allow()
        await first.wait_over()
        assert (first.types[-1], first.events[-1]["reason"]) == ("session.closed", "output_backpressure")


async def test_reserve_bytes() -> None:
    async with beside(**SMALL) as scene:
        session, first = await scene.open()
        first.stall()
        driver, held = scene.driver(session), 0
        while state(session, "session") == "OPEN":
            held = driver.frames.size
            driver.tell("error", LifecycleFacts(code="engine_error"))
        assert 64 * KIB < held <= 68 * KIB
        first.allow()
        await first.wait_over()
        assert (first.types[-1], first.events[-1]["reason"]) == ("session.closed", "output_backpressure")


@pytest.mark.parametrize(("overflow", "told"), [("close", "journal_overflow"), ("drop_oldest", "history up to")])
async def test_overflow(overflow: str, told: str) -> None:
    async with beside(**SMALL, overflow=overflow) as scene:
        session, first = await scene.open()
        session.detach()
        for _ in range(1000):
            scene.driver(session).tell("error", LifecycleFacts(code="engine_error"))
        with pytest.raises(ClientError, match=told) as caught:
            await scene.host.resume(session.session_id, first.credentials[1], 0, scene.transport())
        assert isinstance(caught.value, ResyncRequired) is (overflow == "drop_oldest")


async def test_journal_age_s() -> None:
    async with beside(journal_age_s=40.0) as scene:
        session, first = await scene.open()
        for _ in range(2):
            scene.driver(session).tell("error", LifecycleFacts(code="engine_error"))
            await trio.sleep(41.0)
        with pytest.raises(ResyncRequired) as lost:
            await scene.host.resume(session.session_id, first.credentials[1], 0, scene.transport())
        assert (lost.value.code, lost.value.resumable_from, lost.value.head) == ("journal_gap", 1, 2)


async def test_input_bytes() -> None:
    async with beside(input_bytes=64 * KIB) as scene:
        session, _ = await scene.open()
        with pytest.raises(LimitReached, match="input_bytes = 65536 is reached") as full:
            session.append(b"\0" * (64 * KIB + 2))
        assert (full.value.code, full.value.retryable) == ("input_backpressure", True)


@pytest.mark.real_clock
@pytest.mark.timeout_s(20)
async def test_frame_bytes() -> None:
    async with door(frame_bytes=2048) as opened:
        bystander, _, _ = await opened.open()
        wire, session_id, token = await opened.open()
        await wire.raw(b'"' + b"x" * 2048 + b'"')
        await wire.to_the_end()
        assert wire.transport.close_code == 1009
        _, first = await opened.resume(session_id, token)
        assert first["type"] == "session.resumed"
        await alive(bystander)


async def test_write_bytes() -> None:
    class Measured(MemoryTransport):
        sizes: list[tuple[int, int]]

        async def send(self, frames: Sequence[bytes]) -> None:
            self.sizes.append((len(frames), sum(map(len, frames))))
            await super().send(frames)

    async with beside(write_bytes=4 * KIB) as scene:
        session, first = await scene.open()
        await scene.speak(session)
        await trio.testing.wait_all_tasks_blocked()
        measured = Measured()
        measured.sizes = []
        await scene.host.resume(session.session_id, first.credentials[1], 0, measured)
        assert measured.numbers == first.numbers
        assert [sizes for sizes in measured.sizes if sizes[1] > 4 * KIB] == []
        assert max(count for count, _ in measured.sizes) > 1


async def test_config_bytes() -> None:
    async with beside(config_bytes=1024) as scene:
        session, _ = await scene.open(voice="low")
        for number in range(9):
            session.update({"voice": "x" * (100 + number)})
        with pytest.raises(ClientError, match="over config_bytes = 1024: send less") as caught:
            session.update({"instructions": "x" * 1024})
        assert caught.value.code == "invalid_session_config"
        assert "instructions" not in scene.driver(session).config
