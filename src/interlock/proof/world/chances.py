"""What may happen next: every event of the adversary that its machines list, every timer, and what the host may do.

The tables say in which state a thing may happen. Here stands only with which values, and what the bounds leave out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from interlock.machine import Cell, Message, Table
from interlock.proof.explore.machines import Loaded
from interlock.proof.explore.model import Move
from interlock.proof.world.bounds import Bounds
from interlock.proof.world.fairness import FAIRNESS
from interlock.proof.world.place import LIVE, World
from interlock.session import books
from interlock.session import decide as core
from interlock.session.value import Value
from interlock.tables import messages as m

Values: TypeAlias = Callable[[World, Any], Iterator[dict[str, Any]]]

ADVERSARY = "adversary"
IDLE_S = 300.0

TIMERS: dict[type[Message], tuple[dict[str, Any], ...]] = {
    m.IdleDue: ({"idle_for_s": 0.0}, {"idle_for_s": IDLE_S}),
}
"""What a timer finds out when it fires; nothing, if it is not named here."""


class Chances:
    """Lists the moves of a world."""

    def __init__(self, loaded: Loaded, bounds: Bounds) -> None:
        self.bounds = bounds
        self.messages = loaded.messages
        self.listed = {name: _listed(table, loaded) for name, table in loaded.tables.items()}
        self.values: dict[str, Values] = {
            "TokenShared": self._shared,
            "Dialled": self._dialled,
            "HelloRead": _hello,
            "FramesRead": _frames,
            "AckSent": _acked,
            "AnswerCancelled": self._answers,
            "BargedIn": self._barging,
            "ByeSaid": _speaking,
            "WatchCancelled": _watching,
            "HelloWritten": _ungreeted,
            "FramesWritten": _written,
            "CaughtUp": _caught_up,
            "Assigned": _assigned,
            "Died": _died,
            "Vanished": _died,
            "AbortTaken": _aborting,
            "WorkFailed": _answering,
            "OrderTaken": _answering,
            "OrderRefused": _answering,
            "WorkDone": _answering,
            "OutputMade": _producing,
            "Disowned": _disowning,
        }

    def moves(self, world: World) -> list[Move]:
        """Return every move, in an order that does not depend on names."""
        found = [Move(str(event), event, fair_of(world, event)) for event in self._events(world)]
        return [move for move in found if type(move.event).__name__ not in self.bounds.without]

    def _events(self, world: World) -> Iterator[Message]:
        for (name, _), cell in world.cells.items():
            for kind in self.listed[name].get(cell.state, ()):
                yield from self._filled(world, cell, kind)
        yield from timers(world.value)
        yield from self._host(world)

    def _filled(self, world: World, cell: Cell, kind: Any) -> Iterator[Message]:
        """Yield the event with each of its possible values: the key of the instance, and what goes with it."""
        own = {kind.key: getattr(cell.data, kind.key)} if kind.key else {}
        values = self.values.get(kind.__name__)
        if values is not None:
            for chosen in values(world, cell):
                yield kind(**own, **chosen)
        elif "incarnation" in kind.__slots__:
            for chosen in _answering(world, cell):
                yield kind(**own, **chosen)
        else:
            yield kind(**own)

    def _host(self, world: World) -> Iterator[Message]:
        value, bounds = world.value, self.bounds
        if value.state("session") != "CLOSED":
            yield from (m.EndRequested(reason) for reason in bounds.reasons)
        if value.state("session") not in ("OPENING", "CLOSED"):
            yield from self._speech(world)
        if bounds.embedded:
            yield from (m.CloseRequested("client_close"), m.InterruptRequested("embedder"), m.CancelRequested(""))
            yield m.IdleRequested(IDLE_S)
        if bounds.positions and value.state("session") == "OPEN":
            yield books.Sequenced(1)
        if bounds.positions and value.journal.handed > value.journal.trimmed:
            yield books.Trimmed(value.journal.handed)

    def _speech(self, world: World) -> Iterator[Message]:
        """A turn is heard, a stage is to listen, or a turn is lost with the request that listened."""
        value, bounds = world.value, self.bounds
        held = [cell.data for (name, _), cell in value.cells.items() if name == "request"]
        room = bounds.requests - len(held)
        if bounds.stages and len(bounds.stages) <= room:
            yield m.TurnHeard(f"resp_{value.answered + 1}", bounds.stages)
        if bounds.listens and room and not any(not data.response_id for data in held):
            yield m.ListenRequested(f"listen_{value.listened + 1}", "ears")
        if bounds.listens:
            yield m.TurnsLost(1, "worker_lost")

    def _shared(self, world: World, cell: Cell) -> Iterator[dict[str, Any]]:
        """Hand on all that another client knows; what this one knows already is not news."""
        for other in world.of("client"):
            if other.data.client != cell.data.client and set(other.data.tokens) - set(cell.data.tokens):
                yield {"tokens": other.data.tokens, "position": other.data.position}

    def _dialled(self, world: World, cell: Cell) -> Iterator[dict[str, Any]]:
        """Try every token that is known, and one that opens nothing; from the position that one has, or from none."""
        claim = world.value.generation + 1
        links = sum(1 for _ in world.of("link"))
        positions = dict.fromkeys([cell.data.position, 0]) if self.bounds.positions else [cell.data.position]
        if links < self.bounds.generations:
            for token in cell.data.tokens:
                yield from ({"claim": claim, "token": token, "position": position} for position in positions)
        yield {"claim": claim, "token": "wrong", "position": cell.data.position}

    def _barging(self, world: World, cell: Cell) -> Iterator[dict[str, Any]]:
        if self.bounds.stages:
            yield from _speaking(world, cell)

    def _answers(self, world: World, cell: Cell) -> Iterator[dict[str, Any]]:
        if not self.bounds.stages:
            return
        named = [str(key) for name, key in world.value.cells if name == "response"]
        remembered = [entry.response_id for entry in world.value.playback if entry.ended]
        for _ in _speaking(world, cell):
            yield from ({"response_id": name} for name in ("", "nobody", *named, *remembered))


def timers(value: Value) -> Iterator[Message]:
    """Yield the event of every timer that is armed: it may fire now, or later."""
    for (name, key), cell in value.cells.items():
        machine = core.COMPOSITION.machines[name]
        for timeout in machine.states[cell.state].timeouts:
            if machine.delay(timeout.after, cell.data, Message()) != math.inf:
                fields = {timeout.event.key: key} if timeout.event.key else {}
                for found in TIMERS.get(timeout.event, ({},)):
                    yield timeout.event(**fields, **found)


def fair_of(world: World, event: Any) -> str:
    """Return the fair action that an event is; what the adversary may leave undone for ever is none."""
    kind = type(event).__name__
    if kind not in FAIRNESS:
        return ""
    if kind == "Disowned" and event.how != "unknown":
        return ""
    if kind == "Died" and world.cells["process", event.stage].state != "SILENT":
        return ""
    if kind in WRITES:
        return kind if world.cells["link", event.generation].state != "RETIRED" else ""
    return f"{kind} {_instance(event)}".strip()


WRITES = frozenset({"HelloWritten", "FramesWritten", "CaughtUp"})
"""What the transport of the claim does, whichever it is by then."""


def _instance(event: Any) -> str:
    return str(getattr(event, event.key)) if event.key else ""


def _listed(table: Table, loaded: Loaded) -> dict[str, list[Any]]:
    """Return the adversary's events that each state has a row for, by state, in the order of the file."""
    declared = loaded.blueprint.machines[table.name].form.events.get(ADVERSARY, [])
    kinds = [getattr(loaded.messages, name) for name in declared]
    rows = {(row.state, row.event) for row in table.rows if not row.ignore}
    return {state.name: [kind for kind in kinds if (state.name, kind) in rows] for state in table.states}


def _link_of(world: World, cell: Cell) -> Cell | None:
    return world.cells.get(("link", cell.data.link))


def _hello(world: World, cell: Cell) -> Iterator[dict[str, Any]]:
    link = _link_of(world, cell)
    if link is not None and link.data.greeted:
        yield {"token": link.data.token}


def _frames(world: World, cell: Cell) -> Iterator[dict[str, Any]]:
    link = _link_of(world, cell)
    if link is None:
        return
    journal = world.value.journal
    marks = {journal.trimmed, journal.handed, world.value.credential.claim_head, link.data.cursor}
    marks |= {other.data.position for other in world.of("client")}
    for position in sorted(marks):
        if cell.data.position < position <= link.data.cursor:
            yield {"position": position}


def _acked(world: World, cell: Cell) -> Iterator[dict[str, Any]]:
    """Acknowledge on the link: from the server's side it is the current one, or stale."""
    generation = cell.data.link
    if generation and generation == world.value.generation:
        yield {"generation": generation, "position": cell.data.position, "claimed": 0}
        if cell.state == "HEARING":
            yield {"generation": generation, "position": cell.data.position, "claimed": generation}


def _speaking(world: World, cell: Cell) -> Iterator[dict[str, Any]]:
    """Speak where the server listens: on the transport of the current claim, until it is closed."""
    link = _link_of(world, cell)
    if link is not None and link.data.generation == world.value.generation and link.state in LIVE | {"FINISHING"}:
        yield {}


def _ungreeted(_: World, cell: Cell) -> Iterator[dict[str, Any]]:
    if not cell.data.greeted:
        yield {}


def _written(world: World, cell: Cell) -> Iterator[dict[str, Any]]:
    if cell.data.cursor < world.value.journal.head:
        yield {"through": world.value.journal.head}


def _caught_up(world: World, cell: Cell) -> Iterator[dict[str, Any]]:
    if cell.state == "RETIRED" or cell.data.cursor >= world.value.journal.head:
        yield {}


def _assigned(world: World, cell: Cell) -> Iterator[dict[str, Any]]:
    process = world.cells.get(("process", cell.data.stage))
    if process is not None:
        yield {"worker": process.data.incarnation}


def _died(world: World, cell: Cell) -> Iterator[dict[str, Any]]:
    held = [data for data in (other.data for other in world.of("stage")) if data.stage == cell.data.stage]
    yield {"request_ids": tuple(data.request_id for data in held)}


def _answering(world: World, cell: Cell) -> Iterator[dict[str, Any]]:
    """A stage speaks while its worker is up, and of the incarnation that took the request."""
    process = world.cells.get(("process", cell.data.stage))
    request = world.value.cells.get(("request", cell.data.request_id))
    if process is None or process.state != "UP" or request is None:
        return
    if request.data.incarnation == process.data.incarnation:
        yield {"incarnation": process.data.incarnation}


def _watching(world: World, cell: Cell) -> Iterator[dict[str, Any]]:
    request = world.value.cells.get(("request", cell.data.request_id))
    if request is not None:
        yield {"incarnation": request.data.incarnation}


def _aborting(world: World, cell: Cell) -> Iterator[dict[str, Any]]:
    if cell.data.abort:
        yield from _answering(world, cell)


def _producing(world: World, cell: Cell) -> Iterator[dict[str, Any]]:
    request = world.value.cells.get(("request", cell.data.request_id))
    for chosen in _answering(world, cell):
        if request is not None:
            yield {**chosen, "epoch": request.data.epoch}


def _disowning(world: World, cell: Cell) -> Iterator[dict[str, Any]]:
    for chosen in _answering(world, cell):
        yield {**chosen, "how": "refused"}
        yield {**chosen, "how": "unknown"}
