"""Faults of real worker processes under a real host: the five promises hold, and only who was on that worker notices.

``world`` asks the oracle after every commit and at rest, and sees the books come to nothing.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio

from interlock.runtime.ports import Accepted
from interlock.workers.process import ProcessCarrier
from interlock.workers.protocol import VERSION, Hello, Ready, encode
from tests.workers.faulted import MIND, QUICK, Client, World, world
from tests.workers.test_process import _speaks

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(60)]

LONG: dict[str, Any] = {"words": 1_000_000, "pace_s": 0.01}
SIGNALS = [signal.SIGKILL, signal.SIGSTOP]
WORKERS = QUICK.model_copy(update={"heartbeat_s": 2.0})
"""Long enough that a healthy worker on a busy machine is not taken for a stopped one."""
LOST = ("failed", "worker_lost")


async def goes_on(clients: Sequence[Client], count: int) -> None:
    """Each of these says something else, and is answered; it is the response of this number."""
    for client in clients:
        client.ask(words=3)
    for client in clients:
        assert await client.ended(count) == ("completed", "")
        assert client.said(count) == "1 2 3 "


async def bystanders_notice_nothing(made: World) -> list[Client]:
    """Open sessions that have no request at the worker; what they have read so far is all that they will."""
    idle, done = await made.open(), await made.open()
    await goes_on(done, 1)
    return [*idle, *done]


def frames_of(clients: Sequence[Client]) -> list[int]:
    return [len(client.transport.frames) for client in clients]


@pytest.mark.parametrize("number", SIGNALS)
async def test_a_worker_struck_while_it_starts_costs_nothing_but_time(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "first").touch()
    settings = WORKERS.model_copy(update={"start_s": 5.0})
    async with world(workers=settings, ready=False, args={"starts": str(tmp_path / "first")}) as made:
        asking, idle = await made.open(3), await made.open(2)
        for client in asking:
            client.ask(words=3)
            await client.is_in("RESERVED")
        while (tmp_path / "first").exists():  # noqa: ASYNC110 - another process has no event for it
            await trio.sleep(0.01)
        before = frames_of(idle)
        made.strike(number)
        for client in asking:
            assert await client.ended() == ("completed", "")
        assert made.worker()["incarnation"] == 2
        assert frames_of(idle) == before


@pytest.mark.parametrize("number", SIGNALS)
async def test_sr_15_a_worker_struck_in_mid_submit_fails_what_was_maybe_submitted(number: signal.Signals) -> None:
    async with world(workers=WORKERS) as made:
        idle = await bystanders_notice_nothing(made)
        asking, before = await made.open(3), frames_of(idle)
        for client in asking:
            client.ask(words=3, hangs=["open"])
            await client.is_in("SUBMITTING")
        made.strike(number)
        for client in asking:
            assert await client.ended() == LOST
        assert frames_of(idle) == before
        await _go_on(asking, idle)


async def _go_on(asking: Sequence[Client], idle: Sequence[Client]) -> None:
    """Everybody is answered by the next worker: those who failed, those who were idle, those who had been answered."""
    await goes_on(asking, 2)
    await goes_on(idle[:1], 1)
    await goes_on(idle[1:], 2)
    assert [len(client.ends) for client in asking] == [2] * len(asking)


@pytest.mark.parametrize("number", SIGNALS)
async def test_a_worker_struck_in_mid_reply_fails_each_response_once(number: signal.Signals) -> None:
    async with world(workers=WORKERS) as made:
        idle = await bystanders_notice_nothing(made)
        asking, before = await made.open(3), frames_of(idle)
        for client in asking:
            client.ask(**LONG)
        for client in asking:
            await client.transport.wait_for("response.output_audio_transcript.delta")
        made.strike(number)
        for client in asking:
            assert await client.ended() == LOST
        assert frames_of(idle) == before
        await _go_on(asking, idle)


@pytest.mark.parametrize("number", SIGNALS)
async def test_sr_01_a_worker_struck_in_mid_abort_releases_what_it_owed(number: signal.Signals) -> None:
    """One clean-up hangs; the request that was cancelled stays on the books until the process is gone."""
    async with world(workers=WORKERS) as made:
        idle = await bystanders_notice_nothing(made)
        (first, *others), before = await made.open(3), frames_of(idle)
        for client in (first, *others):
            client.ask(**LONG, hangs=["close"] if client is first else [])
            await client.transport.wait_for("response.output_audio_transcript.delta")
        first.session.barge_in()
        assert first.states() == ["ABORTING"]
        assert await first.ended() == ("cancelled", "client_cancelled")
        assert made.host.owed()[0]["state"] == "ABORTING"
        made.strike(number)
        for client in others:
            assert await client.ended() == LOST
        await first.driver.room.wait_for(lambda: not first.states())
        assert made.host.is_gone(MIND, 1)
        assert frames_of(idle) == before
        await _go_on([first, *others], idle)


@pytest.mark.parametrize("how", ["half_frame", "exits"])
async def test_a_worker_that_sends_half_a_frame_and_dies_is_lost(how: str) -> None:
    async with world(workers=WORKERS) as made:
        idle = await bystanders_notice_nothing(made)
        asking, before = await made.open(3), frames_of(idle)
        for client in asking[1:]:
            client.ask(**LONG)
            await client.transport.wait_for("response.output_audio_transcript.delta")
        asking[0].ask(words=3, **{how: True})
        for client in asking:
            assert await client.ended() == LOST
        assert frames_of(idle) == before
        await _go_on(asking, idle)


async def test_a_model_that_hangs_in_a_step_is_killed_with_its_worker() -> None:
    async with world(workers=WORKERS) as made:
        idle = await bystanders_notice_nothing(made)
        asking, before = await made.open(2), frames_of(idle)
        asking[0].ask(**LONG)
        await asking[0].transport.wait_for("response.output_audio_transcript.delta")
        asking[1].ask(words=3, hangs=["step"])
        for client in asking:
            assert await client.ended() == LOST
        assert frames_of(idle) == before
        await _go_on(asking, idle)


HELLO, READY = encode(Hello(VERSION, "mind", 1)), encode(Ready())

FIRST_WORDS = {
    "another version": _speaks(encode(Hello(VERSION + 1, "mind", 1)), READY),
    "an older version": _speaks(encode(Hello(VERSION - 1, "mind", 1)), READY),
    "another stage": _speaks(encode(Hello(VERSION, "voice", 1)), READY),
    "an answer before it is ready": _speaks(HELLO, encode(Accepted("r1"))),
    "half a hello": _speaks(HELLO[:-1], then="sys.exit(0)"),
}


async def test_workers_with_the_wrong_words_never_get_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first five workers of the mind are none; what was asked meanwhile waits for the next."""
    commands = list(FIRST_WORDS.values())
    right = ProcessCarrier._command
    monkeypatch.setattr(ProcessCarrier, "_command", lambda carrier: commands.pop() if commands else right(carrier))
    settings = WORKERS.model_copy(update={"max_restarts": len(commands)})
    async with world(workers=settings, ready=False, reserve_s=30.0) as made:
        asking = await made.open(2)
        for client in asking:
            client.ask(words=3)
        for client in asking:
            assert await client.ended() == ("completed", "")
        assert made.worker()["incarnation"] == 1 + len(FIRST_WORDS)


async def test_a_stage_that_fails_too_often_is_given_up_and_its_sessions_are_told() -> None:
    """Nobody waits for ever: a request that finds no worker in ``reserve_s`` fails, and the session goes on."""
    settings = WORKERS.model_copy(update={"max_restarts": 0})
    async with world(workers=settings, reserve_s=1.0) as made:
        (client,) = await made.open()
        client.ask(**LONG)
        await client.transport.wait_for("response.output_audio_transcript.delta")
        made.strike(signal.SIGKILL)
        assert await client.ended() == LOST
        client.ask(words=3)
        status, reason = await client.ended(2)
        assert (status, bool(reason)) == ("failed", True)
