"""Writes ``<machine>.py``: states, events, what Python binds, and the table with one line for each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from interlock.spec.bindings import ANY, Names, Uses, names_of, type_of, union
from interlock.spec.plan import CANCELLED, Plan, PlannedRow, span_of
from interlock.spec.quote import quoted, strings, tupled


def table_text(plan: Plan, package: str, header: str) -> str:
    """Return the text of the module."""
    names = names_of(plan)
    bindings = list(_bindings(names))
    emitted = dict.fromkeys(name for row in plan.rows for name in row.emit)
    return "\n".join(
        [
            header + _imports(plan, package, names),
            'D = TypeVar("D")',
            "",
            f"State: TypeAlias = Literal[{', '.join(map(quoted, plan.form.state))}]",
            f"Event: TypeAlias = {_either(plan.events)}",
            f"Emitted: TypeAlias = {_either(emitted)}",
            "",
            "",
            "@dataclass(frozen=True, kw_only=True)",
            "class Bindings(Generic[D]):",
            f'    """What Python binds to the rows of ``{plan.name}``; ``D`` is the data of one instance."""',
            "",
            *bindings,
            *([""] if bindings else []),
            "",
            *_table(plan),
            "",
        ]
    )


def _either(messages: Iterable[str]) -> str:
    return " | ".join(map(type_of, messages)) or "Never"


def _imports(plan: Plan, package: str, names: Names) -> str:
    used = [(name, f"{name}(") for name in ("Row", "StateInfo", "Table", "Timeout", "Work")]
    table = "\n".join(_table(plan))
    machine = [name for name, call in used if call in table]
    machine += [CANCELLED] if CANCELLED in plan.events else []
    machine += [ANY] if any(union(events) == ANY for uses in _uses(names) for events in uses.values()) else []
    lines = ["from __future__ import annotations", ""]
    lines += ["from collections.abc import Callable"] if any(_uses(names)) else []
    lines += ["from dataclasses import dataclass"]
    never = ["Never"] if not plan.events or not names.emits else []
    lines += [f"from typing import {', '.join(['Final', 'Generic', 'Literal', *never, 'TypeAlias', 'TypeVar'])}", ""]
    engine = f"from interlock.machine import {', '.join(sorted(machine))}"
    own = f"from {package} import messages as m"
    lines += [engine, own] if package.partition(".")[0] == "interlock" else sorted((engine, own))
    return "\n".join([*lines, ""])


def _uses(names: Names) -> tuple[Uses, ...]:
    return names.guards, names.assigns, names.emits, names.delays


def _bindings(names: Names) -> Iterator[str]:
    for name, events in names.guards.items():
        yield f"    {name}: Callable[[D, {union(events)}], bool]"
    for name, events in names.assigns.items():
        yield f"    {name}: Callable[[D, {union(events)}], D]"
    for name, events in names.emits.items():
        yield f"    {name}: Callable[[D, {union(events)}], tuple[m.{name}, ...]]"
    for name, events in names.delays.items():
        yield f"    {name}: Callable[[D, {union(events)}], float]"


def _table(plan: Plan) -> Iterator[str]:
    form = plan.form
    yield "TABLE: Final[Table[State, Event, Emitted]] = Table("
    yield f"    name={quoted(form.machine)},"
    yield f"    doc={quoted(form.doc)},"
    yield f"    initial={quoted(form.initial)},"
    yield f"    final={strings(form.final)},"
    yield from _block("states", (_state(plan, name) for name in form.state))
    yield from _block("rows", _rows(plan))
    yield from _block("events", (f"{type_of(event)}," for event in plan.events))
    if form.work:
        yield from _block("work", (_work(plan, name) for name in form.work))
    yield from _options(plan)
    yield f"    source={quoted(plan.source.label)},"
    yield f"    sha256={quoted(plan.source.sha256)},"
    yield ")"


def _block(name: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"    {name}=("
    for line in lines:
        yield f"        {line}"
    yield "    ),"


def _options(plan: Plan) -> Iterator[str]:
    form = plan.form
    for name, names in (("settings", form.settings), ("stamps", form.stamps)):
        if names:
            yield f"    {name}={strings(names)},"
    if form.per is not None:
        yield f"    per={quoted(form.per)},"
    if form.created_by is not None:
        yield f"    created_by={type_of(form.created_by)},"
    if form.limit is not None:
        yield f"    limit={quoted(form.limit)},"


def _state(plan: Plan, name: str) -> str:
    form = plan.form.state[name]
    parts = [quoted(name), quoted(plan.kind(name)), quoted(form.doc)]
    if name in plan.spans:
        parts.append(f"work={quoted(plan.spans[name])}")
    if form.shielded is not None:
        parts.append(f"shielded={quoted(form.shielded)}")
    if form.timeouts:
        timeouts = (f"Timeout({type_of(timeout.event)}, {quoted(timeout.after)})" for timeout in form.timeouts)
        parts.append(f"timeouts={tupled(timeouts)}")
    return f"StateInfo({', '.join(parts)}),"


def _work(plan: Plan, name: str) -> str:
    work = plan.form.work[name]
    return f"Work({quoted(name)}, {quoted(work.start)}, {strings(span_of(work))}, {quoted(work.doc)}),"


def _rows(plan: Plan) -> Iterator[str]:
    state: str | None = None
    for row in plan.rows:
        if row.state != state:
            state = row.state
            yield f"# {state or 'birth'}"
        yield f"{_row(row)},"


def _row(row: PlannedRow) -> str:
    parts = [quoted(row.state), type_of(row.event)]
    parts += [f"{name}={quoted(value)}" for name in ("guard", "to") if (value := getattr(row, name)) is not None]
    parts += [f"{name}={strings(value)}" for name in ("assign", "emit") if (value := getattr(row, name))]
    if row.rearm:
        pairs = (f"({type_of(event)}, {quoted(after)})" for event, after in row.rearm)
        parts.append(f"rearm={tupled(pairs)}")
    if row.refuse is not None:
        parts.append(f"refuse={quoted(row.refuse)}")
    if row.ignore:
        parts.append("ignore=True")
    return f"Row({', '.join(parts)})"
