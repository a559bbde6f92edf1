"""Seeded faults: for each rule of the checks, edits of the house that it must catch, with near twins that are fine."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """An edit that one rule must catch, on the line that holds ``at``, and a near one that is fine."""

    rule: str
    says: str
    old: str
    new: str
    at: str
    twin: str
    file: str = "door"
    blames: str = ""


FAULTS = [
    Fault(
        "unknown-state",
        "`OPNING`; did you mean `OPENING`?",
        'to = "OPENING"',
        'to = "OPNING"',
        "OPNING",
        'to="OPENING"',
    ),
    Fault("unknown-state", "add [state.AJAR]", 'initial  = "SHUT"', 'initial  = "AJAR"', "AJAR", 'initial = "SHUT"'),
    Fault("unknown-state", "`WALL`", 'final    = ["GONE"]', 'final    = ["GONE", "WALL"]', "WALL", 'final = ["GONE"]'),
    Fault(
        "unknown-state",
        "`JAMMED`",
        'through = ["STUCK"]',
        'through = ["STUCK", "JAMMED"]',
        "JAMMED",
        'through=["STUCK"]',
    ),
    Fault(
        "unknown-event",
        "`DoorRemved` is no event of door; did you mean `DoorRemoved`?",
        'on.DoorRemoved = { to = "GONE" }\n\n[state.OPENING]',
        'on.DoorRemved = { to = "GONE" }\n\n[state.OPENING]',
        "DoorRemved",
        'on.DoorRemoved = { emit = ["BellRung"], to = "GONE" }\n\n[state.OPENING]',
    ),
    Fault("unknown-type", "OpenAsked.name: `string`", 'name = "str"', 'name = "string"', "string", 'name = "strs"'),
    Fault("unknown-type", "a list of words", '"known", "stranger"', '"known", "known"', '"known"', '"known"'),
    Fault(
        "one-kind",
        "`is_known` is a guard and an assignment",
        'assign = ["turn"]',
        'assign = ["is_known"]',
        "is_known",
        'assign = ["turn", "note"]',
    ),
    Fault("reserved", "`key` means something else", 'name = "str"', 'key = "str"', "key =", 'keyed = "str"'),
    Fault("reserved", "`class`", 'name = "str"', 'class = "str"', "class", 'classed = "str"'),
    Fault("reserved", "`messages`", 'machine  = "door"', 'machine  = "messages"', "messages", 'machine = "door"'),
    Fault(
        "doubled",
        "OpenAsked.name is a field and a fact",
        'bells = "int"',
        'name = "int"',
        "facts",
        'names = "int"',
    ),
    Fault(
        "work",
        "GONE is final, so nothing goes on in it",
        'through = ["STUCK"]',
        'through = ["STUCK", "GONE"]',
        "[work.Turn]",
        'through = ["OPENING", "STUCK"]',
    ),
    Fault(
        "work",
        "STUCK lies in Turn and in Mend",
        "[state.SHUT]",
        '[work.Mend]\nfrom = "STUCK"\n\n[state.SHUT]',
        "[work.Mend]",
        "# [work.Mend]\n[state.SHUT]",
    ),
    Fault(
        "unused",
        "no timeout is after `close_s`",
        '["motor_s"]',
        '["motor_s", "close_s"]',
        "close_s",
        '["motor_s", "open_s"]',
    ),
    Fault("unused", "the stamp `lap`", 'stamps   = ["turn"]', 'stamps   = ["turn", "lap"]', "lap", "stamps   = []"),
    Fault(
        "unguarded-last",
        "SHUT on OpenAsked: nothing happens when `is_late` says no",
        '{ emit = ["BellRung"] }',
        '{ guard = "is_late", emit = ["BellRung"] }',
        "is_late",
        '{ guard = "is_late", emit = ["BellRung"] }, {}',
    ),
    Fault(
        "dead-row",
        "the row before has no guard",
        '{ emit = ["BellRung"] }',
        '{ emit = ["BellRung"] },\n    { to = "GONE" }',
        '{ to = "GONE" },',
        '{ guard = "is_late" },\n    { emit = ["BellRung"] }',
    ),
    Fault(
        "dead-row",
        "`is_known` was asked before",
        '{ emit = ["BellRung"] }',
        '{ guard = "is_known", to = "GONE" },\n    { emit = ["BellRung"] }',
        '{ guard = "is_known", to = "GONE" }',
        '{ guard = "is_knocking", to = "GONE" },\n    { emit = ["BellRung"] }',
    ),
    Fault(
        "dead-row",
        "STUCK on OpenAsked",
        '["OpenAsked", "ShutAsked", "BellAnswered"]',
        '["OpenAsked", "ShutAsked", "BellAnswered", "OpenAsked"]',
        '"OpenAsked", "ShutAsked", "BellAnswered", "OpenAsked"',
        '["ShutAsked", "OpenAsked", "BellAnswered"]',
    ),
    Fault(
        "refuse",
        "a row that refuses changes nothing",
        '{ emit = ["BellRung"] }',
        '{ refuse = "unknown", emit = ["BellRung"] }',
        'refuse = "unknown"',
        '{ guard = "is_late", refuse = "unknown" }, { emit = ["BellRung"] }',
    ),
    Fault(
        "refuse",
        "SHUT refuses MotorDone, which comes from motor",
        'ignore = ["MotorDone", "BellAnswered"]\nrefuse = {',
        'ignore = ["BellAnswered"]\nrefuse = { MotorDone = "asleep",',
        "asleep",
        'ignore = ["BellAnswered", "MotorDone"]\nrefuse = {',
    ),
    Fault(
        "rearm",
        "OPEN on OpenAsked: MotorOverdue is no timeout of OPEN",
        'rearm = { OpenOverdue = "open_left_s" }',
        'rearm = { MotorOverdue = "open_left_s" }',
        "rearm = { MotorOverdue",
        'rearm = { OpenOverdue = "motor_s" }',
    ),
    Fault(
        "rearm",
        "a row with `to` leaves",
        '{ rearm = { OpenOverdue = "open_left_s" } }',
        '{ to = "OPEN", rearm = { OpenOverdue = "open_left_s" } }',
        'to = "OPEN", rearm',
        '{ assign = ["note"], rearm = { OpenOverdue = "open_left_s" } }',
    ),
    Fault(
        "final-row",
        "GONE is final, but takes DoorRemoved",
        'refuse = { OpenAsked = "no_door" }',
        "on.DoorRemoved = {}",
        "on.DoorRemoved = {}",
        'refuse = { ShutAsked = "no_door" }',
    ),
    Fault(
        "final-row",
        "GONE is final, but has timeouts",
        'refuse = { OpenAsked = "no_door" }',
        'timeouts = [{ after = "motor_s", event = "OpenOverdue" }]',
        'timeouts = [{ after = "motor_s", event = "OpenOverdue" }]',
        'refuse = { OpenAsked = "no_door_here" }',
    ),
    Fault(
        "cancel",
        "OPENING awaits Turn and does not say where a cancel lands",
        'cancel   = { to = "SHUT" }\n',
        "",
        "[state.OPENING]",
        "cancel   = {}\n",
    ),
    Fault(
        "cancel",
        "OPENING has cancel and shielded",
        'cancel   = { to = "SHUT" }',
        'cancel   = { to = "SHUT" }\nshielded = "both"',
        "[state.OPENING]",
        'shielded = "one"',
    ),
    Fault(
        "cancel",
        "SHUT has cancel, but lies in no work span",
        'doc    = "Nobody gets in."',
        'doc    = "Nobody gets in."\ncancel = {}',
        "[state.SHUT]",
        'doc    = "Nobody."',
    ),
    Fault(
        "cancel",
        "shielded without a reason",
        'shielded = "only the motor knows where the door is"',
        'shielded = " "',
        "[state.STUCK]",
        'shielded = "because"',
    ),
    Fault(
        "cancel",
        "on names Cancelled",
        'cancel   = { to = "SHUT" }',
        'on.Cancelled = { to = "SHUT" }\nshielded = "no"',
        "on.Cancelled",
        'cancel   = [{ guard = "is_early", to = "SHUT" }, { to = "STUCK" }]',
    ),
    Fault(
        "cancel-rests",
        "cancels that land from OPENING lead back to OPENING",
        'cancel   = { to = "SHUT" }',
        'cancel   = { to = "OPENING" }',
        "cancel ",
        'cancel   = { to = "STUCK" }',
    ),
    Fault(
        "shielded",
        "STUCK is shielded, and only a client ends it",
        'ignore   = ["OpenAsked", "ShutAsked", "BellAnswered"]\n'
        'on.MotorDone   = { to = "SHUT" }\non.DoorRemoved = { to = "GONE" }',
        'ignore   = ["OpenAsked", "BellAnswered"]\non.ShutAsked   = { to = "SHUT" }\non.DoorRemoved = {}',
        "shielded =",
        'ignore   = ["OpenAsked", "BellAnswered"]\non.ShutAsked   = { to = "SHUT" }\non.DoorRemoved = { to = "GONE" }',
    ),
    Fault(
        "timeout",
        "OPENING arms MotorOverdue and has no row for it",
        'on.MotorOverdue = { to = "STUCK" }',
        'on.BellAnswered = { to = "STUCK" }',
        'after = "motor_s", event = "MotorOverdue"',
        'on.MotorOverdue = { to = "STUCK", assign = ["note"] }',
    ),
    Fault(
        "timeout",
        "OPEN arms OpenOverdue twice",
        '[{ after = "open_s", event = "OpenOverdue" }]',
        '[{ after = "open_s", event = "OpenOverdue" }, { after = "motor_s", event = "OpenOverdue" }]',
        'after = "open_s"',
        '[{ after = "motor_s", event = "OpenOverdue" }]',
    ),
    Fault(
        "client-event",
        "OPENING neither takes, ignores nor refuses ShutAsked",
        'refuse   = { ShutAsked = "in_motion" }\n',
        "",
        "[state.OPENING]",
        "on.ShutAsked = {}\n",
    ),
    Fault(
        "unreachable",
        "no path of rows leads from SHUT to AJAR",
        "[state.GONE]",
        '[state.AJAR]\nrefuse = { OpenAsked = "ajar", ShutAsked = "ajar" }\n'
        'on.DoorRemoved = { to = "GONE" }\n\n[state.GONE]',
        "[state.AJAR]",
        "# [state.AJAR]\n[state.GONE]",
    ),
    Fault(
        "no-path-to-final",
        "no path of rows leads from STUCK to final GONE",
        'on.MotorDone   = { to = "SHUT" }\non.DoorRemoved = { to = "GONE" }',
        "on.MotorDone   = {}\non.DoorRemoved = {}",
        "[state.STUCK]",
        'on.MotorDone   = { to = "SHUT" }\non.DoorRemoved = {}',
    ),
]
