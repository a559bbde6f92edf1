"""Faults of a model in a real worker process with torch: each fails its own response, with a reason, and no other.

The world asks the oracle of the five promises after every commit, and sees the books come to nothing.
"""

from __future__ import annotations

import pytest

from tests.workers.faulted import QUICK, Client, world

pytestmark = [pytest.mark.real_clock, pytest.mark.slow, pytest.mark.timeout_s(120)]

MODEL = "tests.workers.torch.models:counting"
SETTINGS = QUICK.model_copy(update={"heartbeat_s": 3.0})

FAULTS = {
    "raise": "RuntimeError: step was told to raise",
    "blame": "Blamed: told to",
    "nan": "sum is not a finite number",
    "garbage": "ValueError: step made",
    "memory": "memory",
    "take": "RuntimeError: take was told to raise",
    "fill": "RuntimeError: fill was told to raise",
    "open": "RuntimeError: open was told to raise",
}


async def answered(client: Client, count: int, text: str = "123") -> None:
    assert await client.ended(count) == ("completed", "")
    assert client.said(count) == text


async def test_a_models_fault_fails_its_own_response_and_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """All faults there are, one after the other, in one worker that never stops: beside each, two others talk on."""
    async with world(MODEL, SETTINGS) as made:
        (bad, idle), others = await made.open(2), await made.open(2)
        before = len(idle.transport.frames)
        for turn, fault in enumerate(FAULTS, 1):
            for client in others:
                client.ask(steps=400)
            bad.ask(steps=100, fault=fault, at=3)
            status, reason = await bad.ended(turn)
            assert (fault, status) == (fault, "failed")
            assert FAULTS[fault] in reason
            for client in others:
                await answered(client, turn, "".join(map(str, range(1, 401))))
        bad.ask(steps=3)
        await answered(bad, len(FAULTS) + 1)
        assert made.worker()["incarnation"] == 1
        assert len(idle.transport.frames) == before
        assert [len(client.ends) for client in (bad, *others)] == [len(FAULTS) + 1, *[len(FAULTS)] * 2]


async def test_a_step_that_hangs_loses_the_worker_and_all_that_it_held() -> None:
    async with world(MODEL, SETTINGS) as made:
        asking, (idle,) = await made.open(3), await made.open()
        before = len(idle.transport.frames)
        for client in asking[1:]:
            client.ask(steps=1_000_000)
            await client.transport.wait_for("response.output_audio_transcript.delta")
        asking[0].ask(steps=100, fault="hang", at=3)
        for client in asking:
            assert await client.ended() == ("failed", "worker_lost")
        assert len(idle.transport.frames) == before
        for client in (*asking, idle):
            client.ask(steps=3)
        for client in asking:
            await answered(client, 2)
        await answered(idle, 1)
        assert made.worker()["incarnation"] == 2


async def test_a_full_pool_refuses_one_more_and_serves_it_when_there_is_room() -> None:
    async with world(MODEL, SETTINGS, args={"capacity": 2}) as made:
        first, second, third = await made.open(3)
        for client in (first, second):
            client.ask(steps=1_000_000)
            await client.transport.wait_for("response.output_audio_transcript.delta")
        third.ask(steps=3)
        status, reason = await third.ended()
        assert (status, bool(reason)) == ("failed", True)
        first.session.barge_in()
        await first.driver.room.wait_for(lambda: not first.states())
        third.ask(steps=3)
        await answered(third, 2)
        second.session.barge_in()
