"""Machines of the library ``transitions``, read from their markup: nested states flattened, every cell in order.

``MarkupMachine.markup`` gives a dictionary; it is read from JSON, or as Python prints it. What comes out is flat: the
states that can be active, and for each state and trigger the rows in the order in which ``transitions`` tries them,
the innermost state first. Names are made to fit later, in :mod:`interlock.spec.imported`.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from interlock.spec.finding import Unusable, one_line

SEPARATORS = ("_", ".", "/", "\u21a6", ":")
"""What stands between a state and its child in the names of transitions; the first one is the library's own."""

DEEPEST = 50
"""Levels of nested states. Nobody draws so many."""

Path: TypeAlias = tuple[str, ...]


def _listed(value: Any) -> Any:
    return [] if value is None else [value] if isinstance(value, str) else value


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _keyed(value: Any) -> Any:
    keys = ("trigger", "source", "dest", "conditions", "unless", "before", "after", "prepare")
    return dict(zip(keys, value, strict=False)) if isinstance(value, list | tuple) else value


Names: TypeAlias = Annotated[list[str], BeforeValidator(_listed)]


class Markup(BaseModel):
    """What all parts have in common: strict types, and room for what we do not carry."""

    model_config = ConfigDict(strict=True, extra="allow")


class TransitionMarkup(Markup):
    """One transition, or one for each of its sources."""

    trigger: str
    source: Names
    dest: str | None = None
    conditions: Names = []
    unless: Names = []


Transitions: TypeAlias = list[Annotated[TransitionMarkup, BeforeValidator(_keyed)]]


class StateMarkup(Markup):
    """One state and what is nested in it."""

    name: str
    children: Annotated[list[Annotated[StateMarkup, BeforeValidator(_named)]], BeforeValidator(_listed)] = []
    initial: str | list[Any] | None = None
    transitions: Transitions = []
    final: bool = False
    ignore_invalid_triggers: bool | None = None


class MachineMarkup(Markup):
    """A whole machine."""

    name: str = ""
    states: list[Annotated[StateMarkup, BeforeValidator(_named)]] = Field(min_length=1)
    transitions: Transitions = []
    initial: str | list[Any] | None = None
    ignore_invalid_triggers: bool | None = None


@dataclass(frozen=True, slots=True)
class FlatRow:
    """One row of a cell; ``to`` is none where the machine stays. Every condition holds, and no ``unless``."""

    to: Path | None
    conditions: tuple[str, ...]
    unless: tuple[str, ...]


@dataclass(slots=True)
class Flat:
    """A machine without nesting, and what was lost on the way."""

    name: str
    initial: Path
    states: dict[Path, StateMarkup] = field(default_factory=dict)
    cells: dict[tuple[Path, str], list[FlatRow]] = field(default_factory=dict)
    ignoring: set[Path] = field(default_factory=set)
    lost: list[str] = field(default_factory=list)


def parsed(path: str, text: str) -> MachineMarkup:
    """Read the markup. Raises :class:`Unusable` for what is none."""
    try:
        markup = MachineMarkup.model_validate(_value(text))
        if _depth(markup.states) > DEEPEST:
            raise RecursionError
        return markup
    except RecursionError:
        raise Unusable(f"{path}: nested too deeply") from None
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise Unusable(f"{path}: no markup of transitions: {one_line(place)}: {first['msg']}") from None
    except (ValueError, SyntaxError, MemoryError) as wrong:
        reason = one_line(str(wrong))
        raise Unusable(f"{path}: neither JSON nor a dictionary as Python prints it: {reason}") from None


def _depth(states: list[StateMarkup]) -> int:
    depth = 0
    while states:
        states = [child for state in states for child in state.children]
        depth += 1
    return depth


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return ast.literal_eval(text.strip())


def flattened(markup: MachineMarkup) -> Flat:
    """Return the machine without nesting."""
    return _Flattening(markup).flat


class _Flattening:
    def __init__(self, markup: MachineMarkup) -> None:
        self.markup = markup
        self.nodes: dict[Path, StateMarkup] = dict(_nodes((), markup.states))
        self.spelled: dict[Path, dict[str, Path]] = {}
        self.flat = Flat(markup.name, ())
        self.flat.initial = self._initial()
        self.leaving: dict[Path, list[tuple[int, TransitionMarkup]]] = {}
        for scope, transition in self._scoped():
            for source in self._sources(scope, transition):
                self.leaving.setdefault(source, []).append((len(scope), transition))
        for path, node in self.nodes.items():
            if not node.children or not node.initial:
                self._state(path)

    def _initial(self) -> Path:
        first = (self.markup.states[0].name,)
        given = self.markup.initial
        found = self._find((), given) if isinstance(given, str) else None
        if found is None:
            self.flat.lost.append(f"initial {given!r} is none of the states; it begins in {first[0]}")
        return self._entered(found or first)

    def _scoped(self) -> Iterator[tuple[Path, TransitionMarkup]]:
        yield from (((), transition) for transition in self.markup.transitions)
        for path, node in self.nodes.items():
            yield from ((path, transition) for transition in node.transitions)

    def _sources(self, scope: Path, transition: TransitionMarkup) -> Iterator[Path]:
        for name in transition.source:
            if name == "*":
                yield from (path for path in self.nodes if path[:-1] == scope)
            elif source := self._find(scope, name):
                yield source
            else:
                self.flat.lost.append(f"{transition.trigger}: there is no state {name!r}, so nothing leaves it")

    def _state(self, path: Path) -> None:
        self.flat.states[path] = self.nodes[path]
        around = [path[:size] for size in range(len(path), 0, -1)]
        said = [*(self.nodes[one].ignore_invalid_triggers for one in around), self.markup.ignore_invalid_triggers]
        if next((answer for answer in said if answer is not None), False):
            self.flat.ignoring.add(path)
        found = [(scope, source, transition) for source in around for scope, transition in self.leaving.get(source, ())]
        for _, source, transition in sorted(found, key=lambda one: -one[0]):
            row = FlatRow(self._dest(source, transition), tuple(transition.conditions), tuple(transition.unless))
            self.flat.cells.setdefault((path, transition.trigger), []).append(row)

    def _dest(self, source: Path, transition: TransitionMarkup) -> Path | None:
        if transition.dest is None:
            return None
        if transition.dest == "=":
            return self._entered(source)
        scopes = [source[:size] for size in range(len(source), -1, -1)]
        found = next((there for scope in scopes if (there := self._find(scope, transition.dest))), None)
        if found is None:
            self.flat.lost.append(f"{transition.trigger}: there is no state {transition.dest!r}, so the row stays")
            return None
        return self._entered(found)

    def _find(self, scope: Path, name: str) -> Path | None:
        if scope not in self.spelled:
            inside = [path for path in self.nodes if _in(path, scope)]
            self.spelled[scope] = {sep.join(path[len(scope) :]): path for sep in SEPARATORS[::-1] for path in inside}
        return self.spelled[scope].get(name)

    def _entered(self, path: Path) -> Path:
        """Return the state that is active when ``path`` is entered: the initial one, as deep as there are any."""
        node = self.nodes[path]
        while node.children and node.initial:
            wanted = node.initial[0] if isinstance(node.initial, list) else node.initial
            if isinstance(node.initial, list):
                self.flat.lost.append(f"{'_'.join(path)} has parallel states; only the first is entered")
            below = self._find(path, wanted) if isinstance(wanted, str) else None
            if below is None:
                self.flat.lost.append(f"{'_'.join(path)}: initial {wanted!r} is none of its children")
                below = (*path, node.children[0].name)
            path, node = below, self.nodes[below]
        return path


def _in(path: Path, scope: Path) -> bool:
    return len(path) > len(scope) and path[: len(scope)] == scope


def _nodes(above: Path, states: list[StateMarkup]) -> Iterator[tuple[Path, StateMarkup]]:
    for state in states:
        path = (*above, state.name)
        yield path, state
        yield from _nodes(path, state.children)
