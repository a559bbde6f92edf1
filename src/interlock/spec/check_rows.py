"""Rules about the rows of one cell, which is one state with one event: the first row whose guard holds is taken."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.spec.finding import Finding
from interlock.spec.form import StateForm
from interlock.spec.plan import CANCELLED, Plan, PlannedRow


def unguarded_last(plan: Plan) -> Iterator[Finding]:
    """A cell decides in every case: its last row has no guard."""
    for (state, event), rows in plan.cells().items():
        if rows[-1].guard is not None:
            text = f"{state} on {event}: nothing happens when `{rows[-1].guard}` says no"
            yield plan.finding(rows[-1].line, "unguarded-last", f"{text}; add a last row without guard, `{{}}` stays")


def dead_row(plan: Plan) -> Iterator[Finding]:
    """A row can be taken: none before it has no guard, or the same one."""
    for (state, event), rows in plan.cells().items():
        seen: set[str | None] = set()
        if len(_answers(plan, state, event)) > 1:
            continue
        for row in rows:
            if None in seen:
                text = f"{state} on {event}: the row before has no guard, so this one is never taken"
                yield plan.finding(row.line, "dead-row", f"{text}; guard that one, or remove this one")
            elif row.guard in seen:
                text = f"{state} on {event}: `{row.guard}` was asked before, so this row is never taken"
                yield plan.finding(row.line, "dead-row", f"{text}; remove one of them")
            seen.add(row.guard)


def one_answer(plan: Plan) -> Iterator[Finding]:
    """A state takes an event, ignores it or refuses it: one of the three."""
    for state, event in plan.cells():
        answers = _answers(plan, state, event)
        if len(answers) > 1:
            text = f"{state} has {event} under {' and '.join(answers)}; keep one of them"
            yield plan.finding(plan.line("state", state, answers[-1]), "one-answer", text)


def _answers(plan: Plan, state: str, event: str) -> list[str]:
    form = plan.form.state.get(state, StateForm())
    parts = (("on", form.on), ("refuse", form.refuse), ("ignore", form.ignore))
    return [name for name, named in parts if event in named]


def refusal(plan: Plan) -> Iterator[Finding]:
    """A refusal is for a client, and does nothing else."""
    for row in plan.rows:
        if row.refuse is None:
            continue
        if row.to is not None or row.assign or row.emit or row.rearm:
            text = f"{row.state} on {row.event}: a row that refuses changes nothing"
            yield plan.finding(row.line, "refuse", f"{text}; remove its to, assign, emit and rearm")
        if row.event == CANCELLED:
            text = f"{row.state} refuses a cancel, which has happened already; say where it lands"
            yield plan.finding(row.line, "refuse", text)
        elif plan.origins.get(row.event, "client") != "client":
            text = f"{row.state} refuses {row.event}, which comes from {plan.origins[row.event]}"
            yield plan.finding(row.line, "refuse", f"{text} and not from a client; take it, or ignore it")


def rearm(plan: Plan) -> Iterator[Finding]:
    """A row rearms a timeout of the state that it stays in."""
    for row in plan.rows:
        if row.rearm and row.to is not None:
            text = f"{row.state} on {row.event}: a row with `to` leaves, and its timers go"
            yield plan.finding(row.line, "rearm", f"{text}; remove rearm, or `to`")
        for event, _ in row.rearm:
            if event not in _timeouts(plan, row):
                text = f"{row.state} on {row.event}: {event} is no timeout of {row.state}"
                yield plan.finding(row.line, "rearm", f"{text}; add it to timeouts")


def _timeouts(plan: Plan, row: PlannedRow) -> set[str]:
    return {timeout.event for timeout in plan.form.state[row.state].timeouts}


def final_row(plan: Plan) -> Iterator[Finding]:
    """Nothing leaves a final state; it may refuse what a client still asks for."""
    final = set(plan.form.final)
    for row in plan.rows:
        if row.state in final and row.refuse is None:
            verb = "ignores" if row.ignore else "takes"
            text = f"{row.state} is final, but {verb} {row.event}"
            yield plan.finding(row.line, "final-row", f"{text}; remove the row, or take {row.state} out of final")
    for state in plan.form.final:
        if state in plan.form.state and plan.form.state[state].timeouts:
            text = f"{state} is final, but has timeouts; remove them, or take {state} out of final"
            yield plan.finding(plan.line("state", state, "timeouts"), "final-row", text)


def cancel_row(plan: Plan) -> Iterator[Finding]:
    """A cancel is written as ``cancel``, once."""
    for state, form in plan.form.state.items():
        for part, named in (("on", form.on), ("ignore", form.ignore), ("refuse", form.refuse)):
            if CANCELLED in named:
                line = plan.line("state", state, part, CANCELLED)
                text = f"{state}: {part} names {CANCELLED}; say where it lands with `cancel = {{ to = ... }}`"
                yield plan.finding(line, "cancel", text)


RULES = (unguarded_last, dead_row, one_answer, refusal, rearm, final_row, cancel_row)
