"""A clean-up that the device has not finished yet is confirmed when it has, and not a step before."""

from __future__ import annotations

import pytest

from interlock.runtime.ports import Aborted, Accepted, Consumed, Failed, Finished, Refused, Reply
from interlock.workers.loop import StageLoop
from interlock.workers.protocol import Abort, Append, Beat, Finish, Order, Ready, Report, Stop, Submit
from tests.workers.models import Counting


class Late(Counting):
    """Lets go of what is closed when a test says so."""

    def __init__(self, capacity: int = 2) -> None:
        super().__init__(capacity)
        self.leaving: set[str] = set()

    def close(self, request_id: str) -> None:
        if request_id in self.requests:
            self.leaving.add(request_id)
        super().close(request_id)

    def is_leaving(self, request_id: str) -> bool:
        return request_id in self.leaving

    def due(self, now: float) -> float | None:
        return 0.001 if self.leaving and not self.made else super().due(now)


class Bench:
    def __init__(self) -> None:
        self.model = Late()
        self.said: list[Report] = []
        self.loop = StageLoop(self.model, self.said.append, beat_s=60.0)
        self.loop.begin(0.0)

    def do(self, *orders: Order) -> list[Report]:
        self.said.clear()
        for order in orders:
            self.loop.take(order, 0.0)
        self.loop.advance(0.0)
        return [report for report in self.said if not isinstance(report, Beat | Ready)]


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    assert made.do(Submit("r1", 1)) == [Accepted("r1")]
    return made


@pytest.mark.parametrize(("order", "reply"), [(Abort(["r1"]), Aborted("r1")), (Finish("r1"), Finished("r1"))])
def test_sr_19_a_clean_up_is_confirmed_when_the_device_has_let_go(bench: Bench, order: Order, reply: Reply) -> None:
    assert bench.do(order) == []
    assert bench.do() == []
    assert bench.loop.known == {"r1"}
    bench.model.leaving.clear()
    assert bench.do() == [reply]
    assert bench.loop.known == frozenset()
    assert bench.do() == []


def test_what_leaves_takes_no_input_makes_no_output_and_answers_every_abort(bench: Bench) -> None:
    assert bench.do(Append("r1", b"ab"), Abort(["r1"]), Append("r1", b"c"), Finish("r1")) == [
        Consumed("r1", 2),
        Consumed("r1", 1),
    ]
    assert bench.do(Abort(["r1", "never"])) == [Aborted("never")]
    bench.model.leaving.clear()
    assert bench.do() == [Aborted("r1"), Aborted("r1")]


def test_what_leaves_still_counts_against_the_capacity(bench: Bench) -> None:
    bench.do(Submit("r2", 1), Abort(["r1"]))
    assert bench.do(Submit("r3", 1)) == [Refused("r3", "the stage is full: 2 requests")]
    bench.model.leaving.clear()
    bench.do()
    assert bench.do(Submit("r3", 1)) == [Accepted("r3")]


def test_a_failure_is_told_at_once_and_its_clean_up_when_it_is_true(bench: Bench) -> None:
    bench.do(Submit("r2", 1, {"raises": ["step"], "blames": True}))
    assert bench.do(Abort(["r2"])) == []
    bench.model.leaving.clear()
    assert bench.do() == [Aborted("r2")]
    assert bench.loop.known == {"r1"}


def test_a_refusal_waits_for_the_device_as_well(bench: Bench) -> None:
    assert bench.do(Submit("r2", 1, {"raises": ["open"]})) == []
    bench.model.leaving.clear()
    assert bench.do() == [Refused("r2", "Blamed: open was told to raise")]


def test_a_worker_that_stops_waits_for_what_leaves(bench: Bench) -> None:
    bench.do(Abort(["r1"]), Stop())
    assert bench.loop.goes_on
    assert bench.loop.rest(0.0) == 0.001
    bench.model.leaving.clear()
    bench.do()
    assert not bench.loop.goes_on


def test_a_request_fails_once_however_it_leaves(bench: Bench) -> None:
    said = bench.do(Submit("r2", 1, {"raises": ["append"]}), Append("r2", b"x"), Append("r2", b"x"))
    assert said.count(Failed("r2", "Blamed: append was told to raise")) == 1
