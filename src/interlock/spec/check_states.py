"""Rules about one state: what it must say about clients, cancels and time."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.spec.finding import Finding
from interlock.spec.form import WorkForm
from interlock.spec.graph import loops
from interlock.spec.plan import CANCELLED, Plan, span_of

STRANGERS = {"client", "transport", "stage", "link"}
"""Origins that have no clock of ours."""


def client_event(plan: Plan) -> Iterator[Finding]:
    """A state says what it does with everything that a client may send."""
    cells = plan.cells()
    for state in plan.form.state:
        for event, origin in plan.origins.items():
            if origin == "client" and state not in plan.form.final and (state, event) not in cells:
                text = f"{state} neither takes, ignores nor refuses {event}, which a client may send at any time"
                remedy = f'add on.{event}, or refuse = {{ {event} = "code" }}'
                yield plan.finding(plan.line("state", state), "client-event", f"{text}; {remedy}")


def cancel_lands(plan: Plan) -> Iterator[Finding]:
    """A state in a work span says where a cancel lands, or why it must wait; another state says neither."""
    for state, form in plan.form.state.items():
        line = plan.line("state", state)
        said = [name for name, value in (("cancel", form.cancel), ("shielded", form.shielded)) if value is not None]
        if state in plan.spans and state not in plan.form.final and not said:
            text = f"{state} awaits {plan.spans[state]} and does not say where a cancel lands"
            yield plan.finding(line, "cancel", f'{text}; add cancel = {{ to = ... }}, or shielded = "reason"')
        if state in plan.spans and len(said) == 2:
            yield plan.finding(line, "cancel", f"{state} has cancel and shielded; keep one of them")
        if state not in plan.spans and said:
            text = f"{state} has {said[0]}, but lies in no work span, so there is nothing to cancel"
            yield plan.finding(line, "cancel", f"{text}; remove it, or add {state} to the `through` of a work")
        if form.shielded is not None and not form.shielded.strip():
            yield plan.finding(line, "cancel", f"{state} is shielded without a reason; write why a cancel must wait")


def cancel_rests(plan: Plan) -> Iterator[Finding]:
    """Whoever cancels again and again comes to rest: landings do not lead in a circle."""
    landings = [(row.state, row.to) for row in plan.rows if row.event == CANCELLED and row.to is not None]
    circles = set().union(*loops(landings))
    for state in plan.form.state:
        if state in circles:
            text = f"cancels that land from {state} lead back to {state}, so they never rest"
            remedy = "let one of them land outside of every work span"
            yield plan.finding(plan.line("state", state, "cancel"), "cancel-rests", f"{text}; {remedy}")


def shielded_client(plan: Plan) -> Iterator[Finding]:
    """A shielded state does not wait for a client: a cancel would wait with it."""
    ways: dict[str, list[str]] = {}
    for row in plan.rows:
        if row.to not in (None, row.state):
            ways.setdefault(row.state, []).append(row.event)
    for state, form in plan.form.state.items():
        leaving = ways.get(state)
        if form.shielded is not None and leaving and all(plan.origins.get(event) == "client" for event in leaving):
            text = f"{state} is shielded, and only a client ends it, so a cancel may wait for ever"
            yield plan.finding(
                plan.line("state", state, "shielded"), "shielded", f"{text}; add a timeout that leaves, or a cancel"
            )


def timeout(plan: Plan) -> Iterator[Finding]:
    """A state handles its own timeouts, and each of them once."""
    for state, form in plan.form.state.items():
        seen: set[str] = set()
        for index, armed in enumerate(form.timeouts):
            line = plan.line("state", state, "timeouts", index)
            if armed.event not in form.on and state not in plan.form.final:
                text = f"{state} arms {armed.event} and has no row for it; add on.{armed.event}"
                yield plan.finding(line, "timeout", text)
            if plan.origins.get(armed.event) in STRANGERS:
                text = f"{state} arms {armed.event}, which comes from {plan.origins[armed.event]}"
                yield plan.finding(line, "timeout", f"{text}; a timeout needs an event of its own, under timer")
            if armed.event in seen:
                yield plan.finding(line, "timeout", f"{state} arms {armed.event} twice; keep one of them")
            seen.add(armed.event)


def work_entry(plan: Plan) -> Iterator[Finding]:
    """A work span is entered where the work starts, not in its middle."""
    inside: dict[str, list[WorkForm]] = {}
    for work in plan.form.work.values():
        for state in span_of(work):
            inside.setdefault(state, []).append(work)
    entries = [("the machine begins in", plan.form.initial, "", plan.line("initial"))]
    entries += [
        (f"{row.state} on {row.event} enters", row.to, row.state, row.line)
        for row in plan.rows
        if row.state and row.to is not None
    ]
    for told, to, before, line in entries:
        works = inside.get(to, [])
        if (
            works
            and to not in plan.form.final
            and not any(to == work.start or before in span_of(work) for work in works)
        ):
            text = f"{told} {to}, in the middle of {plan.spans[to]}, which was never started"
            remedy = f"enter {works[0].start} first, or take {to} out of `through`"
            yield plan.finding(line, "work-entry", f"{text}; {remedy}")


RULES = (client_event, cancel_lands, cancel_rests, shielded_client, timeout, work_entry)
