"""``interlock fuzz``: fuzz the runtime, or machines of one's own, from the command line."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from interlock.proof.fuzz import FLAT, Report, Target
from interlock.proof.fuzz_campaign import cores, fuzz
from interlock.proof.fuzz_corpus import Corpus
from interlock.proof.fuzz_schedule import MAX_EVENTS, Found, Unusable, load
from interlock.proof.telling import Telling

HOLDS, BROKEN, UNUSABLE = 0, 1, 2

FOLDER: Final = ".interlock/fuzz"
UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}

KINDS: Final = ("flat", "api", "sockets")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "Exit codes: 0 nothing was broken, 1 something was, 2 the command could not do its work, or no example ran."
        " docs/fuzz.md has a recipe for CI."
    )
    parser.add_argument("machines", nargs="*", metavar="PATH", help="machine files to fuzz, instead of the runtime")
    kinds = "flat schedules in memory, programs of calls of the public API, or flat schedules over real sockets"
    parser.add_argument("--kind", choices=KINDS, default="flat", help=kinds)
    parser.add_argument("--budget", type=_seconds, default=60.0, metavar="TIME", help="30s, 10m, 2h (default: 1m)")
    parser.add_argument("--examples", type=_natural, metavar="N", help="at most so many; no default")
    parser.add_argument("--events", type=_natural, default=MAX_EVENTS, metavar="N", help="of one example (default: 20)")
    parser.add_argument("--seed", type=_natural, default=0, metavar="N", help="what is drawn (default: 0)")
    parser.add_argument("--jobs", type=_natural, default=1, metavar="N", help="processes; 0 is one for each core")
    parser.add_argument("--replay", metavar="FILE", help="run the schedule of this file, step by step")
    corpus = f"folder of what was reached and what was broken (default: {FOLDER})"
    parser.add_argument("--corpus", default=FOLDER, metavar="DIR", help=corpus)
    parser.add_argument("--json", action="store_true", help="print the report as one JSON document")


def main(args: argparse.Namespace) -> int:
    """Fuzz or replay, print what came of it, and return the exit code."""
    if args.replay is not None:
        return _replay(load(Path(args.replay)), args.replay)
    corpus, told = Corpus(Path(args.corpus)), Fuzzing()
    corpus.make()
    try:
        report = _api(args, told) if args.kind == "api" and not args.machines else _campaign(args, corpus, told)
    finally:
        told.done()
    files = [str(corpus.keep_failure(found)) for found in report.failures]
    sys.stdout.write(json.dumps(as_json(report, files), indent=2) + "\n" if args.json else as_text(report, files))
    return BROKEN if report.failures else HOLDS if report.examples else UNUSABLE


def _campaign(args: argparse.Namespace, corpus: Corpus, told: Fuzzing) -> Report:
    target = target_of(args.kind, tuple(args.machines))
    report = fuzz(
        target,
        seed=args.seed,
        budget_s=args.budget,
        examples=args.examples,
        corpus=corpus.schedules(target.kind) if not target.machines else (),
        max_events=args.events,
        jobs=args.jobs or cores(),
        progress=told,
    )
    corpus.keep(target.kind, report.kept if not target.machines else ())
    return report


def _api(args: argparse.Namespace, told: Fuzzing) -> Report:
    from interlock.proof.fuzz_api import fuzz_api

    return fuzz_api(seed=args.seed, budget_s=args.budget, examples=args.examples, steps=args.events, progress=told)


def target_of(kind: str, machines: tuple[str, ...] = ()) -> Target:
    """Return what is to be fuzzed. Raises :class:`Unusable` for machines that cannot be."""
    if machines:
        from interlock.proof.fuzz_machines import machines_target

        return machines_target(machines)
    if kind == "sockets":
        from interlock.proof.fuzz_sockets import SOCKETS

        return SOCKETS
    return FLAT


# -------------------------------------------------------------------------------------------------------------- telling


class Fuzzing(Telling):
    """Says how far a campaign is."""

    def __call__(self, report: Report) -> None:
        """Say it, if the time has come."""
        self.say(report.seconds, lambda: f"{head(report)}; {len(report.failures)} broken")


def head(report: Report) -> str:
    """Say how much was done."""
    name, found = report.target.title or report.target.kind, len(report.reached)
    done = f"{name}: {report.examples} examples, {report.events} events in {report.seconds:.1f} s"
    return f"{done}, {report.rate:.0f} a second; {found} rows reached"


def as_text(report: Report, files: list[str]) -> str:
    """Return the report as people read it."""
    lines = [head(report)]
    for found, file in zip(report.failures, files, strict=True):
        lines += ["", f"BROKEN  {found.broken[0]}", *_listed(found), f"  found by {found.about}; again:"]
        lines.append(f"  interlock fuzz --replay {file}")
    if report.repeated:
        lines += ["", f"{report.repeated} more failures of these kinds"]
    if not report.failures:
        lines.append("nothing was broken" if report.examples else "no example ran: the budget is too small")
    return "\n".join(lines) + "\n"


def as_json(report: Report, files: list[str]) -> dict[str, Any]:
    """Return the report as machines read it."""
    return {
        "kind": report.target.title or report.target.kind,
        "seed": report.seed,
        "examples": report.examples,
        "events": report.events,
        "seconds": round(report.seconds, 2),
        "per_second": round(report.rate, 1),
        "reached": len(report.reached),
        "repeated": report.repeated,
        "failures": [
            {"file": file, "broken": list(found.broken), "events": list(map(list, found.schedule.events))}
            for found, file in zip(report.failures, files, strict=True)
        ],
    }


def _listed(found: Found) -> list[str]:
    events, order, variant = found.schedule
    lines = [f"  {number:>3}  {event}" for number, event in enumerate(events, 1)]
    return [*lines, *([f"  order {order}"] if order else []), *([f"  variant {variant}"] if variant else [])]


# -------------------------------------------------------------------------------------------------------------- replay


def _replay(found: Found, file: str) -> int:
    """Run one schedule and say after each event where everything stands."""
    broken = list(_replayer(found)(found))
    if broken:
        sys.stdout.write("".join(f"BROKEN  {sentence}\n" for sentence in broken[:5]))
    else:
        sys.stdout.write(f"{file}: nothing is broken\n")
    return BROKEN if broken else HOLDS


def _replayer(found: Found) -> Callable[[Found], tuple[str, ...]]:
    if found.kind == "flat":
        from interlock.proof.fuzz_replay import replayed

        return replayed
    target = target_of(found.kind, found.machines)
    sys.stdout.write("\n".join(_listed(found)) + "\n")
    return lambda again: target.run(again.schedule).broken


# ------------------------------------------------------------------------------------------------------------- options


def _natural(written: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", written):
        raise argparse.ArgumentTypeError(f"{written!r} is not a number of 0 or more")
    return int(written)


def _seconds(written: str) -> float:
    number, unit = (written[:-1], written[-1:]) if written[-1:] in UNITS else (written, "s")
    try:
        seconds = float(number) * UNITS[unit]
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{written!r} is not a time: 30s, 10m, 2h")
    return seconds


__all__ = ["Unusable", "arguments", "main", "target_of"]
