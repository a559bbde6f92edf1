"""Machines of anybody's own as something to explore: bound machines, first cells, and what may happen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from interlock.errors import ClientError, Defect, LimitReached
from interlock.machine import Address, Cell, Cells, Composition, Machine, Message, Row, Taken, address_of
from interlock.proof.explore.model import ROWS, Letter, Move, Outcome, Property

Test: TypeAlias = Callable[[Cells], bool]
Happens: TypeAlias = Callable[[Cells], Iterable[Message]]
Facts: TypeAlias = Callable[[Cells, Message], Message]
Told: TypeAlias = Callable[[Cells, Message], Iterable[Message]]


def no_facts(_: Cells, message: Message) -> Message:
    """Refuse to fill facts in: for machines that declare none."""
    raise Defect(f"{type(message).__name__} declares facts; give the system a function that fills them in")


def nobody(_: Cells, effect: Message) -> Iterable[Message]:
    """Take no notice of an effect."""
    return ()


@dataclass
class System:
    """A composition, the world around it, and what must hold. Satisfies :class:`Model`.

    Every value in ``cells`` must be hashable and, over all runs, finite: an enumeration, a flag, a small number.
    """

    name: str
    machines: Sequence[Machine[Any]]
    cells: Cells
    """Where it starts: the state and data of each machine or instance."""
    happens: Happens
    """What may happen next, in a state: messages with all their fields. An order that depends on the state alone."""
    always: Mapping[str, tuple[str, Test]] = field(default_factory=dict)
    """By name: a sentence, and the test that every state passes."""
    goals: Mapping[str, Test] = field(default_factory=dict)
    """By name: the states that properties about runs speak of."""
    about_runs: Sequence[Property] = ()
    """Properties with another modality than *always*, about ``goals``."""
    facts: Facts = no_facts
    performs: Told = nobody
    """What an effect leads to at once, as messages: what a runtime would do. Most effects lead to nothing."""
    limits: Mapping[str, int] = field(default_factory=dict)
    rename: Callable[[Cells], Cells] = lambda cells: cells
    """Gives states that differ in names only the same names."""
    fairness: Mapping[str, str] = field(default_factory=dict)
    """By the name of a message that happens in the end, if it stays possible: the assumption in words."""
    strong: frozenset[str] = frozenset()
    """Those of them that happen also if they are only possible again and again."""
    quiet: frozenset[str] = frozenset()
    """Messages that come while nobody asks for anything; for properties with ``moves``."""
    bounds: Mapping[str, object] = field(default_factory=dict)
    """What a reader must know of how large this is, for the report."""
    dead: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    """By machine, state and event: why a row that never fires is there all the same."""

    def __post_init__(self) -> None:
        self.composition = Composition(*self.machines)
        promised = [Property("no defect", "No machine ever meets an event that its state does not list.")]
        promised += [Property(name, sentence) for name, (sentence, _) in self.always.items()]
        self.properties = (
            *promised,
            *self.about_runs,
            Property("every row", "Every row fires.", "sometimes", goal=ROWS),
        )

    @property
    def lifelines(self) -> Sequence[str]:
        """One column for each machine, or for each of its first instances."""
        return tuple(dict.fromkeys(lifeline(address) for address in self.cells))

    def start(self) -> Cells:
        """Return the first cells, renamed."""
        return self.rename(self.cells)

    def begin(self) -> Cells:
        """Return the first cells as they were given."""
        return self.cells

    def key(self, state: Cells) -> Hashable:
        """Return the cells in order."""
        return tuple(sorted(state.items(), key=lambda item: (item[0][0], str(item[0][1]))))

    def moves(self, state: Cells) -> Sequence[Move]:
        """Return what may happen."""
        return [Move(str(event), event, self._fair(event)) for event in self.happens(state)]

    def take(self, state: Cells, move: Move, *, canonical: bool = True) -> Outcome:
        """Run to completion: the event, what it leads to, and what the effects lead to at once."""
        letters: list[Letter] = []
        rows: list[tuple[str, Row]] = []
        broken: list[str] = []
        queue: deque[Message] = deque((move.event,))
        while queue and not broken:
            event = queue.popleft()
            try:
                run = self.composition.run(state, event, self.facts, self.limits)
            except ClientError as refusal:
                letters.append(Letter("", lifeline(address_of(event)), f"{event}: refused, {refusal.code}"))
                rows += [] if isinstance(refusal, LimitReached) else self._refusing(state, event, refusal.code)
                continue
            except Defect as wrong:
                broken.append(f"no defect: {wrong}")
                continue
            state = run.cells
            rows += [(taken.address[0], taken.row) for taken in run.taken if taken.row is not None]
            letters += _letters(run.taken, run.effects)
            queue.extendleft(reversed([told for effect in run.effects for told in self.performs(state, effect)]))
        return Outcome(self.canonical(state) if canonical else state, tuple(letters), tuple(rows), tuple(broken))

    def canonical(self, state: Cells) -> Cells:
        """Rename."""
        return self.rename(state)

    def judge(self, state: Cells) -> tuple[str, ...]:
        """Return the tests that a state does not pass."""
        return tuple(f"{name}: {sentence}" for name, (sentence, test) in self.always.items() if not test(state))

    def marks(self, state: Cells) -> frozenset[str]:
        """Return the goals that a state is one of."""
        return frozenset(name for name, test in self.goals.items() if test(state))

    def weight(self, state: Cells) -> int:
        """Return 1: nothing is interchangeable here."""
        return 1

    def rows(self) -> Sequence[tuple[str, Row]]:
        """Return every row that has no reason to be dead."""
        found = [(machine.table.name, row) for machine in self.machines for row in machine.table.rows]
        return [(name, row) for name, row in found if (name, row.state, row.event.__name__) not in self.dead]

    def is_system(self, move: Move) -> bool:
        """Say whether a move is a quiet one."""
        return type(move.event).__name__ in self.quiet

    def is_strong(self, action: str) -> bool:
        """Say whether an action happens also if it is only possible again and again."""
        return action.partition(" ")[0] in self.strong

    def _fair(self, event: Message) -> str:
        name = type(event).__name__
        if name not in self.fairness:
            return ""
        key = getattr(event, event.key) if event.key else ""
        return f"{name} {key}".strip()

    def _refusing(self, state: Cells, event: Message, code: str) -> list[tuple[str, Row]]:
        name, key = address_of(event)
        found = state[name, key].state
        rows = self.composition.machines[name].table.rows
        return [(name, row) for row in rows if (row.state, row.event, row.refuse) == (found, type(event), code)]


def lifeline(address: Address) -> str:
    """Return the column of one machine or instance."""
    name, key = address
    return name if key is None else f"{name} {key}"


def _letters(taken: Sequence[Taken], effects: Sequence[Message]) -> Iterator[Letter]:
    """Yield who told whom. A message comes from the latest row before it that emits one of its name."""
    for index, delivery in enumerate(taken):
        here = lifeline(delivery.address)
        name = type(delivery.message).__name__
        sender = next((lifeline(t.address) for t in reversed(taken[:index]) if t.row and name in t.row.emit), here)
        yield Letter(sender, here, str(delivery.message) + ("" if delivery.row else ": stale, dropped"))
        if delivery.state != delivery.to:
            yield Letter(here, here, f"{delivery.state or '(new)'} -> {delivery.to}")
    for effect in effects:
        if not effect.machine and type(effect).__module__ != Message.__module__:
            yield Letter("", "", f"effect {effect}")


def born(machine: Machine[Any], key: Any, event: Any = None) -> tuple[Address, Cell]:
    """Return one machine's first cell, for ``cells``: in its initial state, with the data that ``create`` makes."""
    return (machine.table.name, key), Cell(machine.table.initial, machine.create(event))
