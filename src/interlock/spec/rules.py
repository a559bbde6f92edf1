"""Every rule of the checks: its name, why it is one, and the smallest example of what it catches and what it lets pass.

Each has its seeded fault, and the twin without it, in tests/spec/seeded.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """What ``interlock check --rules`` says about one rule."""

    name: str
    reason: str
    bad: str
    good: str


RULES = (
    Rule(
        "unknown-key",
        "A key that the format does not know would be a wish that nobody hears.",
        'on.Turned = { too = "LIT" }',
        'on.Turned = { to = "LIT" }',
    ),
    Rule(
        "missing-key",
        "A machine without a name, a sentence, a beginning or an end cannot be read or run.",
        "[message.Removed]\n# no doc",
        '[message.Removed]\ndoc = "Taken away."',
    ),
    Rule(
        "type",
        "A value of another shape means something else than its author thinks.",
        'through = "LIT"',
        'through = ["LIT"]',
    ),
    Rule(
        "name",
        "The form of a name tells a reader what it is: a state, a message, or a function.",
        'guard = "isUseful"',
        'guard = "is_useful"',
    ),
    Rule(
        "unknown-state",
        "A row to a state that is not there would fail when it fires.",
        'on.Turned = { to = "LITT" }',
        'on.Turned = { to = "LIT" }',
    ),
    Rule(
        "unknown-event",
        "A row for an event that nobody declares never fires.",
        'on.Tuned = { to = "LIT" }',
        'on.Turned = { to = "LIT" }',
    ),
    Rule(
        "unknown-type",
        "A field has a type that Python, the trace and the type checker agree on.",
        'who = "string"',
        'who = "str"',
    ),
    Rule(
        "one-kind",
        "A name is one function: a question, a change or a length of time.",
        'guard = "is_useful", assign = ["is_useful"]',
        'guard = "is_useful", assign = ["count"]',
    ),
    Rule(
        "reserved",
        "The generated module needs some names itself.",
        'class = "str"',
        'kind = "str"',
    ),
    Rule(
        "doubled",
        "What is said twice is said once too often; the second reading may differ.",
        'settings = ["shine_s", "shine_s"]',
        'settings = ["shine_s"]',
    ),
    Rule(
        "unused",
        "A setting or a stamp that nothing uses is a slip of the pen, or a leftover.",
        'settings = ["shine_s", "shone_s"]',
        'settings = ["shine_s"]',
    ),
    Rule(
        "work",
        "A state awaits one thing at most, and nothing goes on once all is over.",
        'through = ["LIT", "GONE"]',
        'through = ["LIT"]',
    ),
    Rule(
        "work-entry",
        "Work starts where its span begins; whoever enters in the middle waits for what nobody started.",
        'through = ["LIT"]\n[state.DARK]\non.Removed = { to = "LIT" }',
        'through = ["LIT"]\n[state.DARK]\non.Removed = { to = "TURNING" }',
    ),
    Rule(
        "unguarded-last",
        "When every guard says no, something must be said to happen: `{}` is to stay.",
        'on.Pressed = [{ guard = "is_useful", to = "TURNING" }]',
        'on.Pressed = [{ guard = "is_useful", to = "TURNING" }, {}]',
    ),
    Rule(
        "dead-row",
        "Two rows cannot both fire: the first one does, so the other one is dead.",
        'on.Pressed = [{}, { to = "GONE" }]',
        'on.Pressed = [{ guard = "is_useful" }, { to = "GONE" }]',
    ),
    Rule(
        "one-answer",
        "A state takes an event, ignores it or refuses it; two answers are a contradiction.",
        'refuse = { Pressed = "busy" }\nignore = ["Pressed"]',
        'refuse = { Pressed = "busy" }',
    ),
    Rule(
        "refuse",
        "A refusal is an answer to a client, and leaves everything as it was.",
        'on.Pressed = { refuse = "busy", to = "GONE" }',
        'on.Pressed = { refuse = "busy" }',
    ),
    Rule(
        "rearm",
        "A row moves a timer of the state that it stays in; any other one is not running.",
        'on.Pressed = { to = "LIT", rearm = { ShineOver = "shine_s" } }',
        'on.Pressed = { rearm = { ShineOver = "shine_s" } }',
    ),
    Rule(
        "final-row",
        "What is over does not go on.",
        'final = ["GONE"]\n[state.GONE]\non.Removed = {}',
        'final = ["GONE"]\n[state.GONE]\nrefuse = { Pressed = "gone" }',
    ),
    Rule(
        "client-event",
        "A client may send anything at any time; each state has its answer ready.",
        '[events]\nclient = ["Pressed"]\n[state.TURNING]\n# nothing about Pressed',
        '[events]\nclient = ["Pressed"]\n[state.TURNING]\nrefuse = { Pressed = "busy" }',
    ),
    Rule(
        "cancel",
        "A caller that waits may be cancelled; where that lands is decided before it happens.",
        '[work.Turn]\nfrom = "TURNING"\n[state.TURNING]\n# no cancel',
        '[work.Turn]\nfrom = "TURNING"\n[state.TURNING]\ncancel = { to = "DARK" }',
    ),
    Rule(
        "cancel-rests",
        "Whoever cancels again and again must come to rest.",
        '[state.TURNING]\ncancel = { to = "TURNING" }',
        '[state.TURNING]\ncancel = { to = "DARK" }',
    ),
    Rule(
        "shielded",
        "A cancel that waits for a client may wait for ever.",
        'shielded = "the shade turns"\non.Pressed = { to = "LIT" } # from a client',
        'shielded = "the shade turns"\non.Pressed = { to = "LIT" }\non.Turned = { to = "LIT" } # from the motor',
    ),
    Rule(
        "timeout",
        "Time passes in a state whether it has a row for that or not.",
        'timeouts = [{ after = "shine_s", event = "ShineOver" }]\n# no on.ShineOver',
        'timeouts = [{ after = "shine_s", event = "ShineOver" }]\non.ShineOver = { to = "DARK" }',
    ),
    Rule(
        "unreachable",
        "A state that no row leads to is forgotten, or a row to it is.",
        "[state.BROKEN] # and no row leads to it",
        'on.Removed = { to = "BROKEN" }\n[state.BROKEN]',
    ),
    Rule(
        "no-path-to-final",
        "A state without a way out is where sessions stay for ever.",
        "on.Removed = {}",
        'on.Removed = { to = "GONE" }',
    ),
    Rule(
        "undeclared",
        "An event or effect without [message] has neither a sentence nor fields.",
        'host = ["Removed", "Painted"]',
        'host = ["Removed"]',
    ),
    Rule(
        "unlisted",
        "A message that is neither event nor effect has no address.",
        "effects = []\n[message.SwitchOn]",
        'effects = ["SwitchOn"]\n[message.SwitchOn]',
    ),
    Rule(
        "unknown-message",
        "What is emitted must arrive somewhere.",
        'emit = ["SwitchOn", "SwitchOff"]',
        'emit = ["SwitchOn"]',
    ),
    Rule(
        "nobody-sends",
        "An event that nobody sends is a row that never fires; an effect that nobody asks for is never performed.",
        'effects = ["SwitchOn"] # and no row emits it',
        'on.Pressed = { emit = ["SwitchOn"] }',
    ),
    Rule(
        "nobody-takes",
        "An event that no state has a row for is a defect on the day it comes.",
        'motor = ["Turned"] # and no state has a row for it',
        'on.Turned = { to = "LIT" }',
    ),
    Rule(
        "sync-loop",
        "What rows emit is delivered at once; a message that leads to itself keeps the run from ending.",
        'on.Turned = { to = "LIT", emit = ["Turned"] }',
        'on.Turned = { to = "LIT", emit = ["SwitchOn"] }',
    ),
    Rule(
        "origin",
        "A misspelt origin, as in `clients`, would switch off the rules for clients and timers.",
        'hosts = ["Removed"]',
        'host = ["Removed"]',
    ),
    Rule(
        "address",
        "An event of a machine with instances says which one it is for.",
        'per = "ring_id"\n[message.BellHeard]\nfields = { who = "str" }',
        'per = "ring_id"\n[message.BellHeard]\nfields = { ring_id = "int" }',
    ),
    Rule(
        "creation",
        "An instance that nobody creates is a machine that never runs.",
        'created_by = "BellRung"\n[events]\nring = ["BellRung"] # only the ring itself emits it',
        'created_by = "BellRung"\n[events]\ndoor = ["BellRung"]',
    ),
    Rule(
        "deadline",
        "What is owed has a bound and an end; without either, somebody waits for ever.",
        'within = "switch_s"',
        'within = "switch_s"\nends = "Turned"',
    ),
)
"""In the order of docs/machines.md."""
