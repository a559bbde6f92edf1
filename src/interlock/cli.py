"""The command line: ``interlock check | tables | import | init | completion``, and whatever other modules bring along.

Every command says what it did in one line, and what is wrong in one line each, with the remedy. It ends with 0 when
all is well, 1 when something must be mended, and 2 when it could not do its work at all; never with a traceback for
something that a machine file says. Modules are imported when their command is called, so that ``interlock check``
needs neither trio nor torch.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from interlock import shipped
from interlock.errors import MachineError, WorldError

if TYPE_CHECKING:
    from interlock.spec.plan import Blueprint

CLEAN, FOUND, UNUSABLE = 0, 1, 2

MACHINES = "machines"
TABLES = "src/interlock/tables"

Run: TypeAlias = Callable[[argparse.Namespace], int]


class Command(NamedTuple):
    """A subcommand of another module: its ``arguments(parser)`` declares options, its ``main(args)`` runs it."""

    module: str
    summary: str


COMMANDS: dict[str, Command] = {
    "draw": Command("interlock.draw.command", "draw machine files, and how machines talk to each other"),
    "diff": Command("interlock.draw.diff_command", "tell what changed between two versions of machines"),
    "explore": Command("interlock.proof.explore_cli", "visit every state that can be reached, and say what holds"),
    "sweep": Command("interlock.proof.sweep_cli", "run scenarios, cancelled at every step"),
    "replay": Command("interlock.proof.replay_cli", "hold recorded traces against the tables, or another version"),
    "fuzz": Command("interlock.proof.fuzz_cli", "fuzz the runtime, or machines of your own"),
    "serve": Command("interlock.serve", "serve spoken sessions on one port"),
    "demo": Command("interlock.demo", "speak, interrupt, drop the line, resume, take over; and verify all of it"),
}
"""The commands that live elsewhere. Their modules are imported only when they are called."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    args = _parser(given).parse_args(given)
    run: Run = args.run
    try:
        code = run(args)
        sys.stdout.flush()
        return code
    except (MachineError, WorldError) as wrong:
        print(f"interlock: {wrong}", file=sys.stderr)
        return UNUSABLE
    except BrokenPipeError:  # whoever read has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNUSABLE


# ---------------------------------------------------------------------------------------------------------- commands


def check(args: argparse.Namespace) -> int:
    """Run the static rules over the machines, or say what they are."""
    from interlock.spec.check import checked
    from interlock.spec.finding import Faulty
    from interlock.spec.report import listed_rules, report

    if args.rules:
        print(listed_rules(args.format))
        return CLEAN
    try:
        print(report((), checked(args.paths or [shipped.machines()]), args.format))
        return CLEAN
    except Faulty as wrong:
        print(report(wrong.findings, None, args.format))
        return FOUND


def tables(args: argparse.Namespace) -> int:
    """Generate the tables, or compare them with the committed ones."""
    from interlock.spec.compile import MARK, compiled
    from interlock.spec.generated import differences, left_over, origins, write

    out, package = _destination(args)
    paths = args.paths or [MACHINES]
    blueprint = _checked(paths)
    if blueprint is None:
        return FOUND
    files = compiled(blueprint, package)
    gone = left_over(out, files, origins(MARK, blueprint.labels, paths), ".py")
    if args.check:
        return _compared(differences(out, files, gone), out, "tables")
    return _written(write(out, files, MARK, gone), out)


def import_(args: argparse.Namespace) -> int:
    """Turn a machine of the library ``transitions`` into a machine file, and say what could not be carried."""
    from interlock.spec.generated import create
    from interlock.spec.imported import imported
    from interlock.spec.markup import parsed
    from interlock.spec.read import text_in

    path = Path(args.path)
    made = imported(parsed(args.path, text_in(path)), args.name or path.stem)
    if args.out is None:
        print(made.text, end="")
    else:
        create(Path(args.out), made.text)
    for note in made.notes:
        print(f"{args.path}: {note}", file=sys.stderr)
    return CLEAN


def init(args: argparse.Namespace) -> int:
    """Write a small machine to begin with."""
    from interlock.spec.generated import create
    from interlock.spec.start import NEXT, STARTING_POINT

    path = Path(args.folder) / "door.toml"
    create(path, STARTING_POINT)
    print(NEXT.format(path=path, folder=args.folder))
    return CLEAN


def completion(args: argparse.Namespace) -> int:
    """Print the script that completes commands and options in a shell."""
    try:
        import shtab
    except ImportError:
        raise WorldError("completion needs shtab; pip install 'interlock[completion]'") from None
    parser = whole_parser()
    kinds = {"PATH": shtab.FILE, "FILE": shtab.FILE, "TARGET": shtab.FILE, "DIR": shtab.DIRECTORY}
    for action in _actions(parser):
        if action.metavar in kinds:
            action.complete = kinds[action.metavar]  # type: ignore[attr-defined]
    print(shtab.complete(parser, args.shell))
    return CLEAN


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the options and arguments of a parser and of its commands."""
    for action in parser._actions:
        yield action
        for command in (action.choices or {}).values() if isinstance(action, argparse._SubParsersAction) else ():
            yield from _actions(command)


class Version(argparse.Action):
    """Prints which Interlock this is, and which machines its tables were made from."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print it and leave."""
        from interlock import __version__
        from interlock.tables import SOURCES

        told = ", ".join(f"{name} {digest[:12]}" for name, digest in SOURCES.items())
        print(f"interlock {__version__}\ntables {told}")
        parser.exit()


def _destination(args: argparse.Namespace) -> tuple[Path, str]:
    from interlock.spec.finding import Unusable

    if (args.out is None) != (args.package is None):
        raise Unusable("--out and --package go together: the folder, and the name by which Python imports it")
    if args.out is None and not Path(TABLES).is_dir():
        raise Unusable("say where the tables go, as in --out src/shop/tables --package shop.tables")
    if args.out is None:
        return Path(TABLES), "interlock.tables"
    if not all(part.isidentifier() for part in args.package.split(".")):
        raise Unusable(f"--package {args.package}: is not a dotted name that Python can import")
    return Path(args.out), args.package


def _checked(paths: list[str]) -> Blueprint | None:
    """Read and check machines; print the findings, and return none if there are any."""
    from interlock.spec.check import checked
    from interlock.spec.finding import Faulty
    from interlock.spec.report import report

    try:
        return checked(paths)
    except Faulty as wrong:
        print(report(wrong.findings, None, "text"))
        return None


def _compared(different: list[str], out: Path, command: str) -> int:
    for sentence in different:
        print(f"{sentence}; run `interlock {command}` and commit what it writes")
    if not different:
        print(f"{out}: up to date")
    return FOUND if different else CLEAN


def _written(changed: list[str], out: Path) -> int:
    for path in changed:
        print(path)
    print(f"{out}: {_count(len(changed), 'file')} changed")
    return CLEAN


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# ----------------------------------------------------------------------------------------------------------- options

CHECK = """\
Runs the static rules over machine files. Each finding is one line: file, line, [rule], what is wrong, and what mends
it. Name the folder, not one file of it: machines send each other messages, and some rules need to see all of them.
--rules says what each rule asks for, why, and an example; docs/machines.md has the format.
"""

TABLES_HELP = """\
Checks machine files and generates typed Python from them: messages.py, one module for each machine, and an
__init__.py. Commit what it writes and never edit it; in CI, --check says which file is not what the machines say.

  interlock tables                                              Interlock's own machines
  interlock tables flows --out src/shop/tables --package shop.tables      yours
"""


IMPORT = """\
Reads the markup of a machine of the library transitions: what `MarkupMachine(...).markup` holds, as JSON or as Python
prints it. Nested states are flattened; conditions and unless become guards. Prints a machine file, or writes it with
--out; what could not be carried is said on the error output, one line each.
"""


COMPLETION = """\
Prints a script that completes commands and options. It needs the extra, once: pip install 'interlock[completion]'.

  interlock completion bash > ~/.local/share/bash-completion/completions/interlock
  interlock completion zsh > ~/.zfunc/_interlock             (a folder of your fpath)
"""


def whole_parser() -> argparse.ArgumentParser:
    """Return the parser with the options of every command, whose modules are all imported for it."""
    return _parser(list(COMMANDS))


def _parser(given: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="interlock",
        description="Sessions that no cancel, crash, takeover or timeout leaves in an illegal state.",
        epilog="Exit codes: 0 all is well, 1 something must be mended, 2 the command could not do its work.",
    )
    about = "say which version this is, and the hashes of the machine files that its tables were made from"
    parser.add_argument("--version", nargs=0, action=Version, help=about)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    checking = _own(subparsers.add_parser, "check", "run the static rules over machine files", CHECK, check)
    checking.add_argument("--format", choices=["text", "json", "github"], default="text", help="how findings are said")
    checking.add_argument("--rules", action="store_true", help="read no file; list the rules, each with an example")
    generating = _own(subparsers.add_parser, "tables", "generate typed Python from machine files", TABLES_HELP, tables)
    generating.add_argument("--out", metavar="DIR", help=f"folder of the generated modules (default: {TABLES})")
    generating.add_argument("--package", metavar="NAME", help="dotted name by which Python imports that folder")
    generating.add_argument("--check", action="store_true", help="write nothing; say what is not up to date")
    _written_once(subparsers.add_parser)
    for name, command in COMMANDS.items():
        _foreign(subparsers.add_parser(name, help=command.summary, description=command.summary), name, command, given)
    return parser


def _written_once(add: Callable[..., argparse.ArgumentParser]) -> None:
    raw = argparse.RawDescriptionHelpFormatter
    importing = add("import", help="read a machine of transitions", description=IMPORT, formatter_class=raw)
    importing.add_argument("path", metavar="FILE", help="the markup")
    importing.add_argument("--name", help="what the machine is called (default: as the markup or the file)")
    importing.add_argument("--out", metavar="FILE", help="machine file to write; it must not be there yet")
    importing.set_defaults(run=import_)
    starting = add("init", help="write a small machine to begin with", description="Writes a small machine file.")
    starting.add_argument("folder", nargs="?", default=MACHINES, metavar="DIR", help=f"where (default: {MACHINES})")
    starting.set_defaults(run=init)
    completing = add(
        "completion", help="print what completes commands in a shell", description=COMPLETION, formatter_class=raw
    )
    completing.add_argument("shell", choices=["bash", "zsh", "tcsh"], help="which shell")
    completing.set_defaults(run=completion)


def _own(
    add: Callable[..., argparse.ArgumentParser], name: str, summary: str, description: str, run: Run
) -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = add(name, help=summary, description=description, formatter_class=raw)
    parser.add_argument("paths", nargs="*", metavar="PATH", help=f"machine file or folder (default: {MACHINES})")
    parser.set_defaults(run=run)
    return parser


def _foreign(parser: argparse.ArgumentParser, name: str, command: Command, given: list[str]) -> None:
    if name in given[:1] or given == list(COMMANDS):
        module = importlib.import_module(command.module)
        module.arguments(parser)
        parser.set_defaults(run=module.main)


if __name__ == "__main__":
    sys.exit(main())
