"""A session as a sequence chart: who sent what to whom, and which state it led to; as text, and as a drawing.

Columns are the world, the session's machines, and the runtime that performs. Instances of one machine share a column.
What the data plane does between two events of the machines is one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from interlock.machine import Address, ArmTimer, DisarmTimer, Message, StartWork, StopWork, Taken
from interlock.proof.replay_events import Told
from interlock.session.books import APPLY
from interlock.session.decide import Decision

LANES: Final = ("world", "session", "attachment", "lease", "fence", "request", "response", "runtime")
WIDTH: Final = 13
"""Odd, so that a column has a middle."""
CENTRE: Final = WIDTH // 2
LARGEST: Final = 2000
"""Lines of a chart; nobody reads more."""


class Arrow(NamedTuple):
    """One line: from a column to a column, what is said, and what comes of it."""

    start: str
    end: str
    label: str
    result: str = ""
    event: int = 0
    at: float = 0.0


@dataclass
class Chart:
    """Collects one session's arrows. Satisfies :data:`interlock.proof.replay.Watch`."""

    session: str = ""
    first: int = 0
    arrows: list[Arrow] = field(default_factory=list)
    left_out: int = 0
    others: set[str] = field(default_factory=set)
    _books: Counter[str] = field(default_factory=Counter)
    _span: tuple[int, float] = (0, 0.0)

    def __call__(self, number: int, told: Told, event: Message, decision: Decision | None) -> None:
        """Take one event."""
        self.session = self.session or told.session
        if told.session != self.session:
            self.others.add(told.session)
        elif number >= self.first:
            if type(event) in APPLY and decision is not None:
                self._count(number, told, event)
            else:
                self.end()
                self._add(_arrows(number, told, event, decision))

    def end(self) -> None:
        """Draw what the data plane did last."""
        if self._books:
            what = ", ".join(f"{count} {name}" for name, count in self._books.items())
            self._add([Arrow("world", "world", what, "", *self._span)])
            self._books.clear()

    def _count(self, number: int, told: Told, event: Message) -> None:
        if not self._books:
            self._span = number, told.at
        self._books[type(event).__name__] += 1

    def _add(self, arrows: Sequence[Arrow] | Iterator[Arrow]) -> None:
        for arrow in arrows:
            if len(self.arrows) < LARGEST:
                self.arrows.append(arrow)
            else:
                self.left_out += 1

    def __str__(self) -> str:
        self.end()
        head = f"{'event':>7} {'time':>9}  " + "".join(f"{lane:^{WIDTH}}" for lane in LANES)
        began = self.arrows[0].at if self.arrows else 0.0
        lines = [f"{self.session}", head.rstrip(), *(_line(arrow, began) for arrow in self.arrows)]
        if self.left_out:
            lines.append(f"{self.left_out} more lines; narrow it with --from and --to")
        return "\n".join(lines)


def _arrows(number: int, told: Told, event: Message, decision: Decision | None) -> Iterator[Arrow]:
    if decision is None:
        yield Arrow(
            "world", event.machine or "session", type(event).__name__, f"refused: {told.refused}", number, told.at
        )
        return
    senders: list[tuple[Address, tuple[str, ...]]] = []
    for taken in decision.taken:
        start = _sender(taken, senders)
        yield Arrow(start, taken.address[0], type(taken.message).__name__, _result(taken), number, told.at)
        senders.append((taken.address, taken.row.emit if taken.row is not None else ()))
        number = 0
    done = [_effect(effect) for effect in decision.effects if not isinstance(effect, DisarmTimer | StopWork)]
    if done:
        yield Arrow("runtime", "runtime", ", ".join(done), "", number, told.at)


def _sender(taken: Taken, senders: list[tuple[Address, tuple[str, ...]]]) -> str:
    """Return who sent it. A run is depth first: the last one that emits it, once those after it have said all."""
    name = type(taken.message).__name__
    for index in range(len(senders) - 1, -1, -1):
        if name in senders[index][1]:
            del senders[index + 1 :]
            return senders[index][0][0]
    return "world"


def _result(taken: Taken) -> str:
    key = "" if taken.address[1] is None else f"{str(taken.address[1]).rpartition('_')[2]}: "
    if taken.row is None:
        return f"{key}stale"
    return f"{key}{taken.state or 'new'} -> {taken.to}" if taken.row.to else f"{key}stays {taken.to}"


def _effect(effect: Message) -> str:
    match effect:
        case ArmTimer():
            return f"timer {effect.event.__name__} {effect.after}"
        case StartWork():
            return f"starts {effect.work}"
        case _:
            kind = getattr(effect, "kind", "")
            return f"{type(effect).__name__}{f' {kind}' if kind else ''}"


def _line(arrow: Arrow, began: float) -> str:
    head = f"{arrow.event or '':>7} {f'{arrow.at - began:9.3f}' if arrow.event else '':>9}  "
    start, end = LANES.index(arrow.start), LANES.index(arrow.end)
    row = list("".join("|".center(WIDTH) for _ in LANES))
    if arrow.start == arrow.end and arrow.end in ("world", "runtime"):
        return (
            f"{head}{''.join(row[: end * WIDTH])}{arrow.label}".rstrip() if end == 0 else f"{head}{_note(row, arrow)}"
        )
    left, right = sorted((start, end))
    first, last = left * WIDTH + CENTRE, right * WIDTH + CENTRE
    if start == end:
        first, last = first, first + CENTRE
    row[first + 1 : last] = "-" * (last - first - 1)
    if start == end:
        row[first + 1] = "<"
    else:
        row[last - 1 if end > start else first + 1] = ">" if end > start else "<"
    return f"{head}{''.join(row).rstrip()}  {arrow.label}  [{arrow.result}]"


def _note(row: list[str], arrow: Arrow) -> str:
    return f"{''.join(row).rstrip()}  => {arrow.label}"
