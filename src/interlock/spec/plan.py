"""From forms to plans: every row of a machine in one list, each with its line, and all machines side by side.

The checks and the compiler read plans; nothing after this knows that ``cancel`` is sugar or that a cell may hold one
row or a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from interlock.machine import Kind
from interlock.spec.finding import Finding
from interlock.spec.form import MachineForm, MessageForm, RowForm, WorkForm
from interlock.spec.read import Source

CANCELLED = "Cancelled"
"""The one event that the engine brings along."""


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """One row, as :class:`interlock.machine.Row`, by names, with the line that it stands on."""

    state: str
    event: str
    line: int
    guard: str | None = None
    to: str | None = None
    assign: tuple[str, ...] = ()
    emit: tuple[str, ...] = ()
    rearm: tuple[tuple[str, str], ...] = ()
    refuse: str | None = None
    ignore: bool = False


@dataclass(frozen=True)
class Plan:
    """One machine."""

    source: Source

    @property
    def form(self) -> MachineForm:
        """Return the file as it was read."""
        return self.source.form

    @property
    def name(self) -> str:
        """Return the machine's name."""
        return self.form.machine

    @cached_property
    def rows(self) -> tuple[PlannedRow, ...]:
        """Return all rows: the birth, then state by state the cancel, what it takes, refuses and ignores."""
        return tuple(_rows(self.source))

    @cached_property
    def origins(self) -> dict[str, str]:
        """Return who sends each event."""
        return {event: origin for origin, events in self.form.events.items() for event in events}

    @cached_property
    def events(self) -> tuple[str, ...]:
        """Return the events that the machine takes, in the order of the file, ``Cancelled`` last if rows name it."""
        named = [*self.origins, *(row.event for row in self.rows if row.event == CANCELLED)]
        return tuple(dict.fromkeys(named))

    @cached_property
    def spans(self) -> dict[str, str]:
        """Return the work that each state lies in."""
        return {state: name for name, work in self.form.work.items() for state in span_of(work)}

    def kind(self, state: str) -> Kind:
        """Return how the state looks in a drawing."""
        if state in self.form.final:
            return "final"
        if self.form.state[state].shielded is not None:
            return "shielded"
        return "awaiting" if state in self.spans else "rest"

    def cells(self) -> dict[tuple[str, str], list[PlannedRow]]:
        """Return the rows of each state and event, in order."""
        cells: dict[tuple[str, str], list[PlannedRow]] = {}
        for row in self.rows:
            cells.setdefault((row.state, row.event), []).append(row)
        return cells

    def line(self, *path: str | int) -> int:
        """Return the line of a key of the file."""
        return self.source.line(*path)

    def finding(self, line: int, rule: str, message: str) -> Finding:
        """Return what is wrong on a line of this file."""
        return Finding(self.source.path, line, rule, message)


@dataclass(frozen=True, slots=True)
class Declared:
    """One message: its form, and the plan whose file declares it. ``taken`` says that the machine takes it."""

    name: str
    plan: Plan
    form: MessageForm
    taken: bool

    @property
    def machine(self) -> str:
        """Return the machine that takes it; empty for an effect."""
        return self.plan.name if self.taken else ""

    @property
    def key(self) -> str:
        """Return the field, or the fact, that names the instance."""
        per = self.plan.form.per or ""
        return per if self.taken and per in {**self.form.fields, **self.form.facts} else ""

    @property
    def stamps(self) -> tuple[str, ...]:
        """Return the fields that make it stale when they are old."""
        return tuple(stamp for stamp in self.plan.form.stamps if self.taken and stamp in self.form.fields)


@dataclass(frozen=True)
class Blueprint:
    """All machines of a composition."""

    plans: tuple[Plan, ...]

    @cached_property
    def messages(self) -> dict[str, Declared]:
        """Return every message that is declared; where two files declare one name, the first."""
        found: dict[str, Declared] = {}
        for plan in self.plans:
            for name, form in plan.form.message.items():
                found.setdefault(name, Declared(name, plan, form, name in plan.origins))
        return found

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the names of the files, as generated files carry them."""
        return tuple(plan.source.label for plan in self.plans)

    @cached_property
    def machines(self) -> dict[str, Plan]:
        """Return the plans by name."""
        return {plan.name: plan for plan in self.plans}


def blueprint(sources: tuple[Source, ...]) -> Blueprint:
    """Lay the machines of ``sources`` side by side."""
    return Blueprint(tuple(Plan(source) for source in sources))


def span_of(work: WorkForm) -> tuple[str, ...]:
    """Return the states in which the work goes on, its first one first."""
    return tuple(dict.fromkeys((work.start, *work.through)))


def _rows(source: Source) -> Iterator[PlannedRow]:
    form = source.form
    if form.created_by is not None:
        line = source.line("birth") if form.birth.emit else source.line("created_by")
        yield PlannedRow("", form.created_by, line, to=form.initial, emit=tuple(form.birth.emit))
    for name, state in form.state.items():
        at = ("state", name)
        yield from _cell(source, name, CANCELLED, state.cancel or [], (*at, "cancel"))
        for event, rows in state.on.items():
            yield from _cell(source, name, event, rows, (*at, "on", event))
        for event, code in state.refuse.items():
            yield PlannedRow(name, event, source.line(*at, "refuse", event), refuse=code)
        for index, event in enumerate(state.ignore):
            yield PlannedRow(name, event, source.line(*at, "ignore", index), ignore=True)


def _cell(source: Source, state: str, event: str, rows: list[RowForm], path: tuple[str, ...]) -> Iterator[PlannedRow]:
    for index, row in enumerate(rows):
        yield PlannedRow(
            state,
            event,
            source.line(*path, index),
            guard=row.guard,
            to=row.to,
            assign=tuple(row.assign),
            emit=tuple(row.emit),
            rearm=tuple(row.rearm.items()),
            refuse=row.refuse,
        )
