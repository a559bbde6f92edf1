"""One suite, both carriers: a fleet keeps its workers, and whatever becomes of one is told in order."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Literal

import pytest
import trio
import trio.testing

from interlock.errors import MachineError
from interlock.runtime.ports import Aborted, Accepted, Consumed, Failed, Finished, Output, Refused
from interlock.workers.core import StageSpec, WorkerSettings
from interlock.workers.fleet import StageFleet
from interlock.workers.link import CarrierLink
from tests.workers.models import MADE, RELEASE
from tests.workers.recorder import Recorder

CarrierName = Literal["process", "thread"]

pytestmark = pytest.mark.real_clock

QUICK = WorkerSettings(stop_s=1.0, heartbeat_s=2.0, restart_s=0.01, max_restarts=2)


@pytest.fixture(params=["thread", "process"])
def carrier(request: pytest.FixtureRequest) -> Iterator[CarrierName]:
    RELEASE.clear()
    MADE.clear()
    yield request.param
    RELEASE.set()


class Running:
    """A fleet of one stage that runs in a test's nursery."""

    def __init__(
        self,
        nursery: trio.Nursery,
        carrier: CarrierName,
        factory: str = "counting",
        settings: WorkerSettings = QUICK,
        **args: object,
    ) -> None:
        self.sink = Recorder()
        self.ended = trio.Event()
        spec = StageSpec("think", f"tests.workers.models:{factory}", args, carrier)
        self.fleet = StageFleet([spec], settings)
        self.scope = trio.CancelScope()
        self.cancelled = False
        nursery.start_soon(self._run)

    async def _run(self) -> None:
        with self.scope:
            try:
                await self.fleet.run(self.sink)
            except trio.Cancelled:
                self.cancelled = True
                raise
            finally:
                self.ended.set()

    async def ready(self, incarnation: int = 1) -> CarrierLink:
        await self.sink.until_told(("ready", "think", incarnation))
        link = self.fleet.link("think")
        assert link is not None
        return link


async def test_a_request_is_served_from_submit_to_finish(nursery: trio.Nursery, carrier: CarrierName) -> None:
    running = Running(nursery, carrier)
    link = await running.ready()
    assert (link.stage, link.incarnation) == ("think", 1)
    link.submit("r1", 5, {"any": [1, 2.5, None, "ü"]})
    link.append("r1", bytes(1000))
    await running.sink.until_replied([Output("r1", 5, "text", b"1000")])
    link.finish("r1")
    await running.sink.until_replied([Finished("r1")])
    assert running.sink.replies == [
        Accepted("r1"),
        Consumed("r1", 1000),
        Output("r1", 5, "text", b"1000"),
        Finished("r1"),
    ]


async def test_large_input_and_output_pass_whole(nursery: trio.Nursery, carrier: CarrierName) -> None:
    running = Running(nursery, carrier)
    link = await running.ready()
    link.submit("r1", 1, {"text": "x" * 1_000_000})
    for _ in range(8):
        link.append("r1", bytes(1_000_000))
    await running.sink.until_replied([Output("r1", 1, "text", b"8000000")])


async def test_orders_are_done_in_order_whatever_they_are(nursery: trio.Nursery, carrier: CarrierName) -> None:
    """No abort overtakes its submit, no input its abort: the replies are those of the orders, one after another."""
    running = Running(nursery, carrier, capacity=1_000)
    link, chance = await running.ready(), random.Random(20)
    expected: list[object] = []
    open_ids: list[str] = []
    ended: list[str] = []
    for number in range(500):
        match chance.choice("saafx") if open_ids else "s":
            case "s":
                open_ids.append(f"r{number}")
                link.submit(open_ids[-1], number, {})
                expected.append(Accepted(open_ids[-1]))
            case "a":
                request_id = chance.choice([*open_ids, *ended[-3:]])
                link.append(request_id, bytes(number))
                expected.append(Consumed(request_id, number))
            case "f":
                link.finish(chance.choice([*ended[-3:], "never"]))
            case _:
                aborted = [open_ids.pop(chance.randrange(len(open_ids))), "never", *ended[-1:]]
                link.abort(aborted)
                expected += [Aborted(request_id) for request_id in aborted]
                ended.append(aborted[0])
        if chance.random() < 0.1:
            await trio.lowlevel.checkpoint()
    link.abort(["last"])
    await running.sink.until_replied([Aborted("last")])
    assert [r for r in running.sink.replies if not isinstance(r, Output)] == [*expected, Aborted("last")]


async def test_a_worker_says_what_its_model_holds_with_each_sign_of_life(
    nursery: trio.Nursery, carrier: CarrierName
) -> None:
    running = Running(nursery, carrier)
    link = await running.ready()
    link.submit("r1", 1, {})
    link.append("r1", bytes(1000))
    with trio.fail_after(10):
        while running.fleet.held("think") != {"slots": 1, "bytes": 1000}:  # noqa: ASYNC110 - beats come by time
            await trio.sleep(0.02)
    (worker,) = running.fleet.workers()
    assert (worker["stage"], worker["state"], worker["incarnation"]) == ("think", "READY", 1)
    assert worker["held"] == {"slots": 1, "bytes": 1000}
    assert (worker["pid"] is None) == (carrier == "thread")


async def test_an_id_that_the_stage_never_knew_is_confirmed(nursery: trio.Nursery, carrier: CarrierName) -> None:
    running = Running(nursery, carrier)
    (await running.ready()).abort(["never"])
    await running.sink.until_replied([Aborted("never")])


async def test_one_requests_fault_is_its_own(nursery: trio.Nursery, carrier: CarrierName) -> None:
    running = Running(nursery, carrier)
    link = await running.ready()
    link.submit("good", 1, {})
    link.submit("bad", 1, {"raises": ["step"], "blames": True})
    await running.sink.until_replied([Failed("bad", "Blamed: step was told to raise")])
    link.submit("worse", 1, {"raises": ["open"]})
    link.append("good", b"abc")
    await running.sink.until_replied([Output("good", 1, "text", b"3")])
    assert Refused("worse", "Blamed: open was told to raise") in running.sink.replies
    assert running.sink.of(Failed, "good") == []


async def test_stop_lets_a_worker_give_back_what_it_has_and_leaves_nothing(
    nursery: trio.Nursery, carrier: CarrierName
) -> None:
    running = Running(nursery, carrier)
    link = await running.ready()
    link.submit("r1", 1, {})
    running.fleet.stop()
    assert running.fleet.link("think") is None
    assert running.fleet.owed() == [{"stage": "think", "state": "DRAINING", "incarnation": 1}]
    link.submit("r2", 1, {})
    link.abort(["r1"])
    await running.ended.wait()
    assert running.fleet.owed() == []
    assert running.sink.log[1:] == [
        Accepted("r1"),
        Refused("r2", "the worker is stopping"),
        Aborted("r1"),
        ("lost", "think", 1),
        ("gone", "think", 1),
    ]


async def test_a_stop_before_the_worker_is_ready_ends_it_too(nursery: trio.Nursery, carrier: CarrierName) -> None:
    running = Running(nursery, carrier)
    await trio.testing.wait_all_tasks_blocked()
    running.fleet.stop()
    await running.ended.wait()
    assert running.fleet.owed() == []
    assert running.sink.told[-2:] == [("lost", "think", 1), ("gone", "think", 1)]
    assert [event for event in running.sink.told if event[2] > 1] == []


async def test_a_worker_that_keeps_its_requests_is_ended_past_the_stop_deadline(
    nursery: trio.Nursery, carrier: CarrierName
) -> None:
    running = Running(nursery, carrier)
    link = await running.ready()
    link.submit("r1", 1, {})
    running.fleet.stop()
    await running.ended.wait()
    assert running.sink.told == [("ready", "think", 1), ("lost", "think", 1), ("gone", "think", 1)]


async def test_a_stage_that_cannot_start_is_tried_again_and_then_given_up(
    nursery: trio.Nursery, carrier: CarrierName
) -> None:
    running = Running(nursery, carrier, "impossible")
    await running.ended.wait()
    assert running.sink.told == [(word, "think", number) for number in (1, 2, 3) for word in ("lost", "gone")]
    assert running.fleet.owed() == []


async def test_a_worker_whose_model_breaks_is_replaced_by_a_new_incarnation(
    nursery: trio.Nursery, carrier: CarrierName
) -> None:
    running = Running(nursery, carrier)
    link = await running.ready()
    link.submit("r1", 1, {"raises": ["step", "close"]})
    successor = await running.ready(incarnation=2)
    assert running.sink.told == [
        ("ready", "think", 1),
        ("lost", "think", 1),
        ("gone", "think", 1),
        ("ready", "think", 2),
    ]
    successor.submit("r2", 1, {})
    await running.sink.until_replied([Accepted("r2")])


async def test_a_lost_workers_link_answers_nothing(nursery: trio.Nursery, carrier: CarrierName) -> None:
    running = Running(nursery, carrier)
    link = await running.ready()
    link.submit("r1", 1, {"raises": ["step", "close"]})
    successor = await running.ready(incarnation=2)
    told = len(running.sink.replies)
    link.submit("r2", 1, {})
    link.abort(["r1"])
    successor.abort(["fence"])
    await running.sink.until_replied([Aborted("fence")])
    assert running.sink.replies[told:] == [Aborted("fence")]


@pytest.mark.parametrize("moment", ["at once", "starting", "ready", "busy", "draining"])
async def test_a_cancel_of_run_ends_every_worker_and_propagates(
    nursery: trio.Nursery, carrier: CarrierName, moment: str
) -> None:
    running = Running(nursery, carrier)
    if moment == "starting":
        await trio.testing.wait_all_tasks_blocked()
    elif moment != "at once":
        link = await running.ready()
        link.submit("r1", 1, {})
        if moment == "busy":
            await running.sink.until_replied([Accepted("r1")])
        if moment == "draining":
            running.fleet.stop()
    running.scope.cancel()
    await running.ended.wait()
    assert running.cancelled
    assert running.fleet.owed() == []
    assert running.sink.told[-1:] == [("gone", "think", 1)] or (moment == "at once" and running.sink.told == [])


async def test_a_cancel_before_anything_has_begun_starts_nothing(carrier: CarrierName) -> None:
    fleet, sink = StageFleet([StageSpec("think", "tests.workers.models:counting", carrier=carrier)], QUICK), Recorder()
    with trio.CancelScope() as scope:
        scope.cancel()
        await fleet.run(sink)
    assert scope.cancelled_caught
    assert (sink.told, fleet.state("think")) == ([], "STOPPED")


async def test_a_cancel_as_it_begins_ends_what_has_begun_and_begins_nothing_more() -> None:
    """Whichever of three tasks comes first, and that is chance."""
    for _ in range(20):
        fleet, scope = (
            StageFleet([StageSpec("think", "tests.workers.models:counting", carrier="thread")], QUICK),
            trio.CancelScope(),
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_run_in, scope, fleet)
            nursery.start_soon(_cancel, scope)
        assert (scope.cancelled_caught, fleet.state("think")) == (True, "STOPPED")


async def _run_in(scope: trio.CancelScope, fleet: StageFleet) -> None:
    with scope:
        await fleet.run(Recorder())


async def _cancel(scope: trio.CancelScope) -> None:
    scope.cancel()


async def test_a_cancel_between_two_incarnations_is_the_end(nursery: trio.Nursery, carrier: CarrierName) -> None:
    running = Running(nursery, carrier, "impossible", settings=QUICK.model_copy(update={"restart_s": 30.0}))
    await running.sink.until_told(("gone", "think", 1))
    assert (running.fleet.state("think"), running.fleet.owed()) == ("LOST", [])
    running.scope.cancel()
    await running.ended.wait()
    assert running.fleet.state("think") == "STOPPED"


async def test_a_fleet_that_was_stopped_before_it_ran_starts_nothing(carrier: CarrierName) -> None:
    fleet = StageFleet([StageSpec("think", "tests.workers.models:counting", carrier=carrier)], QUICK)
    fleet.stop()
    sink = Recorder()
    await fleet.run(sink)
    assert sink.told == []


async def test_a_fleet_of_no_stages_is_at_its_end() -> None:
    await StageFleet([]).run(Recorder())


def test_two_workers_for_one_stage_are_refused() -> None:
    spec = StageSpec("think", "tests.workers.models:counting")
    with pytest.raises(MachineError, match="two workers for the stage think"):
        StageFleet([spec, spec])


class Faulty(Recorder):
    """A host with a defect."""

    def worker_ready(self, stage: str, incarnation: int) -> None:
        super().worker_ready(stage, incarnation)
        raise ZeroDivisionError


async def test_a_defect_of_the_host_is_loud_and_leaves_no_worker(carrier: CarrierName) -> None:
    fleet = StageFleet([StageSpec("think", "tests.workers.models:counting", carrier=carrier)], QUICK)
    with pytest.RaisesGroup(ZeroDivisionError, flatten_subgroups=True):
        await fleet.run(Faulty())
    for thread in threading.enumerate():
        if thread.name == "interlock worker think":
            await trio.to_thread.run_sync(thread.join)
