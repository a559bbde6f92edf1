"""Rules about how machines fit together: who declares a message, who sends it, and where it is delivered."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.spec.finding import Finding
from interlock.spec.plan import CANCELLED, Blueprint, Plan
from interlock.spec.suggest import meant

OUTSIDE = ("client", "transport", "runtime", "timer", "stage", "host", "link")
"""Origins that are no machines. Any other word is fine, as long as it is not nearly one of these."""


def doubled(blueprint: Blueprint) -> Iterator[Finding]:
    """Machines and messages have names of their own, over the whole composition."""
    machines: dict[str, Plan] = {}
    for plan in blueprint.plans:
        if plan.name in machines:
            text = f"`{plan.name}` is also the machine of {machines[plan.name].source.path}; rename one of them"
            yield plan.finding(plan.line("machine"), "doubled", text)
        machines.setdefault(plan.name, plan)
        for name in plan.form.message:
            first = blueprint.messages[name].plan
            if first is not plan:
                text = f"`{name}` is already declared by {first.source.path}"
                remedy = "a message has one address; rename one of them"
                yield plan.finding(plan.line("message", name), "doubled", f"{text}; {remedy}")
        yield from _doubled_events(plan)


def _doubled_events(plan: Plan) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for origin, events in plan.form.events.items():
        for index, event in enumerate(events):
            if event in seen:
                twice = "twice" if seen[event] == origin else f"and under {origin}"
                text = f"`{event}` is listed under {seen[event]} {twice}; keep the one who sends it"
                yield plan.finding(plan.line("events", origin, index), "doubled", text)
            seen.setdefault(event, origin)
    for index, effect in enumerate(plan.form.effects):
        if effect in seen:
            text = f"`{effect}` is an event and an effect; keep one of them"
            yield plan.finding(plan.line("effects", index), "doubled", text)


def undeclared(blueprint: Blueprint) -> Iterator[Finding]:
    """Everything that is listed or emitted is declared; what is declared is listed."""
    for plan in blueprint.plans:
        listed = {*plan.origins, *plan.form.effects}
        for name, line in _listed(plan):
            if name not in plan.form.message and name != CANCELLED:
                remedy = meant(name, plan.form.message, f"add [message.{name}]")
                yield plan.finding(line, "undeclared", f"`{name}` is listed, but not declared here; {remedy}")
        for name in plan.form.message:
            if name not in listed:
                text = f"`{name}` is neither an event nor an effect of {plan.name}"
                remedy = "add it to [events] or to effects, or remove it"
                yield plan.finding(plan.line("message", name), "unlisted", f"{text}; {remedy}")


def _listed(plan: Plan) -> Iterator[tuple[str, int]]:
    for origin, events in plan.form.events.items():
        yield from ((event, plan.line("events", origin, index)) for index, event in enumerate(events))
    yield from ((effect, plan.line("effects", index)) for index, effect in enumerate(plan.form.effects))


def unknown_message(blueprint: Blueprint) -> Iterator[Finding]:
    """Everything that a row emits is declared by some machine."""
    for plan in blueprint.plans:
        for row in plan.rows:
            for name in row.emit:
                if name not in blueprint.messages:
                    remedy = meant(name, blueprint.messages, "declare it where it is taken, and check the whole folder")
                    yield plan.finding(row.line, "unknown-message", f"nobody declares `{name}`; {remedy}")


def nobody_sends(blueprint: Blueprint) -> Iterator[Finding]:
    """An event from a sibling machine is emitted by one, a timer's event is armed, and an effect is asked for."""
    emitted = {name for plan in blueprint.plans for row in plan.rows for name in row.emit}
    for plan in blueprint.plans:
        armed = {timeout.event for state in plan.form.state.values() for timeout in state.timeouts}
        for event, origin in plan.origins.items():
            line = plan.line("message", event)
            if origin in blueprint.machines and event not in emitted:
                text = f"no machine emits `{event}`, which should come from {origin}"
                yield plan.finding(line, "nobody-sends", f"{text}; emit it there, or name its real origin")
            if origin == "timer" and event not in armed:
                text = f"no state of {plan.name} arms `{event}`; add it to the timeouts of a state, or remove it"
                yield plan.finding(line, "nobody-sends", text)
        for effect in plan.form.effects:
            if effect not in emitted:
                text = f"no machine emits the effect `{effect}`; emit it, or remove it"
                yield plan.finding(plan.line("message", effect), "nobody-sends", text)


def origin_name(blueprint: Blueprint) -> Iterator[Finding]:
    """An origin is not a slip of the pen: ``clients`` would switch the rule for client events off."""
    known = {*OUTSIDE, *blueprint.machines}
    for plan in blueprint.plans:
        for origin in plan.form.events:
            remedy = meant(origin, known, "")
            if origin not in known and remedy:
                yield plan.finding(plan.line("events", origin), "origin", f"nobody is called `{origin}`; {remedy}")


def address(blueprint: Blueprint) -> Iterator[Finding]:
    """Every event of a machine with instances says which one it is for."""
    for plan in blueprint.plans:
        per = plan.form.per
        for event in plan.origins:
            form = plan.form.message.get(event)
            if per is not None and form is not None and per not in {**form.fields, **form.facts}:
                text = f"`{event}` has no field or fact `{per}`, so nobody knows which {plan.name} it is for; add it"
                yield plan.finding(plan.line("message", event), "address", text)


def creation(blueprint: Blueprint) -> Iterator[Finding]:
    """Instances are created by an event of their machine; limits and births belong to instances."""
    for plan in blueprint.plans:
        form = plan.form
        if form.per is not None and form.created_by is None:
            text = f"there is one {plan.name} per {form.per}, but nothing creates it; add created_by"
            yield plan.finding(plan.line("per"), "creation", text)
        if form.created_by is not None and form.created_by not in plan.origins:
            text = f"`{form.created_by}` is no event of {plan.name}; add it to [events]"
            yield plan.finding(plan.line("created_by"), "creation", text)
        for name, given in (("limit", form.limit is not None), ("birth", bool(form.birth.emit))):
            if given and form.created_by is None:
                text = f"{name} is for instances, and nothing creates one; add created_by, or remove {name}"
                yield plan.finding(plan.line(name), "creation", text)


def deadline(blueprint: Blueprint) -> Iterator[Finding]:
    """Only an effect has ``within`` and ``ends``, and it has both or none."""
    for plan in blueprint.plans:
        for name, form in plan.form.message.items():
            line = plan.line("message", name)
            if (form.within is None) != (form.ends is None):
                text = f"`{name}` has only one of within and ends; what is owed has a deadline and an end"
                yield plan.finding(line, "deadline", text)
            if form.within is not None and name in plan.origins:
                text = f"`{name}` is an event; only an effect has within and ends; remove them"
                yield plan.finding(line, "deadline", text)


RULES = (
    doubled,
    undeclared,
    unknown_message,
    nobody_sends,
    origin_name,
    address,
    creation,
    deadline,
)
