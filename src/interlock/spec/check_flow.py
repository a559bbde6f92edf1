"""Rules about what runs through a composition: instances come to be, messages find a taker, and a run ends."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.spec.finding import Finding
from interlock.spec.graph import loop_through, loops, onward
from interlock.spec.plan import CANCELLED, Blueprint, Plan, PlannedRow
from interlock.spec.suggest import meant

NEARLY = 0.88
"""How alike two names are of which one is a slip of the pen for the other. ``ends`` may name an event of Python's."""

LONGEST = 8
"""Messages of a loop that a line shows."""


def sync_loop(blueprint: Blueprint) -> Iterator[Finding]:
    """One run comes to an end: no message leads, by what rows emit, to itself."""
    edges = [(row.event, name) for _, row, name in _sent(blueprint)]
    for loop in loops(edges):
        plan, row, _ = next(sent for sent in _sent(blueprint) if sent[1].event in loop and sent[2] in loop)
        way = loop_through(row.event, loop, onward(edges))
        told = " -> ".join([*way[:LONGEST], "..."] if len(way) > LONGEST else way)
        text = f"{told} is a loop of messages that are delivered at once, so the run may never end"
        remedy = "let an effect or a timer come in between"
        yield plan.finding(row.line, "sync-loop", f"{text}; {remedy}")


def _sent(blueprint: Blueprint) -> Iterator[tuple[Plan, PlannedRow, str]]:
    """Yield every message that one row sends to a machine."""
    for plan in blueprint.plans:
        for row in plan.rows:
            for name in row.emit:
                if name in blueprint.messages and blueprint.messages[name].taken:
                    yield plan, row, name


def nobody_takes(blueprint: Blueprint) -> Iterator[Finding]:
    """An event of a machine is taken, ignored or refused by one of its states, or creates it."""
    for plan in blueprint.plans:
        known = {row.event for row in plan.rows} | {
            form.event for one in plan.form.state.values() for form in one.timeouts
        }
        for event in plan.form.message:
            if event in plan.origins and event not in known and event != CANCELLED:
                text = f"no state of {plan.name} has a row for `{event}`, so nobody takes it"
                remedy = f"add on.{event} where it is expected, or remove it"
                yield plan.finding(plan.line("message", event), "nobody-takes", f"{text}; {remedy}")


def never_created(blueprint: Blueprint) -> Iterator[Finding]:
    """Somebody who exists creates the instances of a machine: the world, or a machine that is created before it."""
    there = _existing(blueprint)
    emitted = {name for plan in blueprint.plans for row in plan.rows for name in row.emit}
    for plan in blueprint.plans:
        creator = plan.form.created_by
        if plan.name not in there and creator in plan.origins and creator in emitted:
            text = f"`{creator}` is only emitted by machines that nobody creates, so there is never any {plan.name}"
            remedy = "emit it in a machine that exists, or name its real origin"
            yield plan.finding(plan.line("created_by"), "creation", f"{text}; {remedy}")


def _existing(blueprint: Blueprint) -> set[str]:
    """Return the machines of which there can be an instance: who sends the event that creates one is there before."""
    there: set[str] = set()
    found = {plan.name for plan in blueprint.plans if _comes_from_outside(blueprint, plan)}
    while found - there:
        there |= found
        sent = {name for plan in blueprint.plans if plan.name in there for row in plan.rows for name in row.emit}
        found = {plan.name for plan in blueprint.plans if plan.form.created_by in sent or _creator(plan) in there}
    return there


def _comes_from_outside(blueprint: Blueprint, plan: Plan) -> bool:
    return plan.form.created_by is None or _creator(plan) not in blueprint.machines


def _creator(plan: Plan) -> str | None:
    """Return who is said to send the event that creates an instance; its first one may be made by hand."""
    return plan.origins.get(plan.form.created_by or "")


def ends(blueprint: Blueprint) -> Iterator[Finding]:
    """What ends an effect is an event: no effect, and no slip of the pen."""
    events = {name for name, declared in blueprint.messages.items() if declared.taken}
    for plan in blueprint.plans:
        for name, form in plan.form.message.items():
            if form.ends is None or form.ends in events:
                continue
            line = plan.line("message", name, "ends")
            if form.ends in blueprint.messages:
                text = f"`{name}` ends with `{form.ends}`, which is an effect; name the event that says it is over"
                yield plan.finding(line, "deadline", text)
            elif remedy := meant(form.ends, events, "", NEARLY):
                yield plan.finding(line, "deadline", f"`{name}` ends with `{form.ends}`, which nobody takes; {remedy}")


RULES = (sync_loop, nobody_takes, never_created, ends)
