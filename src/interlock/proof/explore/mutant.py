"""One-line faults: where they are planted, and how the session core runs with one for a while.

A fault of a machine file is a line that reads otherwise; its table is built in memory and bound to the functions that
the real one has. A fault of Python is a line of one function; the function keeps its identity and gets other code.
"""

from __future__ import annotations

import inspect
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FunctionType
from typing import Any

from interlock.errors import MachineError
from interlock.machine import Composition, Machine, Table
from interlock.proof.explore.machines import bind
from interlock.session import decide as core
from interlock.spec.build import built
from interlock.spec.plan import blueprint
from interlock.spec.read import read
from interlock.tables import messages as m


@dataclass(frozen=True)
class Mutant:
    """One fault. ``path`` is the shortest path that was recorded when ``finds`` found it in ``world``."""

    name: str
    says: str
    file: str
    line: str
    becomes: str
    after: str = ""
    """Text that comes before the line, where it stands more than once: a state, a function."""
    world: str = ""
    finds: str = ""
    path: tuple[str, ...] = ()
    survives: str = ""
    """Why no property can find it, for one that none does."""
    table: Table | None = None
    """The mutated table itself, of a mutant that was made and not written."""
    at: tuple[str, str, str] | None = None
    """Of such a one: the machine, the state and the event that it is about."""

    @property
    def is_python(self) -> bool:
        """Whether it is planted in a function, named as ``module:function``."""
        return ":" in self.file


class Unplantable(MachineError):
    """A mutant does not fit what it is to be planted in. The message is one line and names it."""


def written(folder: str) -> list[Mutant]:
    """Read the mutants of a folder: every ``[[mutant]]`` of its TOML files. Raises :class:`Unplantable`."""
    found: list[Mutant] = []
    for path in sorted(Path(folder).glob("*.toml")):
        try:
            told = tomllib.loads(path.read_text("utf-8"))
            found += [Mutant(**{**one, "path": tuple(one.get("path", ()))}) for one in told.get("mutant", [])]
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, TypeError) as wrong:
            raise Unplantable(f"{path}: {wrong}") from None
    if not found:
        raise Unplantable(f"{folder}: there are no mutants; each is a [[mutant]] of a .toml file")
    return found


@contextmanager
def planted(mutant: Mutant, machines: str = "machines") -> Iterator[None]:
    """Run the session core with the fault, until the block is left."""
    if mutant.is_python:
        function, code = _recoded(mutant)
        before = function.__code__
        function.__code__ = code
        try:
            yield
        finally:
            function.__code__ = before
        return
    composition = core.COMPOSITION
    core.COMPOSITION = _recomposed(composition, mutant.table or _retabled(mutant, machines))
    try:
        yield
    finally:
        core.COMPOSITION = composition


def changed(text: str, mutant: Mutant) -> str:
    """Return a text in which the mutant's line reads otherwise. It must stand there once, behind ``after``."""
    start = text.find(mutant.after)
    at = text.find(mutant.line, start) if start >= 0 else -1
    if at < 0:
        raise Unplantable(f"{mutant.name}: {mutant.file} has no line {mutant.line!r}")
    if not mutant.after and text.count(mutant.line) > 1:
        raise Unplantable(f"{mutant.name}: {mutant.file} has {mutant.line!r} more than once; say what it comes `after`")
    return text[:at] + mutant.becomes + text[at + len(mutant.line) :]


def names_of(machine: Machine[Any]) -> dict[str, Callable[..., Any]]:
    """Return the functions that a machine was bound to, by name."""
    found: dict[str, Callable[..., Any]] = dict(machine.delays)
    for cells in [*machine._cells.values(), machine._born]:
        for guard, _, calls, row in (compiled for rows in cells.values() for compiled in rows):
            if row.guard and guard is not None:
                found[row.guard] = guard
            if calls is not None and row.refuse is None:
                found |= dict(zip(row.assign, calls[0], strict=True)) | dict(zip(row.emit, calls[1], strict=True))
    return found


def _recomposed(composition: Composition, table: Table) -> Composition:
    machines = dict(composition.machines)
    real = machines[table.name]
    machines[table.name] = bind(table, names_of(real), real.create, m)
    return Composition(*machines.values(), steps=500)


def _retabled(mutant: Mutant, machines: str) -> Table:
    """Build the table of the one file that is changed, beside the others as they are."""
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(Path(machines).glob("*.toml")):
            text = path.read_text("utf-8")
            (Path(folder) / path.name).write_text(changed(text, mutant) if path.name == mutant.file else text, "utf-8")
        tables = built(blueprint(read([folder])), m)
    name = mutant.file.removesuffix(".toml")
    if name not in tables:
        raise Unplantable(f"{mutant.name}: there is no {mutant.file} in {machines}")
    return replace(tables[name], source=mutant.file)


def _recoded(mutant: Mutant) -> tuple[FunctionType, Any]:
    module_name, _, function_name = mutant.file.partition(":")
    module = sys.modules.get(module_name)
    function = getattr(module, function_name, None)
    if module is None or not isinstance(function, FunctionType):
        raise Unplantable(f"{mutant.name}: there is no function {mutant.file}")
    text = changed(textwrap.dedent(inspect.getsource(function)), mutant)
    names: dict[str, Any] = {}
    exec(compile("from __future__ import annotations\n" + text, mutant.file, "exec"), module.__dict__, names)
    return function, names[function_name].__code__
