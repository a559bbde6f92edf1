"""One state of the whole world: the session's one value, the adversary's machines, and what a judge must remember."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from interlock.machine import Address, Cell
from interlock.session.value import Value


class World(NamedTuple):
    """Frozen, as everything that decides."""

    value: Value
    cells: Mapping[Address, Cell]
    deltas: frozenset[int] = frozenset()
    """Epochs of output deltas that are in the journal and not voided."""

    def of(self, machine: str) -> Iterator[Cell]:
        """Yield the instances of one of the adversary's machines, in order."""
        for (name, _), cell in self.cells.items():
            if name == machine:
                yield cell

    def data(self, machine: str, key: str | int | None) -> Any:
        """Return the data of one instance, or none."""
        cell = self.cells.get((machine, key))
        return cell.data if cell is not None else None


LIVE = frozenset({"GREETING", "REPLAYING", "FLOWING"})
"""States of a link that carries a claim."""

CLOSING = frozenset({"FINISHING", "RETIRED"})
"""States of a link that is owed a close."""

HELD = frozenset({"ORDERED", "HOLDING"})
"""States of a stage that has the request, or may have it at any moment."""
