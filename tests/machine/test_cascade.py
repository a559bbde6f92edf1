"""Run to completion: order, birth and end of instances, staleness, and what entering and leaving means outside."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.errors import ClientError, Defect, LimitReached
from interlock.machine import ArmTimer, Cancelled, Cell, Composition, DisarmTimer, Message, StartWork, StopWork
from tests.machine.toy import (
    BOTH,
    NEVER,
    PUMP,
    Log,
    Pump,
    Start,
    Started,
    Stop,
    Tick,
    ValveShut,
    ValveWanted,
    at,
    facts,
    pump,
    run,
    valve,
)

START_WORK = StartWork("pump", None, "Spin")
STOP_WORK = StopWork("pump", None, "Spin")
DISARM = DisarmTimer("pump", None, Tick)


def arm(after: str | float) -> ArmTimer:
    return ArmTimer("pump", None, Tick, after)


def test_what_a_row_emits_is_delivered_depth_first_and_effects_keep_that_order() -> None:
    ran = run(at("IDLE"), Start(2))
    assert ran.effects == (
        START_WORK,
        arm("start_s"),
        Log("run 0 amount 0"),
        Log("valve 0 ValveWanted"),
        Log("valve 1 ValveWanted"),
        Log("run 0 amount 0"),
    )
    assert [(taken.address, taken.state, taken.to) for taken in ran.taken] == [
        (("pump", None), "IDLE", "STARTING"),
        (("valve", 0), "", "OPEN"),
        (("valve", 1), "", "OPEN"),
    ]


def test_the_given_cells_stay_as_they_were() -> None:
    cells = at("IDLE")
    ran = run(cells, Start(1))
    assert cells == at("IDLE")
    assert ran.cells == {**at("STARTING", run=1, amount=1), ("valve", 0): Cell("OPEN", None)}


def test_facts_are_filled_in_directly_before_the_step() -> None:
    ran = run({**at("IDLE"), ("valve", 7): Cell("OPEN", None)}, Start(1))
    assert ran.taken[0].message == Start(1, open_valves=1)


def test_a_final_instance_is_removed_and_a_final_machine_that_exists_once_stays() -> None:
    valves: dict[tuple[str, Any], Cell] = {("valve", 0): Cell("OPEN", None), ("valve", 1): Cell("OPEN", None)}
    ran = run({**at("RUNNING"), **valves}, Stop())
    assert ran.cells == at("GONE")
    assert ran.effects == (DISARM, STOP_WORK, Log("valve 0 ValveShut"), Log("valve 1 ValveShut"))


def test_a_message_for_an_instance_that_is_not_there_is_stale() -> None:
    ran = run(at("IDLE"), ValveShut(5))
    assert ran.cells == at("IDLE")
    assert ran.effects == ()
    assert [(taken.address, taken.row) for taken in ran.taken] == [(("valve", 5), None)]


def test_a_stamp_of_another_run_is_stale_and_changes_nothing() -> None:
    cells = at("STARTING", run=2)
    assert run(cells, Started(1)).cells == cells
    assert run(cells, Started(1)).taken[0].row is None
    assert run(cells, Started(2)).cells == at("RUNNING", run=2)


def test_a_cancel_of_another_run_is_stale() -> None:
    cells = at("STARTING", run=2)
    assert run(cells, Cancelled("pump", stamp=1)).cells == cells
    landed = run(cells, Cancelled("pump", stamp=2))
    assert landed.cells == at("IDLE", run=2)
    assert landed.effects == (DISARM, STOP_WORK, Log("run 2 amount 0"))


def test_moving_within_a_span_moves_timers_and_keeps_the_work() -> None:
    assert run(at("STARTING"), Started(0)).effects == (DISARM, arm(1.0))


def test_a_self_transition_starts_work_and_timers_anew() -> None:
    assert run(at("STARTING"), Start(1)).effects == (DISARM, STOP_WORK, START_WORK, arm("start_s"))


def test_a_stay_row_moves_nothing() -> None:
    ran = run(at("RUNNING", amount=3), Start(1))
    assert (ran.cells, ran.effects) == (at("RUNNING", amount=3), (Log("run 0 amount 3"),))
    assert run(at("RUNNING"), Cancelled("pump")).effects == ()


def test_a_stay_row_may_rearm() -> None:
    assert run(at("RUNNING", tick_s=0.5), Tick()).effects == (DISARM, arm(0.5))


def test_a_timer_that_is_infinitely_far_is_not_armed() -> None:
    assert run(at("RUNNING", tick_s=NEVER), Tick()).effects == (DISARM,)


def test_an_instance_over_the_limit_is_refused_and_nothing_moves() -> None:
    cells = {**at("IDLE"), ("valve", 9): Cell("OPEN", None)}
    with pytest.raises(LimitReached) as caught:
        run(cells, Start(2), max_valves=2)
    assert (caught.value.limit, caught.value.value, caught.value.retryable) == ("max_valves", 2, True)
    assert cells == {**at("IDLE"), ("valve", 9): Cell("OPEN", None)}


def test_creating_an_instance_that_is_there_is_an_unlisted_event() -> None:
    with pytest.raises(Defect, match="valve: OPEN does not list ValveWanted"):
        run({**at("IDLE"), ("valve", 0): Cell("OPEN", None)}, ValveWanted(0))


@pytest.mark.parametrize(("event", "error"), [(Stop(), ClientError), (Tick(), Defect)])
def test_whatever_is_raised_the_cells_are_as_they_were(event: Message, error: type[Exception]) -> None:
    cells = at("IDLE", run=1)
    with pytest.raises(error):
        run(cells, event)
    assert cells == at("IDLE", run=1)


def test_one_run_has_a_limit_of_deliveries() -> None:
    with pytest.raises(Defect, match="Start: over 2 deliveries in one run"):
        Composition(pump(), valve(), steps=2).run(at("IDLE"), Start(2), facts, {"max_valves": 9})


def test_starting_gives_the_work_and_timers_of_what_exists() -> None:
    cells: dict[tuple[str, Any], Cell] = {**at("STARTING"), ("valve", 1): Cell("OPEN", None)}
    assert BOTH.start(cells) == (START_WORK, arm("start_s"))
    assert BOTH.start({("pump", None): Cell("IDLE", Pump())}) == ()


def test_the_toy_uses_every_kind_of_row() -> None:
    assert {row.ignore for row in PUMP.rows} == {True, False}
    assert any(row.refuse for row in PUMP.rows)
    assert any(row.rearm for row in PUMP.rows)
