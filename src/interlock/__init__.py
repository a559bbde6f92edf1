"""Interlock runs long-lived, full-duplex inference sessions that cannot be left in an illegal state.

Importing this package loads nothing but itself: each public name is fetched from its module on first use,
so that a client of the tables does not pay for trio, and a client of the runtime does not pay for torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.errors import ClientError, Defect, InterlockError, LimitReached, MachineError, WorldError

__version__ = "0.1.0"

__all__ = [
    "ClientError",
    "Defect",
    "InterlockError",
    "LimitReached",
    "MachineError",
    "WorldError",
    "__version__",
]

_HOMES = {
    "ClientError": "interlock.errors",
    "Defect": "interlock.errors",
    "InterlockError": "interlock.errors",
    "LimitReached": "interlock.errors",
    "MachineError": "interlock.errors",
    "WorldError": "interlock.errors",
}


if not TYPE_CHECKING:  # else a type checker would believe in every name

    def __getattr__(name: str) -> object:
        """Fetch a public name from the module that defines it, once."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, fetched or not."""
    return sorted({*globals(), *_HOMES})
