"""The loop: every order is answered truthfully, and one request's failure is no other's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interlock.errors import WorldError
from interlock.runtime.ports import Aborted, AbortRefused, Accepted, Consumed, Failed, Finished, Output, Refused
from interlock.workers.loop import ORDERS_PER_TURN, REMEMBERED, StageLoop, serve
from interlock.workers.protocol import Abort, Append, Beat, Finish, Order, Ready, Report, Stop, Submit
from interlock.workers.stage import StageOutput
from tests.workers.models import Counting


class Bench:
    """A loop over a counting model, and what it said."""

    def __init__(self, capacity: int = 4) -> None:
        self.model = Counting(capacity)
        self.said: list[Report] = []
        self.loop = StageLoop(self.model, self.said.append, beat_s=1.0)

    def do(self, *orders: Order, now: float = 0.0) -> list[Report]:
        """Take orders, step once, and return what was said, but for beats."""
        self.said.clear()
        for order in orders:
            self.loop.take(order, now)
        self.loop.advance(now)
        return [report for report in self.said if not isinstance(report, Beat)]

    def open(self, request_id: str, **params: Any) -> list[Report]:
        return self.do(Submit(request_id, 1, params))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_request_lives_from_its_submit_to_its_finish_and_leaves_nothing(bench: Bench) -> None:
    assert bench.do(Submit("r1", 7)) == [Accepted("r1")]
    assert bench.do(Append("r1", b"abc")) == [Consumed("r1", 3), Output("r1", 7, "text", b"3")]
    assert bench.do(Append("r1", b"de")) == [Consumed("r1", 2), Output("r1", 7, "text", b"5")]
    assert bench.do(Finish("r1")) == [Finished("r1")]
    assert bench.model.held() == {"slots": 0, "bytes": 0}
    assert bench.loop.known == frozenset()


def test_over_capacity_is_refused_until_there_is_room() -> None:
    bench = Bench(capacity=1)
    bench.open("r1")
    assert bench.open("r2") == [Refused("r2", "the stage is full: 1 requests")]
    assert bench.do(Abort(["r1"])) == [Aborted("r1")]
    assert bench.open("r3") == [Accepted("r3")]


def test_sr_05_input_for_an_id_that_does_not_live_creates_nothing(bench: Bench) -> None:
    assert bench.do(Append("never", b"abc"), Finish("never")) == [Consumed("never", 3)]
    bench.open("r1")
    bench.do(Finish("r1"))
    assert bench.do(Append("r1", b"abc"), Finish("r1")) == [Consumed("r1", 3)]
    assert bench.open("r1") == [Refused("r1", "the id has ended")]
    assert bench.model.held()["slots"] == 0


def test_ended_ids_are_remembered_within_a_bound(bench: Bench) -> None:
    for number in range(REMEMBERED + 1):
        bench.do(Submit(f"r{number}", 1), Abort([f"r{number}"]))
    assert bench.open("r1") == [Refused("r1", "the id has ended")]
    assert bench.open("r0") == [Accepted("r0")]


def test_sr_19_an_abort_is_confirmed_for_every_id_known_or_not(bench: Bench) -> None:
    bench.open("r1")
    bench.do(Append("r1", b"abc"))
    assert bench.do(Abort(["r1", "never", "r1"])) == [Aborted("r1"), Aborted("never"), Aborted("r1")]
    assert bench.model.held() == {"slots": 0, "bytes": 0}


def test_sr_01_an_abort_that_fails_keeps_the_id_until_one_succeeds(bench: Bench) -> None:
    bench.open("r1", raises=["close"], count=2)
    refused = AbortRefused("r1", "Blamed: close was told to raise")
    assert bench.do(Abort(["r1"])) == [refused]
    assert bench.loop.known == {"r1"}
    assert bench.do(Abort(["r1"])) == [refused]
    assert bench.do(Abort(["r1"])) == [Aborted("r1")]
    assert bench.loop.known == frozenset()


def test_output_made_before_an_abort_is_not_told_after_it(bench: Bench) -> None:
    bench.open("r1")
    assert bench.do(Append("r1", b"abc"), Abort(["r1"])) == [Consumed("r1", 3), Aborted("r1")]


def test_what_open_raises_refuses_the_request_and_frees_it(bench: Bench) -> None:
    assert bench.open("r1", raises=["open"]) == [Refused("r1", "Blamed: open was told to raise")]
    assert bench.model.held()["slots"] == 0


def test_what_open_has_taken_and_close_cannot_free_is_a_failure_not_a_refusal(bench: Bench) -> None:
    (failed,) = bench.open("r1", raises=["open", "close"], count=1)
    assert failed == Failed("r1", "Blamed: open was told to raise; Blamed: close was told to raise")
    assert bench.do(Abort(["r1"])) == [Aborted("r1")]


@pytest.mark.parametrize(("method", "order"), [("append", Append("r1", b"")), ("finish", Finish("r1"))])
def test_what_a_call_for_one_request_raises_fails_that_one(bench: Bench, method: str, order: Order) -> None:
    bench.open("r1", raises=[method])
    bench.open("r2")
    assert Failed("r1", f"Blamed: {method} was told to raise") in bench.do(order)
    assert bench.loop.known == {"r2"}
    assert bench.do(Append("r2", b"a")) == [Consumed("r2", 1), Output("r2", 1, "text", b"1")]


def test_sr_11_what_step_raises_in_one_requests_name_fails_that_one(bench: Bench) -> None:
    bench.do(Submit("good", 1), Append("good", b"abc"))
    assert bench.open("bad", raises=["step"], blames=True) == [
        Accepted("bad"),
        Failed("bad", "Blamed: step was told to raise"),
    ]
    assert bench.do(Append("good", b"a")) == [Consumed("good", 1), Output("good", 1, "text", b"4")]


def test_what_step_raises_in_nobodys_name_fails_all_and_the_loop_goes_on(bench: Bench) -> None:
    bench.open("r1")
    reason = "Blamed: step was told to raise"
    assert bench.open("r2", raises=["step"]) == [Accepted("r2"), Failed("r1", reason), Failed("r2", reason)]
    assert bench.loop.known == frozenset()
    assert bench.open("r3") == [Accepted("r3")]


def test_a_failure_is_told_once_and_the_id_is_held_until_it_is_freed(bench: Bench) -> None:
    bench.do(Submit("r1", 1, {"raises": ["append", "close"], "count": 1}), Append("r1", b""))
    assert bench.loop.known == {"r1"}
    bench.model.made = [StageOutput("r1", "text", b"late")]
    assert bench.do(Append("r1", b"abc"), Finish("r1")) == [Consumed("r1", 3)]
    assert bench.do(Abort(["r1"])) == [Aborted("r1")]


def test_a_model_that_says_failed_has_the_request_failed_and_freed(bench: Bench) -> None:
    bench.open("r1")
    bench.model.made = [StageOutput("r1", "failed", reason="too long"), StageOutput("r1", "text", b"late")]
    assert bench.do() == [Failed("r1", "too long")]
    assert bench.model.held()["slots"] == 0


def test_finished_is_not_said_of_a_request_that_cannot_be_freed(bench: Bench) -> None:
    bench.open("r1", raises=["close"], count=1)
    assert bench.do(Finish("r1")) == [Failed("r1", "Blamed: close was told to raise")]
    assert bench.do(Abort(["r1"])) == [Aborted("r1")]


def test_an_id_submitted_twice_is_failed_rather_than_taken_twice(bench: Bench) -> None:
    bench.open("r1")
    assert bench.open("r1") == [Failed("r1", "the id was submitted twice")]
    assert bench.do(Abort(["r1"])) == [Aborted("r1")]


def test_a_model_that_fails_with_nobody_to_blame_ends_its_worker(bench: Bench) -> None:
    bench.open("r1", raises=["step", "close"])
    with pytest.raises(WorldError, match="no request to blame: Blamed: step was told to raise"):
        bench.do()


def test_a_stopping_worker_takes_nothing_new_and_ends_when_all_is_given_back(bench: Bench) -> None:
    bench.open("r1")
    assert bench.do(Stop(), Submit("r2", 1)) == [Refused("r2", "the worker is stopping")]
    assert bench.loop.goes_on
    assert bench.do(Append("r1", b"a"), Finish("r1"))[-1] == Finished("r1")
    assert not bench.loop.goes_on


def test_the_loop_beats_as_often_as_it_should_and_says_how_long_it_may_rest(bench: Bench) -> None:
    bench.loop.begin(10.0)
    assert bench.said == [Ready()]
    assert bench.loop.rest(10.25) == 0.75
    bench.do(now=10.5)
    assert bench.said == []
    bench.do(now=11.0)
    assert bench.said == [Beat({"slots": 0, "bytes": 0})]
    assert bench.loop.rest(11.0) == 1.0


def _reader(orders: list[Order], waits: list[float]) -> Callable[[float], Order | None]:
    def read(wait_s: float) -> Order | None:
        waits.append(wait_s)
        return orders.pop(0) if orders else Stop()

    return read


def test_serve_says_ready_takes_all_orders_and_closes_what_is_open() -> None:
    bench = Bench()
    serve(bench.loop, _reader([Submit("r1", 1), Append("r1", b"a"), Finish("r1")], []), lambda: 0.0)
    assert bench.said == [Ready(), Accepted("r1"), Consumed("r1", 1), Output("r1", 1, "text", b"1"), Finished("r1")]


def test_a_flood_of_input_does_not_starve_the_model() -> None:
    bench = Bench()
    flood: list[Order] = [Submit("r1", 1), *(Append("r1", b"a") for _ in range(2 * ORDERS_PER_TURN)), Finish("r1")]
    serve(bench.loop, _reader(flood, []), lambda: 0.0)
    first = next(index for index, report in enumerate(bench.said) if isinstance(report, Output))
    assert first == 1 + ORDERS_PER_TURN
    assert bench.said[-1] == Finished("r1")


def test_a_loop_that_is_ended_closes_what_is_open_and_takes_nothing_more() -> None:
    bench = Bench()

    def read(wait_s: float) -> Order | None:
        if bench.loop.known:
            bench.loop.end()
            return None
        return Submit("r1", 1)

    serve(bench.loop, read, lambda: 0.0)
    assert bench.model.held()["slots"] == 0
