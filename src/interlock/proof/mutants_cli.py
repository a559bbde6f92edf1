"""``interlock explore --mutants``: plant one-line faults, one at a time, and say which property finds each."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

from interlock.proof.explore.kill import Kill, killed, table
from interlock.proof.explore.model import Model
from interlock.proof.explore.mutant import Mutant, written
from interlock.proof.explore.mutate import generated
from interlock.proof.explore.search import search
from interlock.proof.explore.survivors import explained
from interlock.proof.explore.target import Unusable
from interlock.proof.world.bounds import WORLDS
from interlock.proof.world.model import SessionWorld
from interlock.session import decide as core

FOUND, SURVIVED = 0, 1

MUTANTS = "tests/mutants"

Reached: TypeAlias = frozenset[tuple[str, str, str]]
"""Machine, state and event: everything that was delivered in a world."""

RECORD = "paths.json"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options about mutants."""
    add = parser.add_argument_group("mutants").add_argument
    add("--mutants", nargs="?", const=MUTANTS, metavar="DIR", help="plant those of DIR (default: %(const)s)")
    add("--generate", action="store_true", help="make mutants of every row as well: drop, swap, forget, not land")
    add("--only", action="append", default=[], metavar="TEXT", help="only mutants whose name has TEXT in it")
    add("--record", action="store_true", help=f"write the shortest paths into DIR/{RECORD}")
    add("--jobs", type=_natural, default=1, metavar="N", help="processes (default: %(default)s; 0: each core)")


def main(args: argparse.Namespace) -> int:
    """Print the kill table; fail if a mutant survives that has no reason to, or dies that has one."""
    mutants = _mutants(args)
    told = Told(len(mutants))
    kills = [told(kill) for kill in _killed(mutants, args)]
    if args.record:
        _record(Path(args.mutants) / RECORD, kills)
    if args.json:
        sys.stdout.write(json.dumps([_plain(kill) for kill in kills], indent=2) + "\n")
    else:
        sys.stdout.write(table(kills) + "\n")
    return FOUND if all(kill.is_as_said for kill in kills) else SURVIVED


def _natural(written: str) -> int:
    if not written.isdecimal():
        raise argparse.ArgumentTypeError(f"{written!r} is not a number of 0 or more")
    return int(written)


def _mutants(args: argparse.Namespace) -> list[Mutant]:
    found = written(args.mutants) if args.mutants else []
    if args.generate:
        found += explained(generated(core.COMPOSITION.machines), args.mutants or MUTANTS)
    chosen = [mutant for mutant in found if not args.only or any(text in mutant.name for text in args.only)]
    if not chosen:
        raise Unusable(f"no mutant has {' or '.join(args.only)} in its name")
    if unknown := sorted({mutant.world for mutant in chosen if mutant.world not in ("", *WORLDS)}):
        raise Unusable(f"no world is called {', '.join(unknown)}; there are {', '.join(WORLDS)}")
    return chosen


def _killed(mutants: list[Mutant], args: argparse.Namespace) -> Iterator[Kill]:
    """Kill them in turn, in as many processes as asked for. The order is that of the mutants."""
    with _pool(args.jobs) as pool:
        reach = _reach(pool, mutants, args)
        due = [(mutant, asked(mutant, reach), args.machines) for mutant in mutants]
        yield from pool.imap(_one, due) if pool else map(_one, due)


def _pool(jobs: int) -> Any:
    jobs = jobs or os.cpu_count() or 1
    return get_context("fork").Pool(jobs) if jobs > 1 else nullcontext()


def _reach(pool: Any, mutants: list[Mutant], args: argparse.Namespace) -> dict[str, Reached]:
    """Return what each world delivers to which state, quickest world first, where a mutant needs to know."""
    if all(mutant.world for mutant in mutants):
        return {}
    sys.stderr.write("looking which world takes which rows\n")
    due = [(name, args.machines) for name in args.world or WORLDS]
    found = sorted(pool.imap_unordered(_reached, due) if pool else map(_reached, due), key=lambda one: one[1])
    return {name: reached for name, _, reached in found}


def _reached(due: tuple[str, str]) -> tuple[str, int, Reached]:
    name, machines = due
    graph = search(worlds(machines)(name))
    return name, graph.steps, frozenset((machine, row.state, row.event.__name__) for machine, row in graph.rows)


def asked(mutant: Mutant, reach: Mapping[str, Reached]) -> tuple[str, ...]:
    """Return the worlds that can tell a mutant: those in which its state meets its event at all."""
    if mutant.world or mutant.at is None:
        return (mutant.world,) if mutant.world else tuple(WORLDS)
    return tuple(name for name, reached in reach.items() if mutant.at in reached)


def _one(due: tuple[Mutant, tuple[str, ...], str]) -> Kill:
    mutant, names, machines = due
    return killed(mutant, worlds(machines), names, machines)


def one(mutant: Mutant, machines: str, names: Sequence[str] = tuple(WORLDS)) -> Kill:
    """Kill one mutant, or not, in the world that it names or else in these."""
    return killed(mutant, worlds(machines), names, machines)


def worlds(machines: str) -> Callable[[str], Model]:
    """Return what makes a world of its name."""
    return lambda name: SessionWorld(name, WORLDS[name], str(Path(machines) / "world"))


class Told:
    """Says on stderr what became of each mutant, and about how long the rest will take."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.number = 0
        self.began = time.monotonic()

    def __call__(self, kill: Kill) -> Kill:
        """Say it, and return the kill."""
        self.number += 1
        left_s = (time.monotonic() - self.began) / self.number * (self.total - self.number)
        became = kill.finds or ("survives, as explained" if kill.mutant.survives else "SURVIVES")
        rest = f"about {left_s / 60:.0f} min left" if left_s >= 60 else f"about {left_s:.0f} s left"
        sys.stderr.write(f"{self.number} of {self.total}: {kill.mutant.name}: {became}, {kill.seconds:.1f} s; {rest}\n")
        return kill


def _record(path: Path, kills: list[Kill]) -> None:
    told = {kill.mutant.name: _plain(kill) for kill in kills if kill.finds and kill.mutant.table is None}
    path.write_text(json.dumps(told, indent=1) + "\n", "utf-8")


def _plain(kill: Kill) -> dict[str, Any]:
    """Return what does not depend on the clock."""
    return {
        "mutant": kill.mutant.name,
        "world": kill.world,
        "finds": kill.finds,
        "seen": kill.seen,
        "states": kill.states,
        "path": list(kill.path),
    }
