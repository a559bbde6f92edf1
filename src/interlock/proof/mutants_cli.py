"""``interlock explore --mutants``: plant one-line faults, one at a time, and say which property finds each."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from interlock.proof.explore.kill import Kill, killed, killed_in, table
from interlock.proof.explore.model import Model
from interlock.proof.explore.mutant import Mutant, written
from interlock.proof.explore.mutate import generated
from interlock.proof.explore.reach import Reach
from interlock.proof.explore.survivors import explained
from interlock.proof.explore.target import Unusable
from interlock.proof.world.bounds import WORLDS
from interlock.proof.world.model import SessionWorld
from interlock.session import decide as core

FOUND, SURVIVED = 0, 1

MUTANTS = "tests/mutants"

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
    if args.record and not args.mutants:
        raise Unusable("--record is about the mutants of a folder: name it with --mutants")
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
    asked = {mutant.world for mutant in chosen if mutant.world} | set(args.world or ())
    if unknown := sorted(asked - set(WORLDS)):
        raise Unusable(f"no world is called {', '.join(unknown)}; there are {', '.join(WORLDS)}")
    return chosen


def _killed(mutants: list[Mutant], args: argparse.Namespace) -> Iterator[Kill]:
    """Kill them in turn, in as many processes as asked for. The order is that of the mutants."""
    reach = _reach(args) if any(mutant.at for mutant in mutants) else {}
    due = [(mutant, args.machines) for mutant in mutants]
    jobs = args.jobs or os.cpu_count() or 1
    if jobs == 1:
        yield from (_kill(mutant, machines, reach) for mutant, machines in due)
        return
    SHARED.update(reach)
    with get_context("fork").Pool(jobs) as pool:  # fork, so that nobody has to search the worlds again
        yield from pool.imap(_kill_in_a_child, due)


def _reach(args: argparse.Namespace) -> dict[str, Reach]:
    """Search each world without any fault; the quickest first, from then on."""
    world, found = worlds(args.machines), {}
    for name in args.world or WORLDS:
        found[name] = Reach(world(name))
        sys.stderr.write(f"{name}: {found[name].graph.steps:,} steps without a fault\n")
    return dict(sorted(found.items(), key=lambda one: one[1].graph.steps))


SHARED: dict[str, Reach] = {}
"""The worlds without a fault, for child processes."""


def _kill_in_a_child(due: tuple[Mutant, str]) -> Kill:
    return _kill(*due, SHARED)


def _kill(mutant: Mutant, machines: str, reach: Mapping[str, Reach]) -> Kill:
    return killed_in(mutant, reach, machines) if mutant.at is not None else one(mutant, machines)


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
    try:
        path.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    except OSError as wrong:
        raise Unusable(f"{path}: cannot be written: {wrong.strerror}") from None


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
