"""``interlock explore --mutants``: plant one-line faults, one at a time, and say which property finds each."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from interlock.proof.explore.kill import Kill, killed, table
from interlock.proof.explore.model import Model
from interlock.proof.explore.mutant import Mutant, written
from interlock.proof.explore.mutate import generated
from interlock.proof.explore.target import Unusable
from interlock.proof.world.bounds import WORLDS
from interlock.proof.world.model import SessionWorld
from interlock.session import decide as core

FOUND, SURVIVED = 0, 1

ASKED: dict[str, tuple[str, ...]] = {
    "attachment": ("opening", "claim"),
    "lease": ("opening", "claim"),
    "session": ("overlap", "opening", "answer"),
    "fence": ("overlap", "answer"),
    "request": ("overlap", "opening", "answer"),
    "response": ("overlap", "chain", "answer"),
}
"""In which worlds a mutant is looked for that names none, by its machine, the quickest first."""

RECORD = "paths.json"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options about mutants."""
    add = parser.add_argument_group("mutants").add_argument
    add("--mutants", nargs="?", const="tests/mutants", metavar="DIR", help="plant those of DIR (default: %(const)s)")
    add("--generate", action="store_true", help="make mutants of every row as well: drop, swap, forget, not land")
    add("--only", action="append", default=[], metavar="TEXT", help="only mutants whose name has TEXT in it")
    add("--record", action="store_true", help=f"write the shortest paths into DIR/{RECORD}")
    add("--jobs", type=int, default=1, metavar="N", help="processes (default: %(default)s)")


def main(args: argparse.Namespace) -> int:
    """Print the kill table; fail if a mutant survives that has no reason to, or dies that has one."""
    mutants = _mutants(args)
    kills = list(_told(_killed(mutants, args), len(mutants)))
    if args.record:
        _record(Path(args.mutants) / RECORD, kills)
    if args.json:
        sys.stdout.write(json.dumps([_plain(kill) for kill in kills], indent=2) + "\n")
    else:
        sys.stdout.write(table(kills) + "\n")
    return FOUND if all(kill.is_as_said for kill in kills) else SURVIVED


def _mutants(args: argparse.Namespace) -> list[Mutant]:
    found = written(args.mutants) if args.mutants else []
    found += generated(core.COMPOSITION.machines) if args.generate else []
    chosen = [mutant for mutant in found if not args.only or any(text in mutant.name for text in args.only)]
    if not chosen:
        raise Unusable(f"no mutant has {' or '.join(args.only)} in its name")
    if unknown := sorted({mutant.world for mutant in chosen if mutant.world not in ("", *WORLDS)}):
        raise Unusable(f"no world is called {', '.join(unknown)}; there are {', '.join(WORLDS)}")
    return chosen


def _killed(mutants: list[Mutant], args: argparse.Namespace) -> Iterable[Kill]:
    if args.jobs <= 1:
        yield from (one(mutant, args.machines) for mutant in mutants)
        return
    with ProcessPoolExecutor(args.jobs, get_context("fork")) as pool:
        yield from pool.map(one, mutants, [args.machines] * len(mutants))


def one(mutant: Mutant, machines: str) -> Kill:
    """Kill one mutant, or not."""
    names = ASKED.get(mutant.file.removesuffix(".toml"), tuple(WORLDS))
    return killed(mutant, worlds(machines), names, machines)


def worlds(machines: str) -> Callable[[str], Model]:
    """Return what makes a world of its name."""
    return lambda name: SessionWorld(name, WORLDS[name], str(Path(machines) / "world"))


def _told(kills: Iterable[Kill], total: int) -> Iterable[Kill]:
    for number, kill in enumerate(kills, 1):
        sys.stderr.write(f"{number} of {total}: {kill.mutant.name}: {kill.finds or 'survives'}, {kill.seconds:.1f} s\n")
        yield kill


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
