"""``interlock init``: a small machine to begin with, clean by every rule, that its author then changes."""

from __future__ import annotations

STARTING_POINT = """\
# A machine file: one file, one machine; one line, one transition. Change it, then: interlock check
machine  = "door"
doc      = "A door that locks itself."
initial  = "LOCKED"
final    = ["REMOVED"]
settings = ["open_s"]                       # lengths of time that whoever runs it sets; others are bound in Python
effects  = ["TurnBolt"]                     # what it asks of the world

[events]                                    # by origin: who sends it
client = ["CodeEntered"]
host   = ["DoorRemoved"]
timer  = ["OpenOverdue"]

[message.CodeEntered]
doc    = "Somebody wants in."
fields = { code = "secret" }                # no repr, trace or log shows a secret

[message.DoorRemoved]
doc = "There is a wall now."

[message.OpenOverdue]
doc = "It has been open for long enough."

[message.TurnBolt]
doc    = "Lock, or unlock."
fields = { locked = "bool" }

[state.LOCKED]
doc = "Nobody gets in without the code."
on.CodeEntered = [
    { guard = "is_right", to = "OPEN", assign = ["count"], emit = ["TurnBolt"] },
    {},                                     # else: stay, and do nothing
]
on.DoorRemoved = { to = "REMOVED" }

[state.OPEN]
doc      = "Anybody gets in."
timeouts = [{ after = "open_s", event = "OpenOverdue" }]
refuse   = { CodeEntered = "already_open" } # the client gets this code, and nothing changes
on.OpenOverdue = { to = "LOCKED", emit = ["TurnBolt"] }
on.DoorRemoved = { to = "REMOVED" }

[state.REMOVED]
doc = "It is over."
"""

NEXT = """\
{path}: written. Next:
  interlock check {folder}
  interlock draw {folder}
  interlock tables {folder} --out src/shop/tables --package shop.tables"""
