"""Files that travel with the code: they lie at the root of a checkout, and in this folder of an installed wheel.

The runtime reads none of them. They are for those who want to look: the machine files, which ``interlock check``,
``draw`` and ``explore`` read where the caller has none, and the recordings that ``interlock demo`` speaks with.
"""

from __future__ import annotations

import sys
from pathlib import Path

PLACES = {"machines": Path("machines"), "audio": Path("examples") / "audio"}
"""What is shipped, and where it lies in a checkout. ``pyproject.toml`` puts the same folders into the wheel."""


def folder(name: str) -> Path:
    """Return the folder of ``name`` in :data:`PLACES`, whichever way this Interlock came here."""
    inside = Path(__file__).resolve().parent
    installed = inside / name
    return installed if installed.is_dir() else inside.parents[2] / PLACES[name]


def machines() -> str:
    """Return the folder of machines where none was named: ``machines`` of the caller, else Interlock's own.

    That they are not the caller's is said on stderr, so that nobody takes the one for the other.
    """
    mine = str(PLACES["machines"])
    if Path(mine).is_dir():
        return mine
    ours = folder("machines")
    print(f"interlock: no folder {mine}/ here; these are Interlock's own, in {ours}", file=sys.stderr)  # noqa: T201
    return str(ours)
