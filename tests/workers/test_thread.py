"""What a thread cannot do: be killed. A model that hangs stays, and is said to."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import trio
import trio.testing

from interlock.runtime.ports import Accepted, Output
from interlock.workers.core import Ears, StageSpec, WorkerSettings
from interlock.workers.fleet import StageFleet
from interlock.workers.link import CarrierLink
from interlock.workers.protocol import Order
from tests.workers.models import HANGS, MADE, RELEASE, counting, endless
from tests.workers.recorder import Recorder

QUICK = WorkerSettings(stop_s=0.2, heartbeat_s=0.2, restart_s=0.01, outbox_bytes=100_000)


@pytest.fixture(autouse=True)
def release() -> Iterator[None]:
    RELEASE.clear()
    HANGS.clear()
    MADE.clear()
    yield
    RELEASE.set()
    for thread in _threads():
        thread.join()


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "interlock worker think"]


def _fleet(settings: WorkerSettings = QUICK) -> StageFleet:
    return StageFleet([StageSpec("think", counting, {"capacity": 8}, carrier="thread")], settings)


async def _ready(fleet: StageFleet, sink: Recorder, incarnation: int = 1) -> CarrierLink:
    await sink.until_told(("ready", "think", incarnation))
    link = fleet.link("think")
    assert link is not None
    return link


class Untouched:
    """A carrier that nobody may hand anything to."""

    pid = None

    async def run(self, ears: Ears) -> None:
        raise AssertionError(ears)

    def send(self, order: Order) -> None:
        raise AssertionError(order)

    def kill(self) -> None:
        raise AssertionError


@pytest.mark.real_clock
async def test_a_hung_thread_stays_lost_until_it_ends_and_only_then_is_replaced(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    fleet, sink = _fleet(), Recorder()
    nursery.start_soon(fleet.run, sink)
    link = await _ready(fleet, sink)
    link.submit("r1", 1, {"hangs": ["open"]})
    await sink.until_told(("lost", "think", 1))
    assert fleet.link("think") is None
    assert fleet.owed() == [{"stage": "think", "state": "LOST", "incarnation": 1}]
    assert "worker thread think cannot be killed" in caplog.text
    assert ("gone", "think", 1) not in sink.told
    link.carrier = Untouched()
    link.submit("r2", 1, {})
    link.abort(["r1"])
    RELEASE.set()
    await sink.until_told(("ready", "think", 2))
    assert sink.told[1:] == [("lost", "think", 1), ("gone", "think", 1), ("ready", "think", 2)]
    assert MADE[0].held() == {"slots": 0, "bytes": 0}


@pytest.mark.real_clock
async def test_a_cancel_waits_for_a_hung_thread_only_so_long_and_goes_on_owing_it() -> None:
    fleet, sink = _fleet(QUICK.model_copy(update={"heartbeat_s": 30.0})), Recorder()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fleet.run, sink)
        link = await _ready(fleet, sink)
        link.submit("r1", 1, {"hangs": ["open"]})
        await trio.to_thread.run_sync(HANGS.wait)
        nursery.cancel_scope.cancel()
    assert fleet.owed() == [{"stage": "think", "state": "LOST", "incarnation": 1}]
    assert sink.told == [("ready", "think", 1), ("lost", "think", 1)]
    RELEASE.set()
    for thread in _threads():
        await trio.to_thread.run_sync(thread.join)
    assert sink.replies == []
    assert MADE[0].held() == {"slots": 0, "bytes": 0}


def test_a_thread_that_outlives_trio_itself_ends_in_silence() -> None:
    fleet, sink = _fleet(), Recorder()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fleet.run, sink)
            link = await _ready(fleet, sink)
            link.submit("r1", 1, {"hangs": ["open"]})
            await trio.to_thread.run_sync(HANGS.wait)
            nursery.cancel_scope.cancel()

    trio.run(main)
    (thread,) = _threads()
    RELEASE.set()
    thread.join()
    assert MADE[0].held() == {"slots": 0, "bytes": 0}


@pytest.mark.real_clock
async def test_a_thread_that_was_given_up_while_it_loaded_ends_when_it_has() -> None:
    spec = StageSpec("think", endless, carrier="thread")
    fleet, sink = StageFleet([spec], QUICK), Recorder()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fleet.run, sink)
        await trio.to_thread.run_sync(HANGS.wait)
        nursery.cancel_scope.cancel()
    assert sink.told == [("lost", "think", 1)]
    RELEASE.set()
    for thread in _threads():
        await trio.to_thread.run_sync(thread.join)


@pytest.mark.real_clock
async def test_input_that_a_thread_does_not_take_is_bounded(nursery: trio.Nursery) -> None:
    fleet, sink = _fleet(QUICK.model_copy(update={"heartbeat_s": 30.0})), Recorder()
    nursery.start_soon(fleet.run, sink)
    link = await _ready(fleet, sink)
    link.submit("r1", 1, {"hangs": ["open"]})
    for _ in range(10):
        link.append("r1", bytes(10_000))
    assert sink.told == [("ready", "think", 1)]
    link.append("r1", b"1")
    assert sink.told == [("ready", "think", 1), ("lost", "think", 1)]


@pytest.mark.real_clock
async def test_input_that_a_thread_has_taken_counts_no_more(nursery: trio.Nursery) -> None:
    fleet, sink = _fleet(), Recorder()
    nursery.start_soon(fleet.run, sink)
    link = await _ready(fleet, sink)
    link.submit("r1", 1, {})
    for number in range(1, 31):
        link.append("r1", bytes(10_000))
        await sink.until_replied([Output("r1", 1, "text", str(number * 10_000).encode())])
    assert sink.of(Accepted) == [Accepted("r1")]
    assert sink.told == [("ready", "think", 1)]
