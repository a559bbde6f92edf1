"""``interlock explore``: every state that a session, or machines of your own, can reach; and what holds in all."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from interlock import shipped
from interlock.proof import mutants_cli
from interlock.proof.explore.chart import svg_chart, text_chart
from interlock.proof.explore.model import Model
from interlock.proof.explore.replay import replayed
from interlock.proof.explore.report import as_json, coverage, row_text, text
from interlock.proof.explore.search import Limits, Progress, search
from interlock.proof.explore.target import Unusable, models
from interlock.proof.explore.verdict import Exploration, Finding, Verdict, judged
from interlock.proof.telling import Telling
from interlock.proof.world.bounds import LARGE, WORLDS
from interlock.proof.world.model import SessionWorld
from interlock.proof.world.worker import worker_world

CODES = {Verdict.HOLDS: 0, Verdict.VIOLATED: 1, Verdict.UNDETERMINED: 2}

EXPLORE = """\
Searches breadth-first through everything that can happen, to the end, and says of each property whether it HOLDS, is
VIOLATED (with a shortest sequence of moves that shows it, as a chart), or is UNDETERMINED, and why.

Without a target: the session core, with clients, links, callers and stages at their worst (machines/world), in several
worlds that together take every row. With one: the models of a Python file of yours; docs/proofs.md says how.

  interlock explore                                  all worlds of the session
  interlock explore --world claims --json            one of them
  interlock explore examples/explore_lock.py         machines of your own
  interlock explore --mutants                        one-line faults, and which property finds each
"""

WORKER = "worker"
"""The world of the host's own machine."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = EXPLORE
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "Exit codes: 0 all holds, 1 something is violated, 2 something is not known, or could not be done."
    add = parser.add_argument
    add("targets", nargs="*", metavar="TARGET", help="path.py, module, path.py:name or module:name")
    add(
        "--world",
        action="append",
        metavar="NAME",
        help=f"of {', '.join((*WORLDS, WORKER))} (default: all of these), or {', '.join(LARGE)}; may be repeated",
    )
    add(
        "--engine",
        choices=["plain", "fast"],
        help=f"default: plain, and fast (needs numpy) for {', '.join(LARGE)}",
    )
    add("--machines", metavar="DIR", help="folder with world/ in it (default: Interlock's own)")
    add("--symmetric", action="store_true", help="count clients that are alike once; what is about runs is not asked")
    add("--states", type=_natural, metavar="N", help="stop at so many (default: 1000000; 100000000 in the fast engine)")
    add("--seconds", type=_natural, default=int(Limits().seconds), metavar="S", help="stop then (default: %(default)s)")
    add("--out", metavar="DIR", help="write each counterexample there: chart as .txt and .svg, path as .json")
    mutants_cli.arguments(parser)
    add("--json", action="store_true", help="print the reports as one JSON document")


def main(args: argparse.Namespace) -> int:
    """Explore, report, and return the worst verdict as an exit code."""
    if args.mutants or args.generate:
        _folder(args)
        return mutants_cli.main(args)
    if args.out is not None:
        _make(Path(args.out))
    found = [explored(model, _limits(args, model), fast=_is_fast(args, model)) for model in _models(args)]
    if args.out is not None:
        _write(Path(args.out), found)
    missing = coverage(_of_session(found)) if not args.targets and not args.world else []
    _print(args, found, missing)
    worst = max((CODES[told.verdict] for told in found), key=(0, 2, 1).index)
    return CODES[Verdict.VIOLATED] if missing else worst


def explored(model: Model, limits: Limits, *, fast: bool = False) -> Exploration:
    """Search and judge, and say on stderr how far it is once that takes a while."""
    told = Searching(model.name)
    try:
        return _fast(model, limits, told) if fast else judged(search(model, limits, told), limits)
    finally:
        told.done()


def _fast(model: Model, limits: Limits, told: Searching) -> Exploration:
    if not isinstance(model, SessionWorld):
        raise Unusable("--engine fast is for the session's worlds; machines of your own go through the plain one")
    try:
        from interlock.proof.fast import engine, verdict
    except ImportError as wrong:
        raise Unusable(f"--engine fast needs {wrong.name}: pip install numpy") from None
    search = engine.Engine(model)
    return verdict.judged(search, search.run(limits, told), limits)


def _is_fast(args: argparse.Namespace, model: Model) -> bool:
    return args.engine == "fast" or (args.engine is None and model.name in LARGE)


def _limits(args: argparse.Namespace, model: Model) -> Limits:
    most = 100_000_000 if _is_fast(args, model) else Limits().states
    return Limits(args.states or most, float(args.seconds))


def _natural(written: str) -> int:
    if not written.isdecimal() or not int(written):
        raise argparse.ArgumentTypeError(f"{written!r} is not a number of 1 or more")
    return int(written)


def _models(args: argparse.Namespace) -> list[Model]:
    if args.targets and args.world:
        raise Unusable("--world is about the session's worlds; leave it out, or the target")
    if args.targets:
        return [model for target in args.targets for model in models(target)]
    known = WORLDS | LARGE
    if unknown := [name for name in args.world or () if name not in (*known, WORKER)]:
        raise Unusable(f"no world is called {', '.join(unknown)}; there are {', '.join((*known, WORKER))}")
    folder = _folder(args)
    names = args.world or [*WORLDS, WORKER]
    fast = {name for name in names if args.engine == "fast" or (args.engine is None and name in LARGE)}
    return [_world(name, str(folder), args.symmetric or name in fast) for name in names]


def _world(name: str, folder: str, symmetric: bool) -> Model:
    if name == WORKER:
        return worker_world()
    return SessionWorld(name, (WORLDS | LARGE)[name], folder, symmetric=symmetric)


def _folder(args: argparse.Namespace) -> Path:
    args.machines = args.machines or str(shipped.folder("machines"))
    folder = Path(args.machines) / "world"
    if not folder.is_dir():
        raise Unusable(f"{folder}: is not there; name a folder that has it, or a target of yours")
    return folder


def _print(args: argparse.Namespace, found: Sequence[Exploration], missing: Sequence[object]) -> None:
    if args.json:
        reports = [as_json(told) for told in found]
        dead = [row_text(row) for row in missing]  # type: ignore[arg-type]
        sys.stdout.write(json.dumps({"explorations": reports, "dead_rows": dead}, indent=2) + "\n")
        return
    whole = not args.targets and not args.world
    sys.stdout.write("\n\n".join(text(told, rows=bool(args.targets)) for told in found) + "\n")
    if whole:
        sys.stdout.write("\n" + _sum(found, missing) + "\n")


def _of_session(found: Sequence[Exploration]) -> list[Exploration]:
    return [told for told in found if isinstance(told.model, SessionWorld)]


def _sum(found: Sequence[Exploration], missing: Sequence[object]) -> str:
    total = len(_of_session(found)[0].model.rows())
    states, seconds = sum(told.states for told in found), sum(told.seconds for told in found)
    fire = f"{total - len(missing)} of {total} rows of the session fire"
    lines = [f"{len(found)} worlds, {states:,} states, {seconds:.0f} s; {fire}"]
    lines += [f"  dead: {row_text(row)}" for row in missing]  # type: ignore[arg-type]
    return "\n".join(lines)


def _make(folder: Path) -> None:
    """Make the folder before anything takes minutes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise Unusable(f"{folder}: cannot be written: {wrong.strerror}") from None


def _write(folder: Path, found: Sequence[Exploration]) -> None:
    try:
        for told in found:
            for finding in told.findings:
                if finding.verdict is Verdict.VIOLATED and finding.property.modality != "sometimes":
                    _write_one(folder, told.model, finding)
    except OSError as wrong:
        raise Unusable(f"{folder}: cannot be written: {wrong.strerror}") from None


def _write_one(folder: Path, model: Model, finding: Finding) -> None:
    stem = re.sub(r"[^A-Za-z0-9]+", "-", f"{model.name} {finding.property.name}")
    replay = replayed(model, finding.path)
    written = {"model": model.name, "property": finding.property.name, "seen": finding.seen, "path": list(finding.path)}
    (folder / f"{stem}.txt").write_text(text_chart(replay, model.lifelines) + "\n", "utf-8")
    (folder / f"{stem}.svg").write_text(svg_chart(replay, model.lifelines, finding.property.sentence), "utf-8")
    (folder / f"{stem}.json").write_text(json.dumps(written, indent=2) + "\n", "utf-8")


class Searching(Telling):
    """Says how far a search is."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __call__(self, progress: Progress) -> None:
        """Say it, if the time has come."""
        waiting = f"{progress.states:,} states, {progress.waiting:,} of them to be looked at"
        self.say(
            progress.seconds,
            lambda: f"{self.name}: {waiting}, depth {progress.depth}, {progress.seconds:.0f} s",
        )
