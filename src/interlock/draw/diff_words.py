"""The words of a change: what a row does, and how two rows differ."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from interlock.spec.plan import CANCELLED, Plan, PlannedRow

Mark: TypeAlias = Literal["added", "removed", "changed"]
"""What became of a thing. What moved has changed."""

Said: TypeAlias = tuple[Mark, str, str]
"""A change without its machine: mark, place, words."""


def where(plan: Plan, row: PlannedRow) -> str:
    """Return where a row stands: ``ATTACHED on ResumeRequested [is_accepted]``."""
    guard = row.guard or ("else" if len(plan.cells()[row.state, row.event]) > 1 else "")
    event = "cancel" if row.event == CANCELLED else row.event
    return f"{row.state or 'birth'} on {event}{f' [{guard}]' if guard else ''}"


def outcome(row: PlannedRow) -> str:
    """Return where a row leads."""
    if row.ignore:
        return "ignored"
    if row.refuse is not None:
        return f"refused with {row.refuse}"
    return "stays" if row.to is None else f"to {row.to}"


def row_words(row: PlannedRow) -> str:
    """Return all that a row does."""
    parts = [outcome(row)]
    parts += [f"emits {', '.join(row.emit)}"] if row.emit else []
    parts += [f"assigns {', '.join(row.assign)}"] if row.assign else []
    parts += [f"rearms {event} after {after}" for event, after in row.rearm]
    return ", ".join(parts)


def differences(old: PlannedRow, new: PlannedRow) -> list[str]:
    """Return how two rows differ, one text for each difference."""
    said = changed("guard", old.guard, new.guard)
    before, after = outcome(old), outcome(new)
    if before != after:
        short = after.removeprefix("to ") if before.startswith("to ") and after.startswith("to ") else after
        said.append(f"{before} -> {short}")
    said += listed("emits", old.emit, new.emit)
    said += listed("assigns", old.assign, new.assign)
    said += listed("rearms", *([f"{event} after {after}" for event, after in row.rearm] for row in (old, new)))
    return said


def changed(what: str, old: object, new: object) -> list[str]:
    """Return ``what old -> new`` where the two differ."""
    return [] if old == new else [f"{what} {_shown(old)} -> {_shown(new)}"]


def listed(what: str, old: Iterable[str], new: Iterable[str]) -> list[str]:
    """Return which names came and went, or both lists where only their order differs."""
    before, after = list(old), list(new)
    if before == after:
        return []
    came = [f"+ {name}" for name in after if name not in before]
    went = [f"- {name}" for name in before if name not in after]
    return [f"{what} {', '.join(came + went)}"] if came or went else changed(what, ", ".join(before), ", ".join(after))


def quoted(text: str) -> str:
    """Return prose in quotes."""
    return f'"{" ".join(text.split())}"'


def _shown(value: object) -> str:
    return "none" if value is None or value == "" else str(value)
