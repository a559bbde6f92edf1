"""Rules about names: what they refer to, whether they are one kind of thing, and whether Python can spell them."""

from __future__ import annotations

import keyword
from collections.abc import Iterator

from interlock.spec.bindings import names_of
from interlock.spec.finding import Finding
from interlock.spec.kinds import KINDS, is_known
from interlock.spec.plan import CANCELLED, Plan, span_of
from interlock.spec.suggest import listed, meant

ENGINE = {"Message", CANCELLED, "StartWork", "StopWork", "ArmTimer", "DisarmTimer", "Callable", "ClassVar", "Literal"}
"""Message names that generated modules need for themselves."""

FIELDS = {"machine", "key", "stamps", "facts", "secrets", "within", "ends", "field", *KINDS, "tuple"}
"""Field names that would hide an attribute of every message, or a type."""

BOUND = {"m", "bool", "float", "tuple"}
"""Names of guards, assignments and delays that would hide a module or a type."""

LISTS = ("final", "stamps", "settings", "effects")

MODULES = {"messages", "tables", "sources"}
"""Machine names that would hide a generated module or what it exports."""


def unknown_state(plan: Plan) -> Iterator[Finding]:
    """Every state that is named is one of the file."""
    known = plan.form.state
    for name, line in _named_states(plan):
        if name not in known:
            remedy = meant(name, known, f"add [state.{name}], or name one of {listed(known)}")
            yield plan.finding(line, "unknown-state", f"there is no state `{name}`; {remedy}")


def _named_states(plan: Plan) -> Iterator[tuple[str, int]]:
    form = plan.form
    yield form.initial, plan.line("initial")
    yield from ((name, plan.line("final", index)) for index, name in enumerate(form.final))
    for work, span in form.work.items():
        yield span.start, plan.line("work", work, "from")
        yield from ((name, plan.line("work", work, "through", i)) for i, name in enumerate(span.through))
    yield from ((row.to, row.line) for row in plan.rows if row.to is not None and row.state)


def unknown_event(plan: Plan) -> Iterator[Finding]:
    """Every event that a state names is listed under ``[events]``."""
    known = {*plan.origins, CANCELLED}
    for event, line in _named_events(plan):
        if event not in known:
            remedy = meant(event, known, "add it to [events], under its origin")
            yield plan.finding(line, "unknown-event", f"`{event}` is no event of {plan.name}; {remedy}")


def _named_events(plan: Plan) -> Iterator[tuple[str, int]]:
    for row in plan.rows:
        yield row.event, row.line
        yield from ((event, row.line) for event, _ in row.rearm)
    for state, form in plan.form.state.items():
        for index, timeout in enumerate(form.timeouts):
            yield timeout.event, plan.line("state", state, "timeouts", index)


def unknown_type(plan: Plan) -> Iterator[Finding]:
    """Every field and fact has a type of the format."""
    for message, form in plan.form.message.items():
        for part, named in (("fields", form.fields), ("facts", form.facts)):
            for name, kind in named.items():
                if not is_known(kind):
                    line = plan.line("message", message, part, name)
                    said = "a list of words" if isinstance(kind, list) else f"`{kind}`"
                    remedy = f"use one of {listed(KINDS)}, or a list of different words"
                    yield plan.finding(line, "unknown-type", f"{message}.{name}: {said} is no type; {remedy}")


def one_kind(plan: Plan) -> Iterator[Finding]:
    """A bound name is a guard, an assignment or a delay, and never two of these."""
    names = names_of(plan)
    kinds = {"a guard": names.guards, "an assignment": names.assigns, "a delay": names.delays}
    for name in dict.fromkeys(name for uses in kinds.values() for name in uses):
        said = [kind for kind, uses in kinds.items() if name in uses]
        if len(said) > 1:
            line = _first_use(plan, name)
            text = f"`{name}` is {' and '.join(said)}; give each its own name"
            yield plan.finding(line, "one-kind", text)


def _first_use(plan: Plan, name: str) -> int:
    users = (row.line for row in plan.rows if name in (row.guard, *row.assign, *(after for _, after in row.rearm)))
    return next(users, 1)


def reserved(plan: Plan) -> Iterator[Finding]:
    """No name hides something that the generated modules need."""
    if plan.name in MODULES or keyword.iskeyword(plan.name):
        yield _reserved(plan, plan.line("machine"), plan.name)
    for message, form in plan.form.message.items():
        if message in ENGINE or keyword.iskeyword(message):
            yield _reserved(plan, plan.line("message", message), message)
        for part, named in (("fields", form.fields), ("facts", form.facts)):
            for name in named:
                if name in FIELDS or keyword.iskeyword(name):
                    yield _reserved(plan, plan.line("message", message, part, name), name)
    for row in plan.rows:
        for name in (row.guard or "", *row.assign, *(after for _, after in row.rearm)):
            if name in BOUND or keyword.iskeyword(name):
                yield _reserved(plan, row.line, name)


def _reserved(plan: Plan, line: int, name: str) -> Finding:
    return plan.finding(line, "reserved", f"`{name}` means something else in the generated module; take another name")


def doubled_field(plan: Plan) -> Iterator[Finding]:
    """A name is a field of a message or a fact of it, and is not both."""
    for message, form in plan.form.message.items():
        for name in form.fields.keys() & form.facts.keys():
            line = plan.line("message", message, "facts", name)
            yield plan.finding(line, "doubled", f"{message}.{name} is a field and a fact; keep one of them")


def repeated(plan: Plan) -> Iterator[Finding]:
    """No list names the same thing twice."""
    form = plan.form
    lists: list[tuple[tuple[str, ...], list[str]]] = [((part,), getattr(form, part)) for part in LISTS]
    lists += [(("work", work, "through"), span.through) for work, span in form.work.items()]
    for path, names in lists:
        seen: set[str] = set()
        for index, name in enumerate(names):
            if name in seen:
                text = f"`{name}` stands in {'.'.join(path)} twice; keep one of them"
                yield plan.finding(plan.line(*path, index), "doubled", text)
            seen.add(name)


def work_spans(plan: Plan) -> Iterator[Finding]:
    """A state lies in one work span at most, and a final state in none."""
    seen: dict[str, str] = {}
    for work, form in plan.form.work.items():
        for state in span_of(form):
            line = plan.line("work", work)
            if state in seen:
                text = f"{state} lies in {seen[state]} and in {work}; a state has one work at most"
                yield plan.finding(line, "work", text)
            if state in plan.form.final:
                yield plan.finding(line, "work", f"{state} is final, so nothing goes on in it; end {work} before it")
            seen.setdefault(state, work)


def unused(plan: Plan) -> Iterator[Finding]:
    """Every setting is the ``after`` of something, and every stamp is carried by some event."""
    form = plan.form
    afters = {timeout.after for state in form.state.values() for timeout in state.timeouts}
    afters |= {after for row in plan.rows for _, after in row.rearm}
    for index, name in enumerate(form.settings):
        if name not in afters:
            line = plan.line("settings", index)
            yield plan.finding(line, "unused", f"no timeout is after `{name}`; remove it from settings")
    for index, name in enumerate(form.stamps):
        if not any(name in message.fields for event, message in form.message.items() if event in plan.origins):
            line = plan.line("stamps", index)
            yield plan.finding(line, "unused", f"no event carries the stamp `{name}`; add the field, or remove it")


RULES = (unknown_state, unknown_event, unknown_type, one_kind, reserved, doubled_field, repeated, work_spans, unused)
