"""Rules about paths: every state can be entered, and from every state there is an end.

They wait until every state that is named exists: a slip of the pen in one target would cut off half of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.spec.finding import Finding
from interlock.spec.graph import closure
from interlock.spec.plan import Plan


def unreachable(plan: Plan) -> Iterator[Finding]:
    """Some path of rows leads from the initial state to every other one."""
    reached = closure({plan.form.initial}, _edges(plan))
    for state in plan.form.state if _is_whole(plan) else ():
        if state not in reached:
            text = f"no path of rows leads from {plan.form.initial} to {state}"
            yield plan.finding(plan.line("state", state), "unreachable", f"{text}; add a row to it, or remove it")


def no_path_to_final(plan: Plan) -> Iterator[Finding]:
    """Some path of rows leads from every state to a final one."""
    ended = closure(plan.form.final, ((to, state) for state, to in _edges(plan)))
    for state in plan.form.state if _is_whole(plan) else ():
        if state not in ended:
            text = f"no path of rows leads from {state} to final {' or '.join(plan.form.final)}"
            yield plan.finding(plan.line("state", state), "no-path-to-final", f"{text}; add a row that leaves")


def _is_whole(plan: Plan) -> bool:
    named = {plan.form.initial, *plan.form.final, *(to for _, to in _edges(plan))}
    return named <= plan.form.state.keys()


def _edges(plan: Plan) -> list[tuple[str, str]]:
    return [(row.state, row.to) for row in plan.rows if row.state and row.to is not None]


RULES = (unreachable, no_path_to_final)
