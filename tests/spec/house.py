"""Two small machines that use the whole format and have no findings: what faults are seeded into."""

from __future__ import annotations

from interlock.spec.check import findings
from interlock.spec.finding import Finding
from interlock.spec.plan import Blueprint, blueprint
from interlock.spec.read import parse

DOOR = """\
machine  = "door"
doc      = "A door with a motor."
initial  = "SHUT"
final    = ["GONE"]
stamps   = ["turn"]
settings = ["motor_s"]
effects  = ["StartMotor"]

[events]
client  = ["OpenAsked", "ShutAsked"]
bell    = ["BellAnswered"]
motor   = ["MotorDone"]
host    = ["DoorRemoved"]
timer   = ["MotorOverdue", "OpenOverdue"]
runtime = ["Cancelled"]

[message.OpenAsked]
doc    = "Somebody wants in."
fields = { code = "secret", name = "str" }
facts  = { verdict = ["known", "stranger"], bells = "int" }

[message.ShutAsked]
doc = "Somebody wants it shut."

[message.BellAnswered]
doc = "Somebody inside says yes."

[message.MotorDone]
doc    = "The motor stands still."
fields = { turn = "int" }

[message.DoorRemoved]
doc = "The wall is closed."

[message.MotorOverdue]
doc = "The motor takes too long."

[message.OpenOverdue]
doc = "The door stands open."

[message.StartMotor]
doc    = "Turn the motor."
fields = { turn = "int" }
within = "motor_s"
ends   = "MotorDone"

[work.Turn]
doc     = "The motor turns."
from    = "OPENING"
through = ["STUCK"]

[state.SHUT]
doc    = "Nobody gets in."
ignore = ["MotorDone", "BellAnswered"]
refuse = { ShutAsked = "already_shut" }
on.OpenAsked   = [
    { guard = "is_known", to = "OPENING", assign = ["turn"], emit = ["StartMotor"] },
    { emit = ["BellRung"] },
]
on.DoorRemoved = { to = "GONE" }

[state.OPENING]
doc      = "The motor turns."
timeouts = [{ after = "motor_s", event = "MotorOverdue" }]
cancel   = { to = "SHUT" }
ignore   = ["OpenAsked", "BellAnswered"]
refuse   = { ShutAsked = "in_motion" }
on.MotorDone    = { to = "OPEN" }
on.MotorOverdue = { to = "STUCK" }
on.DoorRemoved  = { to = "GONE" }

[state.STUCK]
doc      = "The motor does not answer."
shielded = "only the motor knows where the door is"
ignore   = ["OpenAsked", "ShutAsked", "BellAnswered"]
on.MotorDone   = { to = "SHUT" }
on.DoorRemoved = { to = "GONE" }

[state.OPEN]
doc      = "Anybody gets in."
timeouts = [{ after = "open_s", event = "OpenOverdue" }]
ignore   = ["MotorDone", "BellAnswered"]
on.OpenAsked   = { rearm = { OpenOverdue = "open_left_s" } }
on.ShutAsked   = { to = "SHUT" }
on.OpenOverdue = { to = "SHUT" }
on.DoorRemoved = { to = "GONE" }

[state.GONE]
doc    = "There is a wall."
refuse = { OpenAsked = "no_door" }
"""

BELL = """\
machine    = "bell"
doc        = "One ring of the bell."
initial    = "RINGING"
final      = ["QUIET"]
per        = "ring_id"
created_by = "BellRung"
limit      = "max_rings"
birth      = { emit = ["PlaySound"] }
effects    = ["PlaySound"]

[events]
door = ["BellRung"]
host = ["BellHeard"]

[message.BellRung]
doc    = "A stranger is at the door."
fields = { ring_id = "int" }

[message.BellHeard]
doc    = "Somebody inside has heard it."
fields = { ring_id = "int", friendly = "bool" }

[message.PlaySound]
doc = "Make it heard."

[state.RINGING]
doc = "Nobody has answered."
on.BellHeard = [
    { guard = "is_friendly", to = "QUIET", emit = ["BellAnswered"] },
    { to = "QUIET" },
]

[state.QUIET]
doc = "It is over."
"""


def house(door: str = DOOR, bell: str = BELL) -> Blueprint:
    """Return the two machines side by side."""
    return blueprint((parse("house/door.toml", door), parse("house/bell.toml", bell)))


def found(door: str = DOOR, bell: str = BELL) -> tuple[Finding, ...]:
    """Return what the checks say about them."""
    return findings(house(door, bell))
