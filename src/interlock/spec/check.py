"""The static checks: every rule over every machine, and what comes of it in the order of the files.

A rule is a generator of findings. One that looks at a machine alone takes its plan; one that looks at how machines
fit together takes the blueprint. Each finding says what is wrong, where, and what mends it.
"""

from __future__ import annotations

from collections.abc import Iterable

from interlock.spec import check_flow, check_names, check_reach, check_rows, check_sends, check_states
from interlock.spec.finding import Faulty, Finding
from interlock.spec.plan import Blueprint, blueprint
from interlock.spec.read import read

ALONE = (*check_names.RULES, *check_rows.RULES, *check_states.RULES, *check_reach.RULES)
TOGETHER = (*check_sends.RULES, *check_flow.RULES)


def checked(paths: Iterable[str]) -> Blueprint:
    """Read the machines that ``paths`` name and check them.

    Raises :class:`interlock.spec.finding.Unusable` for a path that is no machine file, and :class:`Faulty` with all
    that is wrong.
    """
    machines = blueprint(read(paths))
    if found := findings(machines):
        raise Faulty(found)
    return machines


def findings(machines: Blueprint) -> tuple[Finding, ...]:
    """Return all that is wrong with the machines, by file and line; nothing means that they may be compiled."""
    found = [finding for plan in machines.plans for rule in ALONE for finding in rule(plan)]
    found += [finding for rule in TOGETHER for finding in rule(machines)]
    order = {plan.source.path: index for index, plan in enumerate(machines.plans)}
    return tuple(sorted(set(found), key=lambda finding: (order[finding.file], *finding[1:])))
