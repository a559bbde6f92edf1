"""What a target on the command line names: a module, or a file, and a model in it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from interlock.errors import MachineError
from interlock.proof.explore.model import Model


class Unusable(MachineError):
    """A target cannot be explored. The message is one line and says why."""


def models(target: str) -> list[Model]:
    """Return the models of ``path.py``, ``module``, ``path.py:name`` or ``module:name``. Raises :class:`Unusable`."""
    path, _, name = target.partition(":")
    module = _module(path)
    if not name:
        found = list(_all(module))
        if not found:
            raise Unusable(f"{path}: has nothing to explore; a model is a System, or what has the methods of Model")
        return found
    if not hasattr(module, name):
        raise Unusable(f"{path}: has no {name}")
    if not _is_model(getattr(module, name)):
        raise Unusable(f"{path}:{name}: is no model; make a System of it")
    return [getattr(module, name)]


def _all(module: ModuleType) -> Iterator[Model]:
    for value in vars(module).values():
        if _is_model(value):
            yield value


def _is_model(value: Any) -> bool:
    wanted = ("start", "moves", "take", "judge", "properties", "rows")
    return not isinstance(value, type | ModuleType) and all(hasattr(value, name) for name in wanted)


def _module(path: str) -> ModuleType:
    try:
        return _from_file(Path(path)) if path.endswith(".py") else importlib.import_module(path)
    except MachineError:
        raise
    except (ImportError, SyntaxError, OSError, ValueError) as wrong:
        raise Unusable(f"{path}: cannot be imported: {type(wrong).__name__}: {wrong}") from None


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise Unusable(f"{path}: there is no such file")
    name = f"interlock_target_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Unusable(f"{path}: is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
