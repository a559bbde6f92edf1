"""Which names Python binds, and with which events each of them is called."""

from __future__ import annotations

from dataclasses import dataclass, field

from interlock.spec.plan import CANCELLED, Plan

ANY = "Message"
"""Stands for an event that nobody can name: what a machine is born with that exists once."""

Uses = dict[str, dict[str, None]]


@dataclass(frozen=True, slots=True)
class Names:
    """The bound names of one machine: name, then the events that it is used with, both in order of appearance."""

    guards: Uses = field(default_factory=dict)
    assigns: Uses = field(default_factory=dict)
    emits: Uses = field(default_factory=dict)
    delays: Uses = field(default_factory=dict)


def names_of(plan: Plan) -> Names:
    """Return every name that the machine's rows and timeouts leave to Python."""
    names = Names()
    for row in plan.rows:
        if row.guard is not None:
            names.guards.setdefault(row.guard, {})[row.event] = None
        for assign in row.assign:
            names.assigns.setdefault(assign, {})[row.event] = None
        for emit in row.emit:
            names.emits.setdefault(emit, {})[row.event] = None
    _delays(plan, names.delays)
    return names


def union(events: dict[str, None]) -> str:
    """Return the type of an event that is one of these."""
    if not events or ANY in events:
        return ANY
    return " | ".join(type_of(event) for event in events)


def type_of(event: str) -> str:
    """Return a message's type, as generated modules spell it."""
    return CANCELLED if event == CANCELLED else f"m.{event}"


def _delays(plan: Plan, delays: Uses) -> None:
    entries = _entries(plan)
    for state, form in plan.form.state.items():
        for timeout in form.timeouts:
            if timeout.after not in plan.form.settings:
                delays.setdefault(timeout.after, {}).update(entries.get(state, {}))
    for row in plan.rows:
        for _, after in row.rearm:
            if after not in plan.form.settings:
                delays.setdefault(after, {})[row.event] = None


def _entries(plan: Plan) -> Uses:
    """Return the events by which each state is entered."""
    entries: Uses = {}
    for row in plan.rows:
        if row.to is not None:
            entries.setdefault(row.to, {})[row.event] = None
    if plan.form.created_by is None:
        entries.setdefault(plan.form.initial, {})[ANY] = None
    return entries
