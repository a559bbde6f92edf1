"""From plans to tables in memory, without a detour through Python text: for drawings, and for mutants in tests."""

from __future__ import annotations

from types import ModuleType

from interlock.machine import Cancelled, Message, Row, StateInfo, Table, Timeout, Work
from interlock.spec.plan import CANCELLED, Blueprint, Plan, PlannedRow, span_of

Types = dict[str, type[Message]]


def built(blueprint: Blueprint, messages: ModuleType | None = None) -> dict[str, Table]:
    """Return the table of each machine, by name.

    Message types are taken from ``messages``, a generated module, where it has them. Others are made here, and
    have names and addresses, but no fields: enough to draw them.
    """
    types: Types = {CANCELLED: Cancelled}
    for plan in blueprint.plans:
        for name in _names(plan):
            types.setdefault(name, getattr(messages, name, None) or _bare(blueprint, name))
    return {plan.name: _table(plan, types) for plan in blueprint.plans}


def _names(plan: Plan) -> list[str]:
    rows = [row.event for row in plan.rows]
    timers = [timeout.event for state in plan.form.state.values() for timeout in state.timeouts]
    return [*plan.events, *rows, *timers]


def _bare(blueprint: Blueprint, name: str) -> type[Message]:
    declared = blueprint.messages.get(name)
    machine = declared.machine if declared is not None else ""
    return type(name, (Message,), {"__slots__": (), "machine": machine})


def _table(plan: Plan, types: Types) -> Table:
    form = plan.form
    return Table(
        name=form.machine,
        doc=form.doc,
        initial=form.initial,
        final=tuple(form.final),
        states=tuple(_state(plan, name, types) for name in form.state),
        rows=tuple(_row(row, types) for row in plan.rows),
        events=tuple(types[event] for event in plan.events),
        work=tuple(Work(name, work.start, span_of(work), work.doc) for name, work in form.work.items()),
        settings=tuple(form.settings),
        stamps=tuple(form.stamps),
        per=form.per,
        created_by=None if form.created_by is None else types[form.created_by],
        limit=form.limit,
        source=plan.source.label,
        sha256=plan.source.sha256,
    )


def _state(plan: Plan, name: str, types: Types) -> StateInfo:
    form = plan.form.state[name]
    timeouts = tuple(Timeout(types[timeout.event], timeout.after) for timeout in form.timeouts)
    return StateInfo(name, plan.kind(name), form.doc, plan.spans.get(name), form.shielded, timeouts)


def _row(row: PlannedRow, types: Types) -> Row:
    rearm = tuple((types[event], after) for event, after in row.rearm)
    return Row(
        row.state,
        types[row.event],
        guard=row.guard,
        to=row.to,
        assign=row.assign,
        emit=row.emit,
        rearm=rearm,
        refuse=row.refuse,
        ignore=row.ignore,
    )
