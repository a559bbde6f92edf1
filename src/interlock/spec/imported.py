"""``interlock import``: a machine of the library ``transitions`` as a machine file, and what it could not carry.

States, triggers and conditions become states, events and guards, with names of our form. Conditions that belong
together become one guard, whose name says so. Callbacks do not come along: what a callback does is for the author to
say, as an assignment or as a message. The library asks for no end and no last row; where one is missing it is added,
and told.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from interlock.spec.check_names import BOUND, ENGINE, MODULES
from interlock.spec.finding import one_line
from interlock.spec.graph import closure
from interlock.spec.markup import Flat, FlatRow, MachineMarkup, Path, flattened

CALLBACKS = ("prepare", "before", "after", "on_enter", "on_exit", "timeout", "on_timeout", "on_final")
MACHINE_WIDE = (
    "before_state_change",
    "after_state_change",
    "prepare_event",
    "finalize_event",
    "on_exception",
    "on_final",
)


class Imported(NamedTuple):
    """A machine file, and one sentence for each thing that is not as it was."""

    name: str
    text: str
    notes: tuple[str, ...]
    guards: dict[str, str]
    """What each guard stands for, in the words of the conditions."""


class Row(NamedTuple):
    """One row as it is written."""

    guard: str
    to: str

    def __str__(self) -> str:
        parts = [f"{key} = {json.dumps(value)}" for key, value in zip(self._fields, self, strict=True) if value]
        return f"{{ {', '.join(parts)} }}" if parts else "{}"


def imported(markup: MachineMarkup, name: str = "") -> Imported:
    """Return the machine file of ``markup``. ``name`` is what the machine is called, where the markup does not say."""
    return _Import(markup, flattened(markup), name).made()


class Names:
    """Names of one kind, made to fit its form; two that would become one get numbers."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def of(self, given: str, fitting: str) -> str:
        """Return the name for ``given``: ``fitting``, or that with the first number that is free."""
        if given not in self.known:
            taken = set(self.known.values())
            numbered = (f"{fitting}{number}" for number in range(2, len(taken) + 3))
            self.known[given] = fitting if fitting not in taken else next(one for one in numbered if one not in taken)
        return self.known[given]


class _Import:
    def __init__(self, markup: MachineMarkup, flat: Flat, name: str) -> None:
        self.markup = markup
        self.flat = flat
        self.name = snake(flat.name.rstrip(": ") or name or "machine")
        self.name += "_machine" if self.name in MODULES else ""
        self.notes = list(flat.lost)
        self.states, self.events, self.guards = Names(), Names(), Names()
        self.rows = {cell: self._cell(cell, rows) for cell, rows in flat.cells.items()}
        self.triggers = list(dict.fromkeys(trigger for _, trigger in flat.cells))
        self.leaving = {
            path for (path, _), rows in self.rows.items() if any(row.to not in ("", self._state(path)) for row in rows)
        }
        self.end = self._end()

    def made(self) -> Imported:
        self.notes += _not_carried(self.markup)
        guards = {guard: given for given, guard in self.guards.known.items()}
        self.notes += [f"guard `{guard}` stands for: {given}" for guard, given in guards.items() if given != guard]
        return Imported(self.name, "\n".join(self._lines()), tuple(map(one_line, dict.fromkeys(self.notes))), guards)

    def _state(self, path: Path) -> str:
        return self.states.of(repr(path), capitals("_".join(path)))

    def _event(self, trigger: str) -> str:
        return self.events.of(trigger, camel(trigger))

    def _guard(self, row: FlatRow) -> str:
        if not row.conditions and not row.unless:
            return ""
        given = " and ".join([*row.conditions, *(f"not {name}" for name in row.unless)])
        words = [*map(snake, row.conditions), *(f"not_{snake(name)}" for name in row.unless)]
        return self.guards.of(given, "_and_".join(words))

    def _cell(self, cell: tuple[Path, str], rows: list[FlatRow]) -> list[Row]:
        """Return the rows that can be taken, and a last one that stays if all of them ask a guard."""
        made: list[Row] = []
        asked: set[str] = set()
        for row in rows:
            guard = self._guard(row)
            if guard in asked or "" in asked:
                self.notes.append(
                    f"{self._state(cell[0])} on {self._event(cell[1])}: a row that is never taken is dropped"
                )
            else:
                made.append(Row(guard, "" if row.to is None else self._state(row.to)))
            asked.add(guard)
        return made if "" in asked else [*made, Row("", "")]

    # ---------------------------------------------------------------------------------------------------- the end

    def _end(self) -> str:
        """Return the name of the state that had to be added because some states had no way to an end; else nothing."""
        self.final = [self._state(path) for path, node in self.flat.states.items() if node.final and self._rests(path)]
        if not self.final:
            self.final = [self._state(path) for path in self.flat.states if self._rests(path)]
        still = {self._state(path): None for path, _ in self.flat.cells if self._state(path) in self.final}
        self.notes += [f"{state} is final, and its rows, which lead nowhere else, are dropped" for state in still]
        edges = [(row.to, self._state(path)) for (path, _), rows in self.rows.items() for row in rows if row.to]
        ended = closure(self.final, edges)
        self.endless = [path for path in self.flat.states if self._state(path) not in ended]
        if not self.endless:
            return ""
        names = ", ".join(map(self._state, self.endless))
        end = self.states.of("\0end", "ENDED")
        self.notes.append(f"from {names} no row led to an end, so state {end} and event {self._ending} are added")
        self.final.append(end)
        return end

    @property
    def _ending(self) -> str:
        return self.events.of("\0end", "MachineEnded")

    def _rests(self, path: Path) -> bool:
        return path not in self.leaving

    # ------------------------------------------------------------------------------------------------------- text

    def _lines(self) -> Iterator[str]:
        events = [*map(self._event, self.triggers), *([self._ending] if self.end else [])]
        yield "# Imported from transitions. Name each event's real origin, and say what it means."
        yield f'machine = "{self.name}"'
        yield f'doc     = "Imported from transitions: {self.name}."'
        yield f'initial = "{self._state(self.flat.initial)}"'
        yield f"final   = {json.dumps(self.final)}"
        yield f"\n[events]\nhost = {json.dumps(events)}"
        for trigger in self.triggers:
            yield f"\n[message.{self._event(trigger)}]\ndoc = {_doc(f'The trigger {trigger}.')}"
        if self.end:
            yield f'\n[message.{self._ending}]\ndoc = "Nothing more is expected. Added by the import."'
        for path in self.flat.states:
            yield from self._state_lines(path)
        if self.end:
            yield f'\n[state.{self.end}]\ndoc = "It is over. Added by the import."'
        yield ""

    def _state_lines(self, path: Path) -> Iterator[str]:
        yield f"\n[state.{self._state(path)}]\ndoc = {_doc(f'The state {_told(path)}.')}"
        if self._state(path) in self.final:
            return
        unheard = [self._event(trigger) for trigger in self.triggers if (path, trigger) not in self.rows]
        if path in self.flat.ignoring and unheard:
            yield f"ignore = {json.dumps(unheard)}"
        for trigger in self.triggers:
            rows = self.rows.get((path, trigger), [])
            if rows:
                text = str(rows[0]) if len(rows) == 1 else f"[{', '.join(map(str, rows))}]"
                yield f"on.{self._event(trigger)} = {text}"
        if path in self.endless:
            yield f'on.{self._ending} = {{ to = "{self.end}" }}'


def capitals(name: str) -> str:
    """Return a name as a state is written."""
    return _fitting("_".join(_words(name)).upper(), "S_")


def camel(name: str) -> str:
    """Return a name as a message is written."""
    found = _fitting("".join(word[0].upper() + word[1:] for word in _words(name)), "E")
    fits = any(char.islower() for char in found) and found not in ENGINE and not keyword.iskeyword(found)
    return found if fits else f"{found}Event"


def snake(name: str) -> str:
    """Return a name as a guard or a machine is written."""
    found = _fitting("_".join(_words(name)).lower(), "n_")
    return f"is_{found}" if found in BOUND or keyword.iskeyword(found) else found


def _fitting(name: str, prefix: str) -> str:
    return name if name[:1].isalpha() else f"{prefix}{name}"


def _words(name: str) -> list[str]:
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.findall(r"[A-Za-z0-9]+", apart) or ["x"]


def _told(path: Path) -> str:
    return "/".join(path)


def _doc(text: str) -> str:
    shown = "".join(char if char.isprintable() else " " for char in text)
    return json.dumps(" ".join(shown.split()), ensure_ascii=False)


def _not_carried(markup: MachineMarkup) -> Iterator[str]:
    extra = markup.model_extra or {}
    for key in MACHINE_WIDE:
        if extra.get(key):
            yield f"{key} of the machine is not carried: {_shown(extra[key])}"
    if extra.get("queued"):
        yield "queued is not carried: our machines run to completion, depth first"
    if extra.get("auto_transitions", True):
        yield "the triggers to_STATE of auto_transitions are not carried: write a row where one is meant"
    for place, part in _parts(markup):
        for key in CALLBACKS:
            if part.get(key):
                yield f"{key} of {place} is not carried: {_shown(part[key])}; write it as assign, emit or timeouts"


def _parts(markup: MachineMarkup) -> Iterator[tuple[str, dict[str, object]]]:
    stack = [("", markup.states, markup.transitions)]
    while stack:
        above, states, transitions = stack.pop(0)
        for one in transitions:
            yield f"{one.trigger} from {', '.join(one.source)}", one.model_extra or {}
        for state in states:
            yield f"state {above}{state.name}", state.model_extra or {}
            stack.append((f"{above}{state.name}_", state.children, state.transitions))


def _shown(value: object) -> str:
    names: Iterable[object] = value if isinstance(value, list) else [value]
    return ", ".join(map(str, names))
