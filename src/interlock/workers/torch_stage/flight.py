"""One step on its way: the buffers that its inputs go up from and its outputs come down to, and when they are there.

Buffers are made once, as many sets as a device has depth. A set is used again when its flight has landed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from interlock.workers.torch_stage.batch import Batch, BatchModel, Cells, Layout, Row
from interlock.workers.torch_stage.device import Device, Mark
from interlock.workers.torch_stage.missing import torch

FORMATS: Mapping[torch.dtype, Literal["q", "i", "h", "B", "f", "d"]] = {
    torch.int64: "q",
    torch.int32: "i",
    torch.int16: "h",
    torch.uint8: "B",
    torch.float32: "f",
    torch.float64: "d",
}
"""What a row can be asked to fill in, by the letters of the module ``struct``."""

SLOTS = Layout((), torch.int64)


class Staging:
    """One set of buffers, for ``max_batch`` rows."""

    def __init__(self, model: BatchModel, device: Device) -> None:
        rows = model.max_batch
        self._device = device
        self._host = {name: device.on_host(rows, layout) for name, layout in model.inputs.items()}
        self._cells = {name: _cells(tensor) for name, tensor in self._host.items()}
        self._made = {name: device.on_host(rows, layout) for name, layout in model.outputs.items()}
        self._slots = device.on_host(rows, SLOTS)
        self._slot_cells = view_of(self._slots)
        with device.stream():
            self._inputs = {name: device.twin(tensor) for name, tensor in self._host.items()}
            self._slots_there = device.twin(self._slots)

    def cells(self, index: int, slot: int) -> Cells:
        """Seat a row at ``index``, with its state in ``slot``; return where it fills in its inputs."""
        self._slot_cells[index] = slot
        return {name: cells[index] for name, cells in self._cells.items()}

    def send_up(self) -> None:
        """Enqueue the copies of all inputs."""
        self._device.copy(self._slots_there, self._slots)
        for name, tensor in self._host.items():
            self._device.copy(self._inputs[name], tensor)

    def batch(self, lane: str, rows: Sequence[Row], start: int, state: Mapping[str, torch.Tensor]) -> Batch:
        """Return the rows from ``start`` on as a batch."""
        end = start + len(rows)
        inputs = {name: tensor[start:end] for name, tensor in self._inputs.items()}
        return Batch(lane, rows, self._slots_there[start:end], inputs, state)

    def bring_down(self, made: Mapping[str, torch.Tensor], start: int, rows: int) -> None:
        """Enqueue the copies of what a step made. Raises ``ValueError`` for what is not as the model has declared."""
        for name, room in self._made.items():
            part, tensor = room[start : start + rows], made.get(name)
            if not isinstance(tensor, torch.Tensor) or tensor.shape != part.shape or tensor.dtype != part.dtype:
                raise ValueError(f"step made {_told(tensor)} as {name!r}; declared is {_told(part)}")
            self._device.copy(part, tensor)

    def values(self, rows: int) -> Sequence[tuple[Any, ...]]:
        """Return what came down, for each row, in the order of the outputs."""
        return list(zip(*(room[:rows].tolist() for room in self._made.values()), strict=True))

    def unsound(self, rows: int) -> Mapping[int, str]:
        """Return the rows whose outputs are not finite, and which output it was."""
        found: dict[int, str] = {}
        for name, room in self._made.items():
            if room.is_floating_point():
                sound = torch.isfinite(room[:rows]).reshape(rows, -1).all(dim=1).tolist()
                found |= {index: name for index, fine in enumerate(sound) if not fine}
        return found


@dataclass(slots=True)
class Flight:
    """Rows that were launched together, by id, and the point at which all that they made is down."""

    staging: Staging
    lane: str
    ids: Sequence[str]
    rows: Sequence[Row]
    mark: Mark | None = None
    failed: set[str] = field(default_factory=set)


def view_of(tensor: torch.Tensor) -> memoryview[Any]:
    """Return the memory of a contiguous host tensor, flat, in its own format. The tensor must outlive it."""
    raw = (ctypes.c_char * max(tensor.nbytes, 1)).from_address(tensor.data_ptr())
    flat: memoryview[Any] = memoryview(raw).cast("B")[: tensor.nbytes]
    return flat.cast(FORMATS[tensor.dtype])


def _cells(tensor: torch.Tensor) -> list[memoryview[Any]]:
    view, rows = view_of(tensor), tensor.shape[0]
    each = len(view) // rows
    return [view[index * each : (index + 1) * each] for index in range(rows)]


def _told(thing: object) -> str:
    if isinstance(thing, torch.Tensor):
        return f"{tuple(thing.shape)} {str(thing.dtype).removeprefix('torch.')}"
    return "nothing" if thing is None else type(thing).__name__
