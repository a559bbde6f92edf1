"""Finding scenarios by what one types: a file, a module, or one name in either."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from interlock.errors import WorldError
from interlock.proof.judge import told
from interlock.proof.scenario import Scenario


class Unusable(WorldError):
    """A target, an option or a file that a sweep can do nothing with. Whoever typed it mends it."""


def load(target: str) -> dict[str, Scenario]:
    """Return the scenarios of ``path.py`` or ``module``, or the one of ``path.py:name``. Raises :class:`Unusable`."""
    where, colon, name = target.rpartition(":") if _names_one(target) else (target, "", "")
    found = {key: value for key, value in vars(_imported(where)).items() if isinstance(value, Scenario)}
    if not colon:
        return found or _nothing(f"{where} has no scenario: mark one with @interlock.proof.scenario")
    if name not in found:
        return _nothing(f"{where} has no scenario called {name!r}; it has {', '.join(sorted(found)) or 'none'}")
    return {name: found[name]}


def _nothing(why: str) -> dict[str, Scenario]:
    raise Unusable(why)


def _names_one(target: str) -> bool:
    return target.rpartition(":")[2].isidentifier() and ":" in target


def _imported(where: str) -> ModuleType:
    if not where.endswith(".py"):
        if not all(part.isidentifier() for part in where.split(".")):
            raise Unusable(f"{where!r} is neither a .py file nor the dotted name of a module")
        return _guarded(where, lambda: importlib.import_module(where))
    path = Path(where)
    if not path.is_file():
        raise Unusable(f"there is no file {where}")
    return _guarded(where, lambda: _file(path.resolve()))


def _guarded(where: str, load_it: Callable[[], ModuleType]) -> ModuleType:
    """Import, with the current folder on the path; whatever the module raises is its author's to mend."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return load_it()
    except BaseException as error:
        if not isinstance(error, Exception | SystemExit):
            raise
        raise Unusable(f"{where} cannot be imported: {told(error)}") from error


def _file(path: Path) -> ModuleType:
    name = f"swept_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("Python knows no way to load it")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
