"""``interlock draw``: machines as text and as pictures, or the question whether the committed ones are right."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from interlock import shipped
from interlock.draw.dot import dot
from interlock.draw.files import COMMITTED, SUFFIXES, Drawing, left_over_drawings, outdated, save
from interlock.draw.ink import MARK
from interlock.draw.mermaid import mermaid, mermaid_overview
from interlock.draw.overview import NAME, overview
from interlock.draw.recorded import Now, recorded
from interlock.machine import Table
from interlock.spec.build import built
from interlock.spec.check import ALONE, checked
from interlock.spec.check_sends import doubled
from interlock.spec.finding import Faulty, Unusable
from interlock.spec.generated import origins
from interlock.spec.plan import Blueprint, blueprint
from interlock.spec.read import read
from interlock.spec.suggest import meant

CLEAN, FOUND = 0, 1

MACHINES = "machines"
DIAGRAMS = "diagrams"

DRAW = """\
Checks machine files and draws them: each as DOT, SVG and Mermaid text, and how they talk to each other as
overview.dot, .svg and .mmd. Where single files are named, only they are drawn; --overview draws the overview too.

--check compares the texts byte for byte, and the hash that an SVG carries; it needs no Graphviz, and does not mind
which version drew the SVG. DOT and Mermaid need nothing else; pictures need the extra: pip install
'interlock[diagrams]'.

  interlock draw                                          machines/ into diagrams/
  interlock draw --check                                  for CI: what is not up to date?
  interlock draw --format png,pdf --out print             for a page, or a talk
  interlock draw --highlight attachment=ATTACHED --out now
  interlock draw --trace trace-0001.jsonl.gz --session sess_1 --at +12.5 --out now
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``interlock draw``."""
    parser.description = DRAW
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help=f"machine file or folder (default: {MACHINES})")
    add("--out", metavar="DIR", help=f"folder of the drawings (default: {DIAGRAMS})")
    add(
        "--format",
        metavar="FORMS",
        default=",".join(COMMITTED),
        help=f"of {', '.join(SUFFIXES)} (default: %(default)s)",
    )
    add("--check", action="store_true", help="write nothing; say what is not up to date")
    add("--overview", action="store_true", help="draw the overview also where single files are named")
    add("--highlight", metavar="STATE", action="append", default=[], help="a state, or MACHINE=STATE; may be repeated")
    add("--trace", metavar="FILE", help="highlight what a recorded session was in: a trace, or a folder of traces")
    add("--session", metavar="ID", help="the session of the trace (default: the only one)")
    add("--at", metavar="SECONDS", help="time of a record, or +SECONDS since the session began (default: the end)")


def main(args: argparse.Namespace) -> int:
    """Draw the machines, or compare the drawings with the committed ones."""
    forms = forms_of(args.format, SUFFIXES)
    _agree(args, forms)
    args.paths = args.paths or [shipped.machines()]
    try:
        return _draw(args, forms)
    except Faulty as wrong:
        say(*map(str, wrong.findings), f"{len(wrong.findings)} finding{'s' if len(wrong.findings) > 1 else ''}")
        return FOUND
    except OSError as wrong:
        raise Unusable(f"{wrong.filename or 'drawing'}: {wrong.strerror}") from None


def forms_of(text: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """Return the forms that ``text`` names, with commas between. Raises :class:`Unusable` for an unknown one."""
    forms = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for form in forms:
        if form not in known:
            raise Unusable(
                f"--format {form!r}: {meant(form, known, 'there is no such form')}; known: {', '.join(known)}"
            )
    if not forms:
        raise Unusable(f"--format names nothing; known: {', '.join(known)}")
    return forms


def say(*lines: str) -> None:
    """Print lines for the one who called the command, as long as anybody reads them."""
    try:
        for line in lines:
            print(line, flush=True)  # noqa: T201 - this is the interface
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _agree(args: argparse.Namespace, forms: Sequence[str]) -> None:
    """Raise for options that make no sense together."""
    moment = bool(args.highlight or args.trace)
    if args.check and (moment or set(forms) - set(COMMITTED)):
        raise Unusable(f"--check compares {', '.join(COMMITTED)}, without a highlight; leave the other options out")
    if args.highlight and args.trace:
        raise Unusable("--highlight and --trace both say which states are highlighted; use one of them")
    if moment and args.out is None:
        raise Unusable(
            f"a highlighted drawing shows a moment, and does not belong in {DIAGRAMS}; name a folder with --out"
        )
    if not args.trace and (args.session is not None or args.at is not None):
        raise Unusable("--session and --at belong to --trace")
    if args.at is not None and not re.fullmatch(r"\+?\d+(\.\d*)?", args.at, re.ASCII):
        raise Unusable(
            f"--at {args.at!r}: is a number of seconds, as in --at 12.5, or --at +12.5 from the beginning on"
        )


def _draw(args: argparse.Namespace, forms: Sequence[str]) -> int:
    machines, out = _sound(args.paths), Path(args.out or DIAGRAMS)
    tables = built(machines)
    drawings = [Drawing(table.name, *_texts(table, now)) for table, now in _moments(args, tables)]
    if args.overview or (any(Path(path).is_dir() for path in args.paths) and not (args.highlight or args.trace)):
        drawings.append(_overview(machines))
    gone = left_over_drawings(out, drawings, origins(MARK, machines.labels, args.paths))
    if args.check:
        return _compared(outdated(out, drawings, forms, gone), out)
    changed = save(out, drawings, forms, gone)
    say(*changed, f"{out}: {len(changed)} file{'' if len(changed) == 1 else 's'} changed")
    return CLEAN


def _sound(paths: Sequence[str]) -> Blueprint:
    """Read and check machines. Files named one by one are checked one by one: those they talk to may not be there."""
    if any(Path(path).is_dir() for path in paths):
        return checked(paths)
    machines = blueprint(read(paths))
    found = [finding for plan in machines.plans for rule in ALONE for finding in rule(plan)]
    if found := sorted({*found, *doubled(machines)}):
        raise Faulty(tuple(found))
    return machines


def _overview(machines: Blueprint) -> Drawing:
    if NAME in machines.machines:
        raise Unusable(
            f"{machines.machines[NAME].source.path}: `{NAME}` is the drawing of all machines; rename this one"
        )
    return Drawing(NAME, overview(machines), mermaid_overview(machines))


def _texts(table: Table, now: Mapping[str, str]) -> tuple[str, str]:
    return dot(table, now), mermaid(table, now)


def _moments(args: argparse.Namespace, tables: Mapping[str, Table]) -> list[tuple[Table, Mapping[str, str]]]:
    now = (
        recorded(Path(args.trace), args.session, args.at, tables) if args.trace else highlighted(args.highlight, tables)
    )
    return [(table, now.get(table.name, {})) for table in tables.values()]


def highlighted(names: Sequence[str], tables: Mapping[str, Table]) -> Now:
    """Return the states that ``names`` mean: ``STATE`` in every machine that has it, or ``MACHINE=STATE``."""
    now: Now = {}
    for name in names:
        machine, _, state = name.rpartition("=")
        among = [table for table in tables.values() if machine in ("", table.name)]
        having = [table for table in among if any(info.name == state for info in table.states)]
        if not having:
            known = [info.name for table in among for info in table.states] or list(tables)
            listed = ", ".join(dict.fromkeys(known))
            raise Unusable(f"--highlight {name!r}: {meant(state, known, f'known: {listed}')}")
        for table in having:
            now.setdefault(table.name, {})[state] = "now"
    return now


def _compared(different: Sequence[str], out: Path) -> int:
    say(*(f"{sentence}; run `interlock draw` and commit what it writes" for sentence in different))
    if not different:
        say(f"{out}: up to date")
    return FOUND if different else CLEAN
