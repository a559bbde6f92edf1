"""A writer over a transport that can write without waiting: in the same step, in order, each frame once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from interlock.runtime.host import Host
from interlock.runtime.ports import EagerTransport, Output, TransportClosed
from interlock.runtime.talk import Session
from interlock.transport.memory import MemoryTransport
from interlock.workers.echo import VOICE
from interlock.workers.scripted import Script
from tests.runtime.stage_play import LOUD, Play, play, state


class Eager(MemoryTransport):
    """Takes what it accepts at once, and the rest when it is drained."""

    def __init__(self, accepts: float = float("inf")) -> None:
        super().__init__(accepts)
        self.left: list[bytes] = []
        self.at_once = 0
        self.word: Exception | None = None

    def write_now(self, frames: Sequence[bytes]) -> bool:
        if self.word is not None:
            raise self.word
        if not self.is_open:
            raise TransportClosed("the peer is gone")
        assert not self.left, "something was written before what is left was drained"
        fits = int(min(len(frames), self._accepts))
        self._accepts -= fits
        self.frames += frames[:fits]
        self.at_once += fits
        self.left = list(frames[fits:])
        self._change()
        return not self.left

    async def drain(self) -> None:
        left, self.left = self.left, []
        await self.send(left)


@asynccontextmanager
async def speaking() -> AsyncIterator[tuple[Play, Session, Eager, str]]:
    """A session whose voice stage says only what a test has it say; its writer sleeps."""
    async with play() as scene:
        scene.fleet[VOICE].script = Script()
        transport = Eager()
        scene.transports.append(transport)
        session = await scene.host.open(transport, {})
        session.append(LOUD)
        session.commit()
        await scene.until(session, lambda _: any(True for key in scene.fleet[VOICE].held))
        request_id = next(iter(scene.fleet[VOICE].held))
        await scene.until(session, lambda driver: driver.value.state("request", request_id) == "RUNNING")
        await trio.testing.wait_all_tasks_blocked()
        yield scene, session, transport, request_id


def say(host: Host, request_id: str, count: int, epoch: int = 1) -> None:
    host.reply(VOICE, 1, *[Output(request_id, epoch, "audio", bytes([n, 0]) * 48) for n in range(count)])


def deltas(transport: MemoryTransport) -> list[int]:
    return [e["server_event_seq"] for e in transport.events if e["type"] == "response.output_audio.delta"]


def test_the_transport_of_these_tests_is_one() -> None:
    assert isinstance(Eager(), EagerTransport)
    assert not isinstance(MemoryTransport(), EagerTransport)


@pytest.mark.parametrize("count", [1, 16, 40])
async def test_what_a_stage_says_is_written_in_the_step_in_which_it_is_heard(count: int) -> None:
    async with speaking() as (scene, session, transport, request_id):
        head = scene.driver(session).value.journal.head
        say(scene.host, request_id, count)
        assert deltas(transport) == list(range(head + 1, head + count + 1))
        assert scene.driver(session).value.journal.handed == head + count


async def test_what_does_not_fit_follows_when_there_is_room_and_nothing_overtakes_it() -> None:
    async with speaking() as (scene, session, transport, request_id):
        head = scene.driver(session).value.journal.head
        transport.stall()
        transport.allow(2)
        say(scene.host, request_id, 5)
        say(scene.host, request_id, 3)
        assert len(deltas(transport)) == 2
        await trio.testing.wait_all_tasks_blocked()
        assert len(deltas(transport)) == 2
        transport.allow()
        await trio.testing.wait_all_tasks_blocked()
        assert deltas(transport) == list(range(head + 1, head + 9))
        assert state(session, "attachment") == "ATTACHED"


async def test_a_transport_that_breaks_in_the_middle_of_a_reply_is_lost_and_the_reply_goes_on() -> None:
    async with speaking() as (scene, session, transport, request_id):
        transport.tear()
        say(scene.host, request_id, 3)
        say(scene.host, request_id, 3)
        await trio.testing.wait_all_tasks_blocked()
        assert state(session, "attachment") == "DETACHED"
        assert transport.aborts == ["the peer is gone"]
        assert len([frame for frame in scene.driver(session).frames.live if frame.epoch]) >= 6


async def test_a_stalled_transport_is_given_up_after_write_s() -> None:
    async with speaking() as (scene, session, transport, request_id):
        transport.stall()
        say(scene.host, request_id, 1)
        began = trio.current_time()
        await scene.until(session, lambda driver: driver.value.state("attachment") == "DETACHED")
        assert trio.current_time() - began == pytest.approx(scene.host.settings.write_s)


async def test_nothing_stale_is_written_after_an_interrupt_though_it_was_said_in_one_breath() -> None:
    async with speaking() as (scene, session, transport, request_id):
        transport.stall()
        transport.allow(2)
        say(scene.host, request_id, 16)
        session.barge_in()
        say(scene.host, request_id, 16)
        before = len(deltas(transport)) + len(transport.left)
        transport.allow()
        await trio.testing.wait_all_tasks_blocked()
        assert len(deltas(transport)) == before
        assert transport.types[-1] == "response.done" or "response.done" in transport.types


async def test_a_transport_that_breaks_its_word_in_the_middle_of_a_reply_costs_its_own_session_alone() -> None:
    async with speaking() as (scene, session, transport, request_id):
        other, second = await scene.open()
        transport.word = ValueError("no such word in the port")
        say(scene.host, request_id, 3)
        await trio.testing.wait_all_tasks_blocked()
        assert (state(session, "attachment"), state(session, "session")) == ("DETACHED", "OPEN")
        assert transport.aborts == ["ValueError"]
        assert (scene.host.is_stopping, state(other, "attachment")) == (False, "ATTACHED")
        other.heartbeat()
        await second.wait_for("session.heartbeat_ack")
