"""Differences: every kind of change is told once, in one line, and what means the same is no change."""

from __future__ import annotations

import pytest

from interlock.draw.diff import compared, difference, merged
from tests.draw.versions import GUARD, MOVED, REMOVED, ROW, TARGET, changed, door, told

BELL_SHUT = ("[state.OPEN]", '[state.AJAR]\ndoc = "A bit."\non.ShutAsked = { to = "SHUT" }\n\n[state.OPEN]')

CHANGES = [
    (TARGET, ["door: OPENING on MotorOverdue: to STUCK -> SHUT"]),
    (REMOVED, ["door: OPEN on OpenOverdue: to SHUT -> stays"]),
    (ROW, ["door: OPEN on ShutAsked: emits + StartMotor", "door: OPEN on ShutAsked: assigns + turn"]),
    (GUARD, ["door: SHUT on OpenAsked [is_welcome]: guard is_known -> is_welcome"]),
    (MOVED, ["door: SHUT on OpenAsked [is_known]: moved, row 1 -> 2"]),
    (
        ('ignore = ["MotorDone", "BellAnswered"]', 'ignore = ["MotorDone"]'),
        ["door: SHUT on BellAnswered: removed, ignored"],
    ),
    (('"already_shut"', '"shut"'), ["door: SHUT on ShutAsked: refused with already_shut -> refused with shut"]),
    (('cancel   = { to = "SHUT" }', 'cancel   = { to = "STUCK" }'), ["door: OPENING on cancel: to SHUT -> STUCK"]),
    (
        ('rearm = { OpenOverdue = "open_left_s" }', 'rearm = { OpenOverdue = "open_s" }'),
        ["door: OPEN on OpenAsked: rearms + OpenOverdue after open_s, - OpenOverdue after open_left_s"],
    ),
    (
        ('after = "motor_s", event = "MotorOverdue"', 'after = "turn_s", event = "MotorOverdue"'),
        ["door: state OPENING: timeouts + MotorOverdue after turn_s, - MotorOverdue after motor_s"],
    ),
    (
        ('shielded = "only the motor knows where the door is"', 'cancel = { to = "SHUT" }'),
        [
            "door: state STUCK: kind shielded -> awaiting",
            'door: state STUCK: shielded "only the motor knows where the door is" -> none',
            "door: STUCK on cancel: added, to SHUT",
        ],
    ),
    (('through = ["STUCK"]', ""), ["door: work Turn: through - STUCK", "door: state STUCK: awaits Turn -> none"]),
    (('"Nobody gets in."', '"Closed."'), ['door: state SHUT: doc "Nobody gets in." -> "Closed."']),
    (
        BELL_SHUT,
        ['door: state AJAR: added, rest, "A bit."', "door: AJAR on ShutAsked: added, to SHUT"],
    ),
    (('initial  = "SHUT"', 'initial  = "OPEN"'), ["door: machine: initial SHUT -> OPEN"]),
    (('settings = ["motor_s"]', 'settings = ["open_s", "motor_s"]'), ["door: machine: settings + open_s"]),
    (('"A door with a motor."', '"A door."'), ['door: machine: doc "A door with a motor." -> "A door."']),
    (('motor   = ["MotorDone"]', 'gears   = ["MotorDone"]'), ["door: message MotorDone: from motor -> gears"]),
    (('"A door with a motor."', '"A door   with a motor." # words'), []),
    (('effects  = ["StartMotor"]', 'effects  = [\n"StartMotor"]'), []),
    (
        ('fields = { code = "secret", name = "str" }', 'fields = { code = "secret" }'),
        ["door: message OpenAsked: fields - name: str"],
    ),
    (
        ('verdict = ["known", "stranger"]', 'verdict = ["known"]'),
        ["door: message OpenAsked: facts + verdict: known, - verdict: known | stranger"],
    ),
    (('within = "motor_s"', 'within = "turn_s"'), ["door: message StartMotor: within motor_s -> turn_s"]),
    (
        ('timer   = ["MotorOverdue", "OpenOverdue"]', 'timer   = ["MotorOverdue"]'),
        ["door: message OpenOverdue: from timer -> nobody"],
    ),
]


@pytest.mark.parametrize(("edit", "lines"), CHANGES)
def test_a_change_is_told_in_a_line(edit: tuple[str, str], lines: list[str]) -> None:
    assert told(edit) == lines


@pytest.mark.parametrize(("edit", "lines"), CHANGES)
def test_the_way_back_is_told_in_as_many_lines(edit: tuple[str, str], lines: list[str]) -> None:
    back = difference(door(edit), door())
    assert len(back.changes) == len(lines)
    swap = {"added": "removed", "removed": "added", "changed": "changed"}
    assert sorted(change.mark for change in back.changes) == sorted(
        swap[change.mark] for change in changed(edit).changes
    )


def test_the_order_of_states_and_of_events_says_nothing() -> None:
    text = door().source.text
    at, end = text.index("[state.STUCK]"), text.index("[state.OPEN]")
    stuck = text[at:end]
    moved = (stuck, ""), ("[state.GONE]", stuck + "[state.GONE]")
    assert told(*moved) == []
    assert (
        told(
            ('on.MotorDone    = { to = "OPEN" }\n', ""),
            ("on.DoorRemoved  = { to", 'on.MotorDone = { to = "OPEN" }\non.DoorRemoved  = { to'),
        )
        == []
    )


def test_of_three_rows_one_moves() -> None:
    rows = ['{ guard = "a_b", to = "SHUT" }', '{ guard = "b_c", to = "STUCK" }', '{ guard = "c_d" }', "{}"]
    three, turned = (f"on.MotorDone    = [{', '.join(order)}]" for order in (rows, [rows[2], *rows[:2], rows[3]]))
    plain = 'on.MotorDone    = { to = "OPEN" }'
    one = difference(door((plain, three)), door((plain, turned)))
    assert [str(change) for change in one.changes] == ["door: OPENING on MotorDone [c_d]: moved, row 3 -> 1"]


def test_a_row_that_was_cut_out_of_many_is_removed() -> None:
    rows = [('    { guard = "is_known", to = "OPENING", assign = ["turn"], emit = ["StartMotor"] },\n', "")]
    assert told(*rows) == ["door: SHUT on OpenAsked [is_known]: removed, to OPENING, emits StartMotor, assigns turn"]


def test_a_machine_that_came_or_went() -> None:
    came, went = difference(None, door()), difference(door(), None)
    assert str(came.changes[0]) == 'door: machine: added, "A door with a motor."'
    assert str(went.changes[0]) == 'door: machine: removed, "A door with a motor."'
    assert {change.mark for change in came.changes} == {"added"}
    assert {change.mark for change in went.changes} == {"removed"}
    assert len(came.changes) == len(went.changes) == 1 + 8 + 1 + 5 + len(door().rows)


def test_machines_are_compared_by_name_and_two_single_ones_whatever_their_names() -> None:
    other = door(('machine  = "door"', 'machine  = "gate"'))
    (one,) = compared([door()], [other])
    assert [str(change) for change in one.changes] == ["gate: machine: name door -> gate"]
    many = compared([door(), other], [door()])
    assert [(each.plan.name, bool(each.changes)) for each in many] == [("door", False), ("gate", True)]


def test_a_state_that_is_gone_keeps_its_place() -> None:
    assert merged("abcd", "acxd") == ["a", "b", "c", "x", "d"]
    assert merged("ab", "b") == ["a", "b"]
    assert merged("", "ab") == ["a", "b"]


def test_the_same_machine_has_no_changes() -> None:
    (same,) = compared([door()], [door()])
    assert same.changes == ()
    assert len(same.pairs) == len(door().rows)
