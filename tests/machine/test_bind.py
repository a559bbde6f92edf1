"""The step: which row fires, what it reads, and what binding refuses."""

from __future__ import annotations

import pytest

from interlock.errors import ClientError, Defect, MachineError
from interlock.machine import Cancelled, Row, Step, bound_names, delay_names
from tests.machine.toy import PUMP, PUMP_NAMES, Log, Pump, Start, Started, Stop, Tick, ValveWanted, bound, pump

MACHINE = pump()


def test_the_first_row_whose_guard_holds_is_taken() -> None:
    assert MACHINE.step("IDLE", Pump(amount=1), Start(2)).row is PUMP.rows[0]
    assert MACHINE.step("IDLE", Pump(amount=2), Start(2)).row is PUMP.rows[1]


def test_guards_and_emits_read_the_data_from_before_the_row_and_assignments_apply_in_order() -> None:
    step = MACHINE.step("IDLE", Pump(run=4, amount=1), Start(2))
    before = Log("run 4 amount 1")
    assert step == Step(
        "STARTING", Pump(run=5, amount=3), (before, ValveWanted(0), ValveWanted(1), before), PUMP.rows[0]
    )


def test_a_row_without_to_stays() -> None:
    assert MACHINE.step("IDLE", Pump(amount=2), Start(2)) == Step("IDLE", Pump(amount=4), (), PUMP.rows[1])


def test_an_ignored_event_changes_nothing() -> None:
    step = MACHINE.step("IDLE", Pump(amount=2), Started(0))
    assert (step.state, step.data, step.messages) == ("IDLE", Pump(amount=2), ())


def test_a_refusal_carries_the_code_of_the_row() -> None:
    with pytest.raises(ClientError, match="pump is IDLE") as caught:
        MACHINE.step("IDLE", Pump(), Stop())
    assert caught.value.code == "not_running"


def test_an_event_that_a_state_does_not_list_is_a_defect() -> None:
    with pytest.raises(Defect, match="pump: IDLE does not list Tick"):
        MACHINE.step("IDLE", Pump(), Tick())


def test_a_cell_whose_guards_all_say_no_is_a_defect() -> None:
    with pytest.raises(Defect, match="no row of RUNNING fires on"):
        MACHINE.step("RUNNING", Pump(), Started(0))


def test_a_final_state_takes_no_notice() -> None:
    step = MACHINE.step("GONE", Pump(run=1), Tick())
    assert (step.state, step.data, step.messages, step.row.ignore) == ("GONE", Pump(run=1), (), True)


def test_a_cancel_outside_of_work_meets_nothing() -> None:
    step = MACHINE.step("IDLE", Pump(), Cancelled("pump"))
    assert (step.state, step.messages, step.row) == ("IDLE", (), Row("IDLE", Cancelled, ignore=True))


def test_settings_are_names_and_delays_are_seconds() -> None:
    assert MACHINE.delay("start_s", Pump(), Tick()) == "start_s"
    assert MACHINE.delay("tick_after", Pump(tick_s=2.5), Tick()) == 2.5


def test_bound_names_are_all_but_the_settings() -> None:
    assert delay_names(PUMP) == ("tick_after",)
    assert bound_names(PUMP) == ("is_much", "add", "count", "Log", "ValveWanted", "ValveShut", "tick_after")


def test_a_name_that_is_not_bound_is_refused_at_import() -> None:
    with pytest.raises(MachineError, match="pump: the table names is_much; bind them"):
        bound(PUMP, {name: call for name, call in PUMP_NAMES.items() if name != "is_much"}, None)


def test_a_bound_name_that_no_row_names_is_refused_at_import() -> None:
    with pytest.raises(MachineError, match="pump: is_late is bound, but no row names it"):
        bound(PUMP, {**PUMP_NAMES, "is_late": PUMP_NAMES["is_much"]}, None)
