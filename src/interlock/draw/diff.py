"""What changed between two versions of a machine: rows, states, messages and the machine itself, one change each.

Only meaning is compared: comments, layout and the order of states say nothing. Rows are told apart by state, event and
guard. A row of a cell whose guard alone changed is that row with another guard; and because the first row whose guard
holds is taken, a row that changed places with others of its cell has moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from interlock.draw.diff_forms import machine_level, message_level, state_level, work_level
from interlock.draw.diff_words import Mark, Said, differences, row_words, where
from interlock.spec.plan import Plan, PlannedRow

Whole: TypeAlias = Literal["added", "removed", "kept"]
"""What became of the machine as a whole."""


class Change(NamedTuple):
    """One change: what kind, of which machine, where in it, and what it is in words."""

    mark: Mark
    machine: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.machine}: {self.where}: {self.what}"


class Pair(NamedTuple):
    """A row before and after: one of them is missing when it was added or removed."""

    old: PlannedRow | None
    new: PlannedRow | None
    said: tuple[str, ...]
    """What changed, in words; nothing when the row is as it was."""

    @property
    def row(self) -> PlannedRow:
        """Return the row as it is, or as it was when it is gone."""
        row = self.new or self.old
        assert row is not None
        return row

    @property
    def mark(self) -> Mark | None:
        """Return what became of the row."""
        if self.old is None:
            return "added"
        return "removed" if self.new is None else "changed" if self.said else None


@dataclass(frozen=True, slots=True)
class Difference:
    """Two versions of one machine, and all that differs. One of them is missing when it was added or removed."""

    old: Plan | None
    new: Plan | None
    pairs: tuple[Pair, ...]
    changes: tuple[Change, ...]

    @property
    def plan(self) -> Plan:
        """Return the machine as it is, or as it was when it is gone."""
        plan = self.new or self.old
        assert plan is not None
        return plan


def compared(old: Iterable[Plan], new: Iterable[Plan]) -> tuple[Difference, ...]:
    """Return the difference of each machine, by name; of one machine on either side whatever their names."""
    before, after = {plan.name: plan for plan in old}, {plan.name: plan for plan in new}
    if len(before) == len(after) == 1:
        return (difference(*before.values(), *after.values()),)
    return tuple(difference(before.get(name), after.get(name)) for name in sorted({*before, *after}))


def difference(old: Plan | None, new: Plan | None) -> Difference:
    """Return what changed from ``old`` to ``new``; not both may be missing."""
    pairs = tuple(_pairs(old, new))
    name = new.name if new is not None else old.name if old is not None else ""
    said = [*machine_level(old, new), *message_level(old, new), *work_level(old, new), *_states(old, new, pairs)]
    return Difference(old, new, pairs, tuple(Change(mark, name, place, what) for mark, place, what in said))


def merged(old: Iterable[str], new: Iterable[str]) -> list[str]:
    """Return all names in their new order, each that is gone behind the one that it stood behind."""
    names, before = list(dict.fromkeys(new)), ""
    for name in dict.fromkeys(old):
        if name not in names:
            names.insert(names.index(before) + 1 if before else 0, name)
        before = name
    return names


def states_of(old: Plan | None, new: Plan | None) -> list[str]:
    """Return the states of both versions, in the order of a drawing."""
    return merged(old.form.state if old else (), new.form.state if new else ())


def _states(old: Plan | None, new: Plan | None, pairs: Sequence[Pair]) -> Iterator[Said]:
    for state in ["", *states_of(old, new)]:
        if state:
            yield from state_level(old, new, state)
        for pair in pairs:
            if pair.row.state == state and pair.mark is not None:
                yield from _row(old, new, pair)


def _row(old: Plan | None, new: Plan | None, pair: Pair) -> Iterator[Said]:
    plan = new if pair.new is not None else old
    assert plan is not None
    place = where(plan, pair.row)
    if pair.mark == "changed":
        yield from (("changed", place, text) for text in pair.said)
    elif pair.mark is not None:
        yield pair.mark, place, f"{pair.mark}, {row_words(pair.row)}"


def _pairs(old: Plan | None, new: Plan | None) -> Iterator[Pair]:
    before, after = old.cells() if old else {}, new.cells() if new else {}
    keys = {f"{state}\n{event}": (state, event) for state, event in [*before, *after]}
    for key in merged(map("\n".join, before), map("\n".join, after)):
        yield from _cell(before.get(keys[key], []), after.get(keys[key], []))


def _cell(old: list[PlannedRow], new: list[PlannedRow]) -> Iterator[Pair]:
    partner = _partners(old, new)
    moved = _moved([old.index(partner[at]) for at in range(len(new)) if at in partner])
    kept = [at for at in range(len(new)) if at in partner]
    for at, row in enumerate(new):
        was = partner.get(at)
        said = [] if was is None else differences(was, row)
        if at in partner and kept.index(at) in moved:
            said.append(f"moved, row {old.index(partner[at]) + 1} -> {at + 1}")
        yield Pair(was, row, tuple(said))
    taken = [id(row) for row in partner.values()]
    yield from (Pair(row, None, ()) for row in old if id(row) not in taken)


def _partners(old: list[PlannedRow], new: list[PlannedRow]) -> dict[int, PlannedRow]:
    """Return which new row, by place, was which old one: by guard, then by all but the guard, then the only ones."""
    partner: dict[int, PlannedRow] = {}
    left = list(old)
    for alike in (_same_guard, _same_deeds, _only):
        for at, row in enumerate(new):
            fitting = [one for one in left if at not in partner and alike(one, row, len(left), len(new) - len(partner))]
            if fitting:
                partner[at] = fitting[0]
                left = [one for one in left if one is not fitting[0]]
    return partner


def _same_guard(old: PlannedRow, new: PlannedRow, _left: int, _open: int) -> bool:
    return old.guard == new.guard


def _same_deeds(old: PlannedRow, new: PlannedRow, _left: int, _open: int) -> bool:
    return not [text for text in differences(old, new) if not text.startswith("guard ")]


def _only(_old: PlannedRow, _new: PlannedRow, left: int, unpaired: int) -> bool:
    return left == unpaired == 1


def _moved(places: Sequence[int]) -> set[int]:
    """Return which of ``places`` are out of order: as few as possible."""
    runs: list[list[int]] = []
    for at, place in enumerate(places):
        before = [run for run in runs if places[run[-1]] < place]
        runs.append([*max(before, key=len, default=[]), at])
    kept = max(runs, key=len, default=[])
    return set(range(len(places))) - set(kept)
