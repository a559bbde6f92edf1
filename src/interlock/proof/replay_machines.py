"""Another version of the machines, from files or from a revision of git, with the Python that this version binds.

A change of a table can be tried on recorded traffic before it is deployed, as long as its names are bound: guards,
assignments and emits that Python has, in other rows. What needs new Python says so.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, make_dataclass
from pathlib import Path
from typing import Any, cast

from interlock.draw.versions import plans_of
from interlock.machine import Composition, Machine, Message, Table, bound_names, delay_names
from interlock.proof.replay_finding import Unusable
from interlock.proof.replay_target import StateMap, Target
from interlock.session.decide import COMPOSITION
from interlock.spec.build import built
from interlock.spec.check import ALONE, findings
from interlock.spec.finding import Faulty
from interlock.spec.plan import Blueprint, Declared
from interlock.tables import messages as m

Bound = Mapping[str, Callable[..., Any]]


def target_of(name: str | None, states: StateMap) -> Target:
    """Return what to replay with: the machines that ``name`` means, or those of this version.

    Raises :class:`interlock.errors.MachineError` for files that are no machines, and :class:`Unusable` for machines
    that this version's Python does not fit, or a state map that leads nowhere.
    """
    target = Target(states=states) if name is None else Target(_composition(name), f"the machines of {name}", states)
    _leads_somewhere(target)
    return target


def _composition(name: str) -> Composition:
    blueprint = Blueprint(plans_of(name))
    known = COMPOSITION.machines
    if wrong := _findings(blueprint):
        raise Faulty(wrong)
    tables = built(blueprint, m)
    if not set(tables) & set(known):
        raise Unusable(f"{name}: has none of {', '.join(known)}, and a trace tells of no other machine")
    if unfit := [*_unfit_messages(blueprint), *_unbound(tables)]:
        raise Unusable(f"{name}: Python does not fit these machines:\n  " + "\n  ".join(unfit))
    return Composition(*(_machine(tables.get(each, old.table), old) for each, old in known.items()))


def _findings(blueprint: Blueprint) -> tuple[Any, ...]:
    if set(COMPOSITION.machines) <= set(blueprint.machines):
        return findings(blueprint)
    return tuple(found for plan in blueprint.plans for rule in ALONE for found in rule(plan))


def _machine(table: Table, old: Machine[Any]) -> Machine[Any]:
    if table is old.table:
        return old
    bound = bound_of(old)
    names = bound_names(table)
    bindings = make_dataclass("Bindings", names)(**{name: bound[name] for name in names})
    return Machine(table, bindings, old.create)


def _unbound(tables: Mapping[str, Table]) -> Iterator[str]:
    for name, machine in COMPOSITION.machines.items():
        bound = bound_of(machine)
        for missing in bound_names(tables[name]) if name in tables else ():
            if missing not in bound:
                yield f"{name}: `{missing}` is not bound; bound are {', '.join(bound)}"


def bound_of(machine: Machine[Any]) -> Bound:
    """Return what Python binds to a machine, by name: a machine keeps it in its rows."""
    found: dict[str, Callable[..., Any]] = {name: machine.delays[name] for name in delay_names(machine.table)}
    cells = [*machine._cells.values(), machine._born]
    for guard, _, calls, row in (compiled for cell in cells for rows in cell.values() for compiled in rows):
        found |= {row.guard: guard} if row.guard and guard else {}
        if calls is not None and row.refuse is None:
            found |= dict(zip([*row.assign, *row.emit], [*calls[0], *calls[1]], strict=True))
    return found


def _unfit_messages(blueprint: Blueprint) -> Iterator[str]:
    """Say which declared messages are not as Python has them."""
    for name, declared in blueprint.messages.items():
        if declared.plan.name not in COMPOSITION.machines:
            continue
        kind = getattr(m, name, None)
        if kind is None:
            yield f"{declared.plan.name}: Python has no message {name}"
        elif found := _unlike(declared, kind):
            yield f"{declared.plan.name}: {name} {found}"


def _unlike(declared: Declared, kind: type[Message]) -> str:
    wanted = [*declared.form.fields, *(fact for fact in declared.form.facts if fact not in declared.form.fields)]
    has = [field.name for field in fields(cast(Any, kind))]
    if wanted != has:
        return f"has the fields {', '.join(wanted) or 'none'}; in Python {', '.join(has) or 'none'}"
    if (declared.machine, declared.key, declared.stamps) != (kind.machine, kind.key, kind.stamps):
        return "has another address, or other stamps, than in Python"
    return "" if tuple(declared.form.facts) == kind.facts else "has other facts than in Python"


# -------------------------------------------------------------------------------------------------------- state maps


def state_map(path: str) -> dict[tuple[str, str], str]:
    """Read which state took the place of which: ``machine.OLD = "NEW"``, in TOML or JSON. Raises :class:`Unusable`."""
    try:
        text = Path(path).read_text()
        plain = json.loads(text) if path.endswith(".json") else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as wrong:
        raise Unusable(f"{path}: cannot be read as a state map: {wrong}") from None
    if not isinstance(plain, dict) or not plain:
        raise Unusable(f'{path}: maps no state; a line is machine.OLD = "NEW"')
    return dict(_entries(path, plain))


def _entries(path: str, plain: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    for name, inner in plain.items():
        machine, dot, old = name.partition(".")
        if dot and isinstance(inner, str):
            yield (machine, old), inner
        elif isinstance(inner, dict) and all(isinstance(new, str) for new in inner.values()):
            yield from (((name, str(state)), new) for state, new in inner.items())
        else:
            raise Unusable(f'{path}: `{name}` maps no state; a line is machine.OLD = "NEW"')


def _leads_somewhere(target: Target) -> None:
    for (machine, old), new in target.states.items():
        found = target.composition.machines.get(machine)
        if found is None:
            raise Unusable(f"the state map has {machine}.{old}: no session has a machine {machine}")
        if new not in found.states:
            raise Unusable(f"the state map sends {machine}.{old} to {new}: {target.label} have no such state")
