"""What differs between a CPU and a GPU: streams, pinned memory, and when a step is over.

On a CPU a step is over when its call returns, inputs and outputs are where the model wants them, and there is nothing
to wait for. On a GPU a call only enqueues: the stage has a stream of its own, copies go from and to pinned memory
without waiting, and an event says when everything before it is done.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from interlock.workers.torch_stage.batch import Layout
from interlock.workers.torch_stage.missing import torch


class Mark(Protocol):
    """A point in a device's work."""

    def query(self) -> bool:
        """Whether everything before the point is done. Raises what the device met on the way."""

    def synchronize(self) -> None:
        """Wait for it."""


class Device(Protocol):
    """Where a model runs. ``depth`` is how many steps may be on their way at once."""

    @property
    def place(self) -> torch.device:
        """For ``tensor.to``."""

    @property
    def depth(self) -> int:
        """Steps that may be on their way at once: 2 where the host can prepare one while another runs."""

    def stream(self) -> AbstractContextManager[object]:
        """Enqueue what is called inside on the stage's own stream."""

    def mark(self) -> Mark:
        """Mark the point that the stream has come to."""

    def on_host(self, rows: int, layout: Layout) -> torch.Tensor:
        """Return zeros that the host reads and writes, (rows, *shape): pinned where there are copies."""

    def twin(self, host: torch.Tensor) -> torch.Tensor:
        """Return the device's counterpart of a host tensor; itself where they share their memory."""

    def copy(self, into: torch.Tensor, source: torch.Tensor) -> None:
        """Enqueue a copy between counterparts; nothing where they are the same."""

    def settle(self) -> None:
        """Wait for all that was enqueued on any stream: weights are loaded on another than the stage's own."""

    def tidy(self) -> None:
        """Give unused memory back, after a step did not get what it asked for."""


class Done:
    """A point that was passed when it was marked."""

    def query(self) -> bool:
        """Say yes."""
        return True

    def synchronize(self) -> None:
        """Wait for nothing."""


class Cpu:
    """Implements :class:`Device`. A worker has the process to itself; ``threads`` is torch's number for it."""

    depth = 1

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None:
            torch.set_num_threads(threads)
        self.place = torch.device("cpu")

    def stream(self) -> AbstractContextManager[object]:
        """There is one."""
        return nullcontext()

    def mark(self) -> Mark:
        """Nothing is behind."""
        return Done()

    def on_host(self, rows: int, layout: Layout) -> torch.Tensor:
        """Return zeros."""
        return torch.zeros((rows, *layout.shape), dtype=layout.dtype)

    def twin(self, host: torch.Tensor) -> torch.Tensor:
        """Return the same tensor."""
        return host

    def copy(self, into: torch.Tensor, source: torch.Tensor) -> None:
        """Copy what a step made; what the host wrote is there already."""
        if into is not source:
            into.copy_(source)

    def settle(self) -> None:
        """There is nothing to wait for."""

    def tidy(self) -> None:
        """The allocator of a CPU keeps nothing."""


class Cuda:
    """Implements :class:`Device`. Written with care; so far no test of this project has run it on a GPU."""

    depth = 2

    def __init__(self, index: int = 0) -> None:
        self.place = torch.device("cuda", index)
        self._stream = torch.cuda.Stream(self.place)  # type: ignore[no-untyped-call]

    def stream(self) -> AbstractContextManager[object]:
        """Return the stage's own stream."""
        return torch.cuda.stream(self._stream)

    def mark(self) -> Mark:
        """Record an event on the stage's stream."""
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record(self._stream)
        return event

    def on_host(self, rows: int, layout: Layout) -> torch.Tensor:
        """Return zeros in pinned memory: only from there does a copy not wait."""
        return torch.zeros((rows, *layout.shape), dtype=layout.dtype, pin_memory=True)

    def twin(self, host: torch.Tensor) -> torch.Tensor:
        """Allocate a counterpart on the device."""
        return torch.zeros_like(host, device=self.place)

    def copy(self, into: torch.Tensor, source: torch.Tensor) -> None:
        """Enqueue a copy. Order on the stream keeps it behind what made the source."""
        into.copy_(source, non_blocking=True)

    def settle(self) -> None:
        """Wait for the whole device."""
        torch.cuda.synchronize(self.place)

    def tidy(self) -> None:
        """Return cached blocks to the driver, so that they can be had in another shape."""
        torch.cuda.empty_cache()


def find_device(name: str | None = None, threads: int | None = None) -> Device:
    """Return the device of this name (``cpu``, ``cuda``, ``cuda:1``); without one, a GPU where there is any."""
    wanted = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
    return Cuda(wanted.index or 0) if wanted.type == "cuda" else Cpu(threads)
