"""The session in its world, as something to explore: what a move leads to, and what is seen of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from math import factorial, prod
from typing import Any

from interlock.errors import ClientError, Defect, LimitReached
from interlock.machine import Address, Cell, Composition, Message, Row
from interlock.proof.explore.machines import Loaded, load
from interlock.proof.explore.model import Move, Outcome
from interlock.proof.world import client, link, stage
from interlock.proof.world.boundary import OPEN_CLAIM, to_session, to_world
from interlock.proof.world.bounds import Bounds
from interlock.proof.world.canonical import canonical
from interlock.proof.world.chances import Chances
from interlock.proof.world.fairness import FAIRNESS, SYSTEM, TIMED
from interlock.proof.world.place import World
from interlock.proof.world.properties import PROPERTIES, judge_commit, judge_refusal, judge_resume, judge_world
from interlock.proof.world.symmetry import orbit, sorted_clients
from interlock.proof.world.talk import Talk
from interlock.session import books
from interlock.session import decide as core
from interlock.session.decide import Decision, new_value
from interlock.session.value import Journal, Value
from interlock.tables import messages as m

WORKING = frozenset({"RESERVED", "SUBMITTING", "RUNNING", "ABORTING"})
"""States of a request in which something is waited for."""

OLD = 1
"""A position that everybody has, and that is trimmed: below it there is something that is lost."""

BROKEN = (Defect, ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What a machine that is wrong may raise: out of `decide`, or out of a world that it tells what cannot be."""


class SessionWorld:
    """One session, its clients, links, callers and stages, within bounds. Satisfies :class:`Model`."""

    properties = PROPERTIES
    fairness = FAIRNESS

    def __init__(self, name: str, bounds: Bounds, machines: str = "machines/world", *, symmetric: bool = False) -> None:
        """Read the adversary's machines from the folder ``machines``.

        With ``symmetric``, states that differ in which client is which are one; what is about runs is not asked then.
        """
        self.name = name
        self.limits = bounds
        self.symmetric = symmetric
        self.loaded = load([machines])
        self.world = _composition(self.loaded)
        self.chances = Chances(self.loaded, bounds)

    @property
    def bounds(self) -> Mapping[str, object]:
        """What bounds the state space."""
        return self.limits.told

    @property
    def lifelines(self) -> Sequence[str]:
        """The columns of a chart."""
        clients = [f"client {number}" for number in range(1, self.limits.clients + 1)]
        return [*clients, "link", "caller", "session", *self.limits.all_stages]

    def start(self) -> World:
        """Return the canonical first state."""
        return self.canonical(self.begin())

    def begin(self) -> World:
        """Return a session in OPENING, with the caller of ``open``; or one that a client is attached to."""
        w = self.loaded.messages
        cells: dict[Address, Cell] = {("pipeline", None): Cell("PREPARING", None)}
        for number in range(1, self.limits.clients + 1):
            cells["client", number] = self._born("client", w.ClientCame(number))
        cells["client", 1] = Cell("STRANGER", cells["client", 1].data._replace(position=OLD))
        cells["caller", OPEN_CLAIM] = self._born("caller", w.CallMade(OPEN_CLAIM, 1, OLD))
        for name in self.limits.all_stages:
            cells["process", name] = self._born("process", w.ProcessStarted(name))
        value = new_value("sess_1", self.limits.settings)._replace(journal=Journal(OLD, OLD, OLD))
        world = World(value, cells)
        begun = (w.PreparedWell(), w.HelloWritten(1), w.CaughtUp(1), w.HelloRead(1, "T0"), w.CallerReturned(1))
        for event in begun if self.limits.attached else begun[: int(self.limits.prepared)]:
            world = self.take(world, Move("", event), canonical=False).state
        return world

    def key(self, state: World) -> Hashable:
        """Return a flat, hashable form of a canonical state."""
        value = state.value
        return (
            tuple(value.cells.items()),
            value.epoch,
            value.credential,
            value.journal,
            value.playback,
            value.closing,
            tuple(state.cells.items()),
            state.deltas,
        )

    def moves(self, state: World) -> Sequence[Move]:
        """Return what may happen."""
        return self.chances.moves(state)

    def take(self, state: World, move: Move, *, canonical: bool = True) -> Outcome:
        """Let one thing happen, and all that follows from it before anything else can."""
        run = self.run(state, move, Talk() if not canonical else None)
        after = self.canonical(run.world) if canonical else run.world
        return Outcome(after, tuple(run.talk.letters) if run.talk else (), tuple(run.rows), tuple(run.broken))

    def run(self, state: World, move: Move, talk: Talk | None = None) -> Run:
        """Let one thing happen, and return all that is known of it; nothing is renamed yet."""
        run = Run(self, state, talk)
        run.follow(move.event)
        return run

    def canonical(self, state: World) -> World:
        """Return the one state that stands for all that differ in names and numbers only."""
        named = canonical(state, self.limits)
        return sorted_clients(named) if self.symmetric else named

    def judge(self, state: World) -> tuple[str, ...]:
        """Return what is wrong with a state in which nothing is under way inside."""
        return tuple(judge_world(state))

    def marks(self, state: World) -> frozenset[str]:
        """Return the goals that a state is one of."""
        return frozenset(_marks(state))

    def weight(self, state: World) -> int:
        """Return the size of the state's orbit."""
        if not self.symmetric:
            return 1
        alike = orbit(state)
        alike = (*alike, self.limits.clients - sum(alike))
        return factorial(sum(alike)) // prod(factorial(count) for count in alike)

    def rows(self) -> Sequence[tuple[str, Row]]:
        """Return every row of the session's machines. The adversary has more than it needs: mutants need it."""
        machines = core.COMPOSITION.machines.values()
        return [(machine.table.name, row) for machine in machines for row in machine.table.rows]

    def is_system(self, move: Move) -> bool:
        """Say whether a move is one that the world makes when the clients are quiet."""
        return type(move.event).__name__ in SYSTEM

    def is_strong(self, action: str) -> bool:
        """Say whether an action that is possible again and again happens: all do but timers, which leaving disarms."""
        return action.partition(" ")[0] not in TIMED

    def _born(self, name: str, event: Message) -> Cell:
        step = self.world.machines[name].born(event)
        return Cell(step.state, step.data)


class Run:
    """One run to completion over both sides."""

    def __init__(self, model: SessionWorld, world: World, talk: Talk | None) -> None:
        self.model = model
        self.world = world
        self.talk = talk
        self.rows: list[tuple[str, Row]] = []
        self.broken: list[str] = []
        self.trail: list[Message] = []
        """Every message to the session and inside it, in order, also one that was refused."""
        self.proved = ""
        """The token that somebody has shown to know, if that was so."""

    def follow(self, event: Message) -> None:
        """Take an event, and all that follows from it, depth first; stop where something breaks."""
        queue: deque[Message] = deque((event,))
        while queue and not self.broken:
            message = queue.popleft()
            inside = message.machine in self.model.world.machines and message.__class__.__module__ != m.__name__
            try:
                queue.extendleft(reversed(list(self._world(message) if inside else self._session(message))))
            except BROKEN as wrong:
                self.broken.append(f"no defect: {type(wrong).__name__}: {wrong}")

    def _world(self, message: Message) -> Iterator[Message]:
        """Let the adversary's machines take a message; what they say to the session is next."""
        cascade = self.model.world.run(self.world.cells, message, _no_facts, {})
        self.rows += [(taken.address[0], taken.row) for taken in cascade.taken if taken.row is not None]
        if self.talk:
            self.talk.world(cascade)
        self.world = self.world._replace(cells=cascade.cells)
        for effect in cascade.effects:
            said = to_session(self.world, effect)
            if said is not None:
                if self.talk:
                    self.talk.says(self.world, effect, said)
                yield said

    def _session(self, event: Message) -> Iterator[Message]:
        """Let the session decide; what its effects mean to the world is next."""
        before = self.world
        self.trail.append(event)
        try:
            decision = core.decide(before.value, event)
        except ClientError as refusal:
            if self.talk:
                self.talk.refused(event, refusal.code)
            self.broken += judge_refusal(before, event)
            self.rows += [] if isinstance(refusal, LimitReached) else refusing(before.value, event, refusal.code)
            if isinstance(event, m.ResumeRequested):
                yield self.model.loaded.messages.CallFailed(event.claim)  # it is raised where the call was made
            return
        self.rows += [(taken.address[0], taken.row) for taken in decision.taken if taken.row is not None]
        self.broken += judge_commit(before, event, decision)
        if isinstance(event, m.ResumeRequested):
            self.broken += judge_resume(before, event, decision)
        self.world = _remembered(before, event, decision, self.model.limits.positions)
        self.trail += [taken.message for taken in decision.taken[1:]]
        proved = proof(before, event, decision.value)
        if proved:
            self.proved = proved
            self.world = self.world._replace(cells=_superseded(before, proved))
        if self.talk:
            self.talk.decided(before.value, event, decision)
        for effect in decision.effects:
            for told in to_world(self.model.loaded, self.world, effect):
                if self.talk:
                    self.talk.told(self.world, effect, told)
                yield told


def refusing(value: Value, event: Message, code: str) -> list[tuple[str, Row]]:
    """Return the row that refused an event: a refusal raises, and so is in no record of what was taken."""
    machine = core.COMPOSITION.machines.get(event.machine)
    if machine is None:
        return []
    found = value.state(event.machine)
    rows = [row for row in machine.table.rows if (row.state, row.event, row.refuse) == (found, type(event), code)]
    return [(event.machine, row) for row in rows]


def _composition(loaded: Loaded) -> Composition:
    return Composition(
        client.machine(loaded),
        link.machine(loaded),
        stage.caller(loaded),
        stage.pipeline(loaded),
        stage.process(loaded),
        stage.stage(loaded),
    )


def _no_facts(_: Any, message: Message) -> Message:
    raise Defect(f"{type(message).__name__} has facts; nobody fills them in here")


def _remembered(world: World, event: Message, decision: Decision, trims: bool) -> World:
    """Commit, and keep what only a judge needs: the epochs of live deltas."""
    before, after = world.value, decision.value
    deltas = world.deltas
    if isinstance(event, books.Produced) and after.journal.head > before.journal.head:
        deltas |= {event.epoch}
    for effect in decision.effects:
        if isinstance(effect, m.VoidOutput):
            deltas = frozenset(epoch for epoch in deltas if epoch > effect.through)
    if trims and after.journal.trimmed == after.journal.head:
        deltas = frozenset()
    return World(after, world.cells, deltas)


def proof(world: World, event: Message, after: Value) -> str:
    """Return the token that this event shows its sender to know: by using it, or by having read its claim."""
    before = world.value
    current = before.credential.current
    actor: Any = None
    if isinstance(event, m.ResumeRequested) and after.generation != before.generation and event.token == current:
        actor = world.data("caller", event.claim)
    elif isinstance(event, books.Acknowledged) and before.credential.presented is not None:
        actor = world.data("link", event.generation) if after.credential.presented is None else None
    prover = world.data("client", actor.client) if actor is not None else None
    return current.decode() if prover is not None and current.decode() in prover.tokens else ""


def superseded(cell: Cell, proved: str) -> Cell:
    """Note of one client whether it knows the token that was proved; if not, it has a successor."""
    return Cell(cell.state, cell.data._replace(superseded=proved not in cell.data.tokens))


def _superseded(world: World, proved: str) -> Mapping[Address, Cell]:
    return {
        address: superseded(cell, proved) if address[0] == "client" else cell for address, cell in world.cells.items()
    }


def _marks(world: World) -> Iterator[str]:
    value = world.value
    session, attachment = value.state("session"), value.state("attachment")
    claim_rests = attachment not in ("ACTIVATING", "REPLAYING")
    waited_for = [name for (name, _), cell in value.cells.items() if name == "response" or cell.state in WORKING]
    if session == "CLOSED":
        yield "closed"
    if session in ("CLOSING", "QUARANTINED"):
        yield "closing"
    if claim_rests:
        yield "claim at rest"
    if claim_rests and not waited_for and session not in ("OPENING", "CLOSING"):
        yield "rest"
    if value.state("lease") == "GRACE" and all(cell.state == "STRANGER" for cell in world.of("client")):
        yield "abandoned"
