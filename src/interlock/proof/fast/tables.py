"""What each part does, found out from the real core and remembered.

A *row* is one move of a front, alone or led by one client. A move that concerns the session as a whole **asks** the
back, by the first message that reaches the session. The back **answers** by what the session has come to. Likewise, a
move of the back may come to something that the front hears of. Everything else stays in its part; that this is so is
not believed but audited (:mod:`interlock.proof.fast.audit`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from interlock.machine import Cancelled, Cell, Message, Row
from interlock.proof.explore.model import Move
from interlock.proof.fast.grids import Grid, Lists
from interlock.proof.fast.parts import Parts, anonymous, apart, together
from interlock.proof.world.canonical import STRONGEST, Renaming, renamed, renaming
from interlock.proof.world.model import Run, SessionWorld, superseded
from interlock.proof.world.place import World
from interlock.session.session import EXPIRED, strength
from interlock.tables import messages as m

NOTHING = 0
"""No question, no answer."""

BROKEN = 2**30
"""What comes after a step at which a property broke: nothing that is looked at."""

LOCALS = 1 << 10
"""More local states of a client than there ever are."""

BACK = frozenset({"session", "fence", "request", "response"})
LED = frozenset({"client"})
FRONT_MOVES = frozenset({"link", "caller", "pipeline", "lease"})


class Change(NamedTuple):
    """What happens to a client that only looks on: tokens and transports are renamed, and it may be superseded."""

    names: Renaming
    proved: str

    @property
    def key(self) -> Hashable:
        """Return what two changes of the same effect have in common."""
        tokens = self.names.tokens
        return tuple(sorted(tokens.items())), tuple(sorted(self.names.generations.items())), self.proved

    def __call__(self, client: Cell) -> Cell:
        """Apply it."""
        return self.names.client(superseded(client, self.proved) if self.proved else client)


class Numbered:
    """Things by number, and numbers by what tells things apart."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.things: list[Any] = []

    def __call__(self, key: Hashable, thing: Any = None) -> int:
        """Return the number of ``key``; a new one if it has none."""
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.things)
            self.things.append(key if thing is None else thing)
        return number


class Tables:
    """Everything that is known so far. Filled from states that were reached, never from imagined ones."""

    def __init__(self, model: SessionWorld) -> None:
        self.model = model
        self.blank = model.start().value
        self.fronts, self.backs, self.clients = Numbered(), Numbered(), Numbered()
        self.changes, self.asks, self.answers, self.moves = Numbered(), Numbered(), Numbered(), Numbered()
        self.asks("nothing"), self.answers("nothing")
        self.fired: set[tuple[str, Row]] = set()
        self.violations: dict[str, tuple[str, Parts, str]] = {}
        self.situations = 0
        """How often the real core was asked."""
        self.alone, self.led = Lists(2), Lists(2)  # by front, by front and client: rows, and what each asks
        self.front_after, self.client_after, self.change_after = Grid(), Grid(), Grid()  # by row and answer
        self.back_after, self.answer_of = Grid(), Grid()  # by back and question
        self.own = Lists(3)  # by back: the back after it, what the front hears, and the move
        self.hears = Grid()  # by front and what it hears: the front after it
        self.sees = Grid()  # by change and client: the client after it
        self.shares = Grid()  # by client and giver: the client after it; itself if there is nothing new

    def learn_front(self, parts: Parts) -> None:
        """Find out what a front may do alone."""
        self.alone.put(self.fronts(parts.front), list(self._rows(parts, FRONT_MOVES, parts.front)))

    def learn_led(self, parts: Parts) -> None:
        """Find out what the first client may do with a front."""
        front, client = self.fronts(parts.front), self.clients(parts.clients[0])
        key = (parts.front, parts.clients[0])
        self.led.put(front * LOCALS + client, list(self._rows(parts, LED, key)))
        self._judge(parts, parts.clients)

    def learn_own(self, parts: Parts) -> None:
        """Find out what a back may do by itself, and what this front hears of it."""
        rows: list[tuple[int, ...]] = []
        for move in self.model.moves(self.world(parts)):
            if self._side(move.event) == "back":
                number = self.moves(("back", move.label), move)
                rows.append((*self.learn_hearing(parts, number), number))
        self.own.put(self.backs(parts.back), rows)
        self._judge(parts, ())

    def learn_hearing(self, parts: Parts, number: int) -> tuple[int, int]:
        """Make a move of the back in a whole state: return the back after it, and what the front heard."""
        after, run = self._made(parts, self.moves.things[number])
        if run.broken:
            return BROKEN, NOTHING
        heard = self._answer(parts, after)
        self.hears.put(self.fronts(parts.front), heard, self.fronts(after.front))
        return self.backs(after.back), heard

    def learn_row(self, parts: Parts, row: int, asked: int) -> None:
        """Make the move of a row in a whole state, its client first: what all parts come to."""
        after, run = self._made(parts, self.moves.things[row])
        back = self.backs(parts.back)
        if run.broken:
            self.front_after.put(row, NOTHING, BROKEN)
            self.answer_of.put(back, asked, NOTHING)
            return
        answer = self._answer(parts, after)
        self.answer_of.put(back, asked, answer)
        self.back_after.put(back, asked, self.backs(after.back))
        self.front_after.put(row, answer, self.fronts(after.front))
        self.client_after.put(row, answer, self.clients(after.clients[0]))
        change = Change(renaming(run.world, self.model.limits), run.proved)
        self.change_after.put(row, answer, self.changes(change.key, change))

    def learn_sight(self, change: int, client: int) -> None:
        """Find out what a client comes to that looks on."""
        after: Cell = self.changes.things[change](self.clients.things[client])
        self.sees.put(change, client, self.clients(anonymous(after)))

    def learn_share(self, parts: Parts) -> None:
        """Find out what the first client comes to when the second one shares what it knows."""
        client, giver = parts.clients[:2]
        pair = Parts(parts.front, parts.back, (client, giver))
        found = [move for move in self.model.moves(self.world(pair)) if str(move.event).startswith(SHARED)]
        after = self.clients(client)
        for move in found:
            after = self.clients(self._made(pair, move)[0].clients[0])
        self.shares.put(self.clients(client), self.clients(giver), after)

    def world(self, parts: Parts) -> World:
        """Put a world together."""
        return together(parts.front, parts.back, parts.clients, self.blank)

    # ------------------------------------------------------------------------------------------------------------ how

    def _rows(self, parts: Parts, sides: Iterable[str], key: Hashable) -> Iterator[tuple[int, int]]:
        for move in self.model.moves(self.world(parts)):
            event = move.event
            side = self._side(event)
            if side in sides and (side not in LED or event.client == 1) and not str(event).startswith(SHARED):
                run = self.model.run(self.world(parts), move)
                yield self.moves((key, move.label), move), self.asks(question(run.trail))

    def _side(self, event: Any) -> str:
        """Return which part makes a move; what the host does to a session as a whole is made by the front."""
        machine = event.machine
        if type(event).__module__ == m.__name__:
            back = machine in BACK and not isinstance(event, m.EndRequested | m.CloseRequested | m.InterruptRequested)
            return "back" if back else "lease"
        return "back" if machine in ("stage", "process") else machine

    def _made(self, parts: Parts, move: Move) -> tuple[Parts, Run]:
        self.situations += 1
        run = self.model.run(self.world(parts), move)
        self.fired.update(run.rows)
        for sentence in run.broken:
            self._broken(sentence, parts, move.label)
        after = (
            parts
            if run.broken
            else apart(renamed(run.world, self.model.limits, renaming(run.world, self.model.limits)))
        )
        return after, run

    def _answer(self, parts: Parts, after: Parts) -> int:
        changed = parts.back.session != after.back.session
        return self.answers(after.back.session) if changed else NOTHING

    def _judge(self, parts: Parts, clients: tuple[Cell, ...]) -> None:
        for sentence in self.model.judge(self.world(Parts(parts.front, parts.back, clients))):
            self._broken(sentence, parts, "")

    def _broken(self, sentence: str, parts: Parts, label: str) -> None:
        name, _, seen = sentence.partition(": ")
        self.violations.setdefault(name, (seen, parts, label))


SHARED = "TokenShared("


def question(trail: Iterable[Message]) -> str:
    """Return what a run asks of the back: the first message that concerns it, as far as it can tell."""
    for message in trail:
        machine = message.target if isinstance(message, Cancelled) else message.machine
        if machine in BACK or isinstance(message, m.IdleDue):
            reason = getattr(message, "reason", "")
            kind = "expired" if reason in EXPIRED else STRONGEST[strength(reason)]
            return f"{type(message).__name__} {kind} {getattr(message, 'idle_for_s', '')}"
    return "nothing"
