"""Slots for the state of requests, on the device: allocated once, lent, zeroed, and counted."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from interlock.errors import Defect, LimitReached
from interlock.workers.torch_stage.batch import Layout
from interlock.workers.torch_stage.device import Device
from interlock.workers.torch_stage.missing import torch


class SlotPool:
    """One tensor for each part of the state, (capacity, *shape). A slot is the same index in all of them.

    Nothing is allocated after the constructor, so that a full pool is a refusal and never a lack of memory.
    """

    def __init__(self, capacity: int, layouts: Mapping[str, Layout], device: Device) -> None:
        self.capacity = capacity
        self.bytes_each = sum(layout.nbytes for layout in layouts.values())
        with device.stream():
            self.tensors = {
                name: torch.zeros((capacity, *layout.shape), dtype=layout.dtype, device=device.place)
                for name, layout in layouts.items()
            }
        self._device = device
        self._free = list(range(capacity))
        self._lent: dict[str, int] = {}

    def lend(self, request_id: str) -> int:
        """Lend the lowest free slot, zeroed: what one request left, not even a NaN, is seen by the next.

        Raises :class:`LimitReached` when there is none, and :class:`Defect` for an id that has one.
        """
        if request_id in self._lent:
            raise Defect(f"{request_id!r} has a slot already")
        if not self._free:
            raise LimitReached("slots", self.capacity)
        slot = heapq.heappop(self._free)
        with self._device.stream(), torch.inference_mode():
            for tensor in self.tensors.values():
                tensor[slot].zero_()
        self._lent[request_id] = slot
        return slot

    def take_back(self, request_id: str) -> None:
        """Take a slot back, when the device is done with it. An id without one is nothing to take."""
        if (slot := self._lent.pop(request_id, None)) is not None:
            heapq.heappush(self._free, slot)

    def slot(self, request_id: str) -> int:
        """Return where the state of a request is."""
        return self._lent[request_id]

    @property
    def lent(self) -> int:
        """How many slots are lent."""
        return len(self._lent)

    @property
    def held_bytes(self) -> int:
        """Bytes of the slots that are lent."""
        return self.lent * self.bytes_each

    @property
    def total_bytes(self) -> int:
        """Bytes of all slots: what the pool has allocated."""
        return self.capacity * self.bytes_each
