"""Versions of the door: what a review looks at, one small change each."""

from __future__ import annotations

from interlock.draw.diff import Difference, difference
from interlock.spec.plan import Plan
from interlock.spec.read import parse
from tests.spec.house import DOOR


def door(*edits: tuple[str, str], path: str = "house/door.toml") -> Plan:
    """Return the door after edits, each the old text and the new one."""
    text = DOOR
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return Plan(parse(path, text))


def changed(*edits: tuple[str, str]) -> Difference:
    """Return what the edits change."""
    return difference(door(), door(*edits))


def told(*edits: tuple[str, str]) -> list[str]:
    """Return what the edits change, in words."""
    return [str(change) for change in changed(*edits).changes]


TARGET = ('on.MotorOverdue = { to = "STUCK" }', 'on.MotorOverdue = { to = "SHUT" }')
REMOVED = ('on.OpenOverdue = { to = "SHUT" }\n', "on.OpenOverdue = {}\n")
ROW = ('on.ShutAsked   = { to = "SHUT" }', 'on.ShutAsked   = { to = "SHUT", assign = ["turn"], emit = ["StartMotor"] }')
GUARD = ('guard = "is_known"', 'guard = "is_welcome"')
KNOWN = '    { guard = "is_known", to = "OPENING", assign = ["turn"], emit = ["StartMotor"] },\n'
ELSE = '    { emit = ["BellRung"] },\n'
MOVED = (KNOWN + ELSE, ELSE + KNOWN)
