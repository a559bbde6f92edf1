"""Breadth-first in numpy: a state is one 64-bit word, a layer is one sorted array, and a step is a lookup."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from interlock.proof.explore.search import Limits, Progress
from interlock.proof.explore.target import Unusable
from interlock.proof.fast.grids import Ints
from interlock.proof.fast.parts import Parts, apart
from interlock.proof.fast.seen import Seen, Words
from interlock.proof.fast.tables import BROKEN, LOCALS, NOTHING, Tables
from interlock.proof.world.model import SessionWorld

CHUNK = 100_000


class States(NamedTuple):
    """Unpacked: the numbers of the front and the back of each state, and of its clients, a column each, sorted."""

    front: Ints
    back: Ints
    clients: Ints

    def at(self, places: Ints) -> States:
        """Return some of them."""
        return States(self.front[places], self.back[places], self.clients[places])


class Packing:
    """How a state is a word: front, back, and clients in order, so that equal words are equal states."""

    def __init__(self, clients: int, has_back: bool) -> None:
        self.clients = clients
        self.back_bits = 20 if has_back else 4
        self.client_bits = min(9, (63 - self.back_bits - 13) // clients)
        self.front_bits = 63 - self.back_bits - self.client_bits * clients

    def pack(self, states: States) -> Words:
        """Return the words of states, whose clients are sorted first."""
        clients = np.sort(states.clients, axis=1)
        self._fit(states, clients)
        word = states.front.astype(np.uint64) << np.uint64(self.back_bits) | states.back.astype(np.uint64)
        for column in range(self.clients):
            word = word << np.uint64(self.client_bits) | clients[:, column].astype(np.uint64)
        return word

    def unpack(self, words: Words) -> States:
        """Return the states of words."""
        columns = []
        for _ in range(self.clients):
            columns.append((words & np.uint64((1 << self.client_bits) - 1)).astype(np.int64))
            words = words >> np.uint64(self.client_bits)
        back = (words & np.uint64((1 << self.back_bits) - 1)).astype(np.int64)
        front = (words >> np.uint64(self.back_bits)).astype(np.int64)
        return States(front, back, np.stack(columns[::-1], axis=1))

    def weight(self, words: Words) -> int:
        """Return how many states they stand for, under all ways to number the clients."""
        clients = self.unpack(words).clients
        weights = np.full(words.size, math.factorial(self.clients), np.int64)
        alike = np.ones(words.size, np.int64)
        for column in range(1, self.clients):
            alike = np.where(clients[:, column] == clients[:, column - 1], alike + 1, 1)
            weights //= alike
        return int(weights.sum())

    def _fit(self, states: States, clients: Ints) -> None:
        for name, column, bits in [
            ("fronts", states.front, self.front_bits),
            ("backs", states.back, self.back_bits),
            ("local states of a client", clients, self.client_bits),
        ]:
            if column.size and int(column.max()) >= 1 << bits:
                raise Unusable(f"over {1 << bits:,} {name}: too many for one word; fewer clients leave more room")


class Layers(NamedTuple):
    """What a search found."""

    tables: Tables
    packing: Packing
    states: int
    weight: int
    steps: int
    seconds: float
    incomplete: str
    layers: tuple[Words, ...]
    """Every state, by how far it is from the start."""

    @property
    def sample(self) -> Words:
        """Some of them, of every layer."""
        return np.concatenate([layer[:: max(layer.size // 50, 1)][:50] for layer in self.layers])


class Engine:
    """One search. The model must be one without positions, past its opening, in which no client leaves."""

    def __init__(self, model: SessionWorld) -> None:
        bounds = model.limits
        if bounds.positions or not (bounds.prepared or bounds.attached) or "ClientLeft" not in bounds.without:
            raise Unusable(
                f"{model.name}: the fast engine needs a world without positions, prepared, whose clients stay"
            )
        if "AnswerCancelled" not in bounds.without or bounds.embedded:
            raise Unusable(f"{model.name}: the fast engine knows no answers by name, and no embedder")
        self.model = model
        self.tables = Tables(model)
        self.packing = Packing(bounds.clients, bool(bounds.requests))
        self.steps = 0

    def run(self, limits: Limits | None = None, told: Callable[[Progress], None] | None = None) -> Layers:
        """Find every state, or as many as the limits allow."""
        limits = limits or Limits(states=200_000_000)
        began, seen, weight, incomplete = time.perf_counter(), Seen(), 0, ""
        layer = seen.new(self.packing.pack(self._numbered(apart(self.model.start()))))
        layers: list[Words] = []
        while layer.size and not incomplete and not self.tables.violations:
            layers.append(layer)
            weight += self.packing.weight(layer)
            layer = seen.new(self._successors(layer))
            seconds = time.perf_counter() - began
            if told is not None:
                told(Progress(seen.size, layer.size, len(layers) - 1, seconds))
            if layer.size and (seen.size > limits.states or seconds > limits.seconds):
                incomplete = f"over {limits.states:,} states or {limits.seconds:g} s"
        states, seconds = sum(layer.size for layer in layers), time.perf_counter() - began
        return Layers(self.tables, self.packing, states, weight, self.steps, seconds, incomplete, tuple(layers))

    def successors(self, words: Words) -> Words:
        """Return every state that some states lead to, sorted and once each."""
        return self._successors(words)

    def parts(self, states: States, place: int, first: int = 0) -> Parts:
        """Return one state in parts, one of its clients first."""
        tables = self.tables
        numbers = states.clients[place].tolist()
        numbers.insert(0, numbers.pop(first))
        clients = tuple(tables.clients.things[number] for number in numbers)
        return Parts(tables.fronts.things[states.front[place]], tables.backs.things[states.back[place]], clients)

    def word(self, parts: Parts) -> np.uint64:
        """Return the word of a state in parts."""
        word: np.uint64 = self.packing.pack(self._numbered(parts))[0]
        return word

    def _numbered(self, parts: Parts) -> States:
        tables = self.tables
        clients = [[tables.clients(cell) for cell in parts.clients]]
        return States(
            np.array([tables.fronts(parts.front)]), np.array([tables.backs(parts.back)]), np.array(clients, np.int64)
        )

    def _successors(self, layer: Words) -> Words:
        found = [np.zeros(0, np.uint64)]
        for start in range(0, layer.size, CHUNK):
            states = self.packing.unpack(layer[start : start + CHUNK])
            words = [self.packing.pack(after) for after in self._steps(states)]
            self.steps += sum(word.size for word in words)
            found.append(np.unique(np.concatenate(words)))
            if len(found) > 8:
                found = [np.unique(np.concatenate(found))]
        return np.unique(np.concatenate(found))

    def _steps(self, states: States) -> Iterator[States]:
        yield self._front_steps(states)
        for column in range(self.packing.clients):
            yield self._led_steps(states, column)
            for giver in range(self.packing.clients):
                if giver != column:
                    yield self._shared_steps(states, column, giver)
        yield self._back_steps(states)

    def _front_steps(self, states: States) -> States:
        for place in self.tables.alone.lacks(states.front):
            self.tables.learn_front(self.parts(states, place))
        source, rows = self.tables.alone.expand(states.front)
        return self._rows(states.at(source), rows, None)

    def _led_steps(self, states: States, column: int) -> States:
        if column:  # of clients that are alike, the first one moves for all
            states = states.at(np.flatnonzero(states.clients[:, column] != states.clients[:, column - 1]))
        index = states.front * LOCALS + states.clients[:, column]
        for place in self.tables.led.lacks(index):
            self.tables.learn_led(self.parts(states, place, column))
        if not index.size:
            return states
        source, rows = self.tables.led.expand(index)
        return self._rows(states.at(source), rows, column)

    def _rows(self, states: States, rows: Ints, column: int | None) -> States:
        """Make one row in each state. What is not known yet is found out in the first state that needs it."""
        tables, (row, asked) = self.tables, rows.T
        while True:
            answer = np.where(asked == NOTHING, NOTHING, tables.answer_of.look(states.back, asked))
            front = tables.front_after.look(row, np.maximum(answer, NOTHING))
            missing = np.flatnonzero((answer < 0) | (front < 0))
            if not missing.size:
                break
            for place in _distinct(missing, row, states.back, asked):
                tables.learn_row(self.parts(states, place, column or 0), int(row[place]), int(asked[place]))
        whole = np.flatnonzero(front != BROKEN)
        states, row, asked, answer, front = states.at(whole), row[whole], asked[whole], answer[whole], front[whole]
        back = np.where(asked == NOTHING, states.back, tables.back_after.look(states.back, asked))
        change = tables.change_after.look(row, answer)
        clients = np.stack(
            [self._seen(change, states.clients[:, other]) for other in range(self.packing.clients)], axis=1
        )
        if column is not None:
            clients[:, column] = tables.client_after.look(row, answer)
        return States(front, back, clients)

    def _seen(self, change: Ints, client: Ints) -> Ints:
        tables = self.tables
        after = tables.sees.look(change, client)
        missing = np.flatnonzero(after < 0)
        for one, other in {(int(change[place]), int(client[place])) for place in missing}:
            tables.learn_sight(one, other)
        return tables.sees.look(change, client) if missing.size else after

    def _shared_steps(self, states: States, column: int, giver: int) -> States:
        taker, giving = states.clients[:, column], states.clients[:, giver]
        after = self.tables.shares.look(taker, giving)
        for place in _distinct(np.flatnonzero(after < 0), taker, giving):
            parts = self.parts(states, place, column)
            other = self.tables.clients.things[giving[place]]
            self.tables.learn_share(parts._replace(clients=(parts.clients[0], other)))
        after = self.tables.shares.look(taker, giving)
        moved = np.flatnonzero(after != taker)
        states = states.at(moved)
        clients = states.clients.copy()
        clients[:, column] = after[moved]
        return States(states.front, states.back, clients)

    def _back_steps(self, states: States) -> States:
        tables = self.tables
        for place in tables.own.lacks(states.back):
            tables.learn_own(self.parts(states, place))
        source, rows = tables.own.expand(states.back)
        states = states.at(source)
        back, heard, move = rows.T
        front = np.where(heard == NOTHING, states.front, tables.hears.look(states.front, heard))
        for place in _distinct(np.flatnonzero(front < 0), states.front, heard):
            tables.learn_hearing(self.parts(states, place), int(move[place]))
        front = np.where(heard == NOTHING, states.front, tables.hears.look(states.front, heard))
        whole = np.flatnonzero(back != BROKEN)
        return States(front[whole], back[whole], states.clients[whole])


def trace(engine: Engine, found: Layers, last: np.uint64) -> list[np.uint64]:
    """Return the states of a shortest path to ``last``, which is in the last layer: found backwards, by bisection."""
    path = [last]
    for layer in reversed(found.layers[:-1]):
        while layer.size > 1:
            half = layer[: layer.size // 2]
            layer = half if path[0] in engine.successors(half) else layer[layer.size // 2 :]
        path.insert(0, layer[0])
    return path


def _distinct(places: Ints, *columns: Ints) -> list[int]:
    """Return one place for each different combination of what stands there."""
    found: dict[tuple[int, ...], int] = {}
    for place in places.tolist():
        found.setdefault(tuple(int(column[place]) for column in columns), place)
    return list(found.values())
