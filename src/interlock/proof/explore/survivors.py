"""Why a mutant that was made, and not written, is found by nothing: each one is named, with the reason.

A folder's ``survivors.toml`` has them::

    [[survivor]]
    why     = "nobody asks for the counter: it is for the metrics"
    mutants = ["request RESERVED EpochEnded: drops BooksChanged"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from interlock.proof.explore.mutant import Mutant, Unplantable

SURVIVORS = "survivors.toml"


def explained(made: Sequence[Mutant], folder: str) -> list[Mutant]:
    """Return the mutants, each with the reason that the folder gives for it. Raises :class:`Unplantable`."""
    path = Path(folder) / SURVIVORS
    reasons = _reasons(path)
    if unknown := [name for name in reasons if name not in {mutant.name for mutant in made}]:
        raise Unplantable(f"{path}: {unknown[0]!r} is not made of any row; take it out, or name the row as it is now")
    return [replace(mutant, survives=reasons.get(mutant.name, "")) for mutant in made]


def _reasons(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    try:
        told = tomllib.loads(path.read_text("utf-8"))
        named = [(name, _why(one)) for one in told.get("survivor", []) for name in one["mutants"]]
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, TypeError, KeyError) as wrong:
        raise Unplantable(f"{path}: {wrong}") from None
    reasons = dict(named)
    if len(reasons) != len(named):
        twice = next(name for name, _ in named if sum(name == other for other, _ in named) > 1)
        raise Unplantable(f"{path}: {twice!r} stands there twice")
    return reasons


def _why(one: dict[str, Any]) -> str:
    why = one["why"]
    if not isinstance(why, str) or not why.strip():
        raise TypeError("a survivor needs a `why` that says something")
    return why
