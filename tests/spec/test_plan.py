"""Rows in one list: sugar is gone, order and lines are those of the file."""

from __future__ import annotations

from interlock.spec.plan import PlannedRow
from tests.spec.house import DOOR, house

PLANS = house().machines


def test_rows_of_a_state_are_its_cancel_then_what_it_takes_refuses_and_ignores() -> None:
    rows = [(row.event, row.to, row.refuse, row.ignore) for row in PLANS["door"].rows if row.state == "OPENING"]
    assert rows == [
        ("Cancelled", "SHUT", None, False),
        ("MotorDone", "OPEN", None, False),
        ("MotorOverdue", "STUCK", None, False),
        ("DoorRemoved", "GONE", None, False),
        ("ShutAsked", None, "in_motion", False),
        ("OpenAsked", None, None, True),
        ("BellAnswered", None, None, True),
    ]


def test_each_row_of_a_list_has_its_own_line() -> None:
    first, second = PLANS["door"].cells()["SHUT", "OpenAsked"]
    assert first == PlannedRow(
        "SHUT", "OpenAsked", first.line, guard="is_known", to="OPENING", assign=("turn",), emit=("StartMotor",)
    )
    assert DOOR.splitlines()[first.line - 1].strip().startswith('{ guard = "is_known"')
    assert second.line == first.line + 1


def test_the_birth_comes_first_with_the_empty_state() -> None:
    birth = PLANS["bell"].rows[0]
    assert birth == PlannedRow("", "BellRung", birth.line, to="RINGING", emit=("PlaySound",))


def test_kinds() -> None:
    door = PLANS["door"]
    assert [(state, door.kind(state)) for state in door.form.state] == [
        ("SHUT", "rest"),
        ("OPENING", "awaiting"),
        ("STUCK", "shielded"),
        ("OPEN", "rest"),
        ("GONE", "final"),
    ]


def test_an_effect_has_neither_machine_nor_key_nor_stamps() -> None:
    messages = house().messages
    assert (messages["StartMotor"].machine, messages["StartMotor"].key, messages["StartMotor"].stamps) == ("", "", ())
    assert (messages["MotorDone"].machine, messages["MotorDone"].stamps) == ("door", ("turn",))
    assert (messages["BellHeard"].machine, messages["BellHeard"].key) == ("bell", "ring_id")
