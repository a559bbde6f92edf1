"""The fast engine: it agrees with the plain one on every count, it is audited, and it finds what is planted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interlock.cli import main
from interlock.proof.explore.mutant import planted, written
from interlock.proof.explore.replay import replayed
from interlock.proof.explore.search import Limits, search
from interlock.proof.explore.verdict import Verdict
from interlock.proof.fast.audit import Parted, audit
from interlock.proof.fast.engine import Engine, Packing, States
from interlock.proof.fast.parts import apart, together
from interlock.proof.fast.seen import Seen
from interlock.proof.fast.verdict import judged
from interlock.proof.world.bounds import LARGE, Bounds
from interlock.proof.world.model import SessionWorld
from interlock.proof.world.place import World

PINNED = {"pair": (4_506, 8_822), "meeting": (4_635, 4_635)}
"""Orbits, and the states that they stand for."""


def world(name: str, *, symmetric: bool = True) -> SessionWorld:
    return SessionWorld(name, LARGE[name], symmetric=symmetric)


class Opened(SessionWorld):
    """A world whose session was opened by a client of one's choice, where clients are told apart."""

    def __init__(self, name: str, bounds: Bounds, opener: int) -> None:
        super().__init__(name, bounds)
        self.opener = opener

    def begin(self) -> World:
        names = {1: self.opener, self.opener: 1}
        world = super().begin()
        cells = {}
        for (machine, key), cell in world.cells.items():
            data, number = cell.data, key
            if machine in ("client", "link"):
                data = data._replace(client=names.get(data.client, data.client))
                number = data.client if machine == "client" else key
            cells[machine, number] = cell._replace(data=data)
        return world._replace(cells=cells)


@pytest.mark.slow
@pytest.mark.timeout_s(240)
@pytest.mark.parametrize("name", PINNED)
def test_both_engines_find_the_same_states_and_all_holds(name: str) -> None:
    engine = Engine(world(name))
    fast = engine.run()
    plain = search(world(name))
    assert (fast.states, fast.weight) == (plain.states, plain.weight) == PINNED[name]
    assert len(fast.layers) - 1 == plain.depth
    found = judged(engine, fast, Limits())
    assert {finding.verdict for finding in found.findings} == {Verdict.HOLDS}
    assert not plain.violations


def test_the_orbits_of_interchangeable_clients_add_up_to_the_states_without_symmetry() -> None:
    without = LARGE["pair"].without | {"AckSent", "CallerCancelled", "CallerReturned", "LinkBroke"}
    bounds = Bounds(clients=3, generations=1, positions=False, prepared=True, without=without)
    fast = Engine(SessionWorld("three", bounds, symmetric=True)).run()
    plain = [set(search(Opened("three", bounds, opener)).keys) for opener in (1, 2, 3)]
    assert fast.weight == len(set.union(*plain))
    assert fast.states < len(plain[0])


def test_an_audit_finds_a_table_that_is_wrong() -> None:
    engine = Engine(world("pair"))
    found = engine.run(Limits(states=500))
    assert audit(engine, found, 50) == 50
    known = engine.tables.alone.known
    for index, rows in list(known.items()):
        engine.tables.alone.put(index, rows[:-1])
    with pytest.raises(Parted):
        audit(engine, found, 50)


@pytest.mark.parametrize("name", ["AT-02", "AT-14", "anything proves", "ATTACHED clears presented"])
def test_a_planted_fault_is_found_with_a_shortest_path_that_replays(name: str) -> None:
    (mutant,) = (one for one in written("tests/mutants") if one.name == name)
    with planted(mutant):
        engine = Engine(world("pair"))
        found = judged(engine, engine.run(), Limits())
        (broken,) = (finding for finding in found.findings if finding.verdict is Verdict.VIOLATED)
        assert broken.property.name in replayed(engine.model, broken.path).names
        plain = search(world("pair"), stop_at_first=True)
        violation = plain.violations[broken.property.name]
        assert len(broken.path) == plain.depths[violation.source] + bool(violation.label)


def test_a_world_taken_apart_and_put_together_is_the_same() -> None:
    model = world("pair")
    state = model.start()
    for _ in range(12):
        state = model.take(state, model.moves(state)[0]).state
        again = together(*apart(state), model.start().value)
        assert model.key(model.canonical(again)) == model.key(state)


def test_a_state_is_one_word_and_back() -> None:
    packing = Packing(3, has_back=True)
    states = States(np.array([5, 1]), np.array([7, 0]), np.array([[3, 1, 2], [0, 0, 4]]))
    words = packing.pack(states)
    again = packing.unpack(words)
    assert again.clients.tolist() == [[1, 2, 3], [0, 0, 4]]
    assert (again.front.tolist(), again.back.tolist()) == ([5, 1], [7, 0])
    assert packing.weight(words) == 6 + 3


def test_what_was_seen_is_not_new() -> None:
    seen = Seen()
    assert seen.new(np.array([1, 3, 5], np.uint64)).tolist() == [1, 3, 5]
    assert seen.new(np.array([2, 3, 9], np.uint64)).tolist() == [2, 9]
    assert (seen.new(np.array([1, 2, 3, 5, 9], np.uint64)).size, seen.size) == (0, 5)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--world", "claim", "--engine", "fast"], "without positions"),
        (["--world", "answer", "--engine", "fast"], "knows no answers by name"),
        ([str(Path("examples/explore_lock.py:FENCED")), "--engine", "fast"], "is for the session's worlds"),
    ],
)
def test_what_it_cannot_do_it_says(given: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", *given]) == 2
    assert says in capsys.readouterr().err


def test_the_adversary_is_drawn_and_its_drawings_are_up_to_date() -> None:
    assert main(["check", "machines/world"]) == 0
    assert main(["draw", "machines/world", "--out", "diagrams/world", "--check"]) == 0
