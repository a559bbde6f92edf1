"""Tables that grow: integers by one or two indices, -1 where nothing is known yet."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
UNKNOWN = -1


class Grid:
    """A table of integers by two indices."""

    def __init__(self) -> None:
        self.cells: NDArray[np.int32] = np.full((64, 8), UNKNOWN, np.int32)

    def look(self, row: Ints, column: Ints) -> Ints:
        """Return what stands at each pair of indices; -1 where nothing is known."""
        if row.size:
            self._grow(int(row.max()), int(column.max()))
        return self.cells[row, column].astype(np.int64)

    def put(self, row: int, column: int, value: int) -> None:
        """Write one cell. What is written twice must be the same: a part does one thing, whatever is beside it."""
        self._grow(row, column)
        if self.cells[row, column] not in (UNKNOWN, value):
            raise AssertionError(f"a part did {self.cells[row, column]} before and does {value} now")
        self.cells[row, column] = value

    def _grow(self, row: int, column: int) -> None:
        rows, columns = self.cells.shape
        if row >= rows or column >= columns:
            shape = (max(rows, 2 * row if row >= rows else 0), max(columns, 2 * column if column >= columns else 0))
            grown = np.full(shape, UNKNOWN, np.int32)
            grown[:rows, :columns] = self.cells
            self.cells = grown


class Lists:
    """For each index a list of rows; each row has the same number of integers. Laid out flat for numpy on demand."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.known: dict[int, list[tuple[int, ...]]] = {}
        self._flat: tuple[Ints, Ints, Ints] | None = None

    def put(self, index: int, rows: list[tuple[int, ...]]) -> None:
        """Give an index its rows."""
        self.known[index] = rows
        self._flat = None

    def lacks(self, index: Ints) -> list[int]:
        """Return places in ``index`` of those that have no rows yet, one place for each."""
        found, places = np.unique(index, return_index=True)
        return [place for one, place in zip(found.tolist(), places.tolist(), strict=True) if one not in self.known]

    def expand(self, index: Ints) -> tuple[Ints, Ints]:
        """Return, for every row of every index: the place of the index in ``index``, and the row itself."""
        keys, starts, flat = self._laid_out()
        at = np.searchsorted(keys, index)
        counts = starts[at + 1] - starts[at]
        source = np.repeat(np.arange(index.size), counts)
        offset = np.arange(source.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return source, flat[np.repeat(starts[at], counts) + offset]

    def _laid_out(self) -> tuple[Ints, Ints, Ints]:
        if self._flat is None:
            order = sorted(self.known)
            rows = [row for key in order for row in self.known[key]]
            counts = np.array([len(self.known[key]) for key in order], np.int64)
            starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
            flat = np.array(rows, np.int64).reshape(len(rows), self.width)
            self._flat = (np.array(order, np.int64), starts, flat)
        return self._flat
