"""What a model is to :class:`interlock.workers.torch_stage.stage.TorchStage`, and what it is handed for one step.

A model has two sides. On the device it is one function, ``step``: a batch of rows, their state in slots of a pool, in;
a tensor for each output, out. On the host it is one :class:`Row` for each request, which says when it wants a step,
fills in its inputs, and makes outputs of what comes down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, TypeAlias

from interlock.workers.stage import StageOutput, StageRequest
from interlock.workers.torch_stage.missing import torch

Cells: TypeAlias = "Mapping[str, memoryview[Any]]"
"""By the names of a model's inputs: where a row fills them in. Flat, of the format of their dtype."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One tensor of a slot or of a row: its shape without the leading dimension, and its dtype."""

    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of one slot or row."""
        return prod(self.shape) * self.dtype.itemsize


class Row(Protocol):
    """The host's side of one request. What any method raises fails this request, and no other."""

    @property
    def wants(self) -> str | None:
        """Which kind of step (*lane*) the row is ready for; ``None`` while it is not. Lanes are never mixed."""

    @property
    def held_bytes(self) -> int:
        """Bytes of input and output that wait on the host."""

    def append(self, payload: bytes) -> None:
        """Take input."""

    def finish(self) -> None:
        """No more input follows, or a turn ends here."""

    def fill(self, cells: Cells) -> None:
        """Write this row's inputs of the next step, and be ready for the one after: ``take`` may come later.

        Cells hold what an earlier step left in them.
        """

    def take(self, values: tuple[Any, ...]) -> Sequence[StageOutput]:
        """Make outputs of what one step made for this row: numbers, or nested lists, in the order of ``outputs``."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One step: B rows. Tensors are on the model's device; ``state`` is the whole pool, (slots, *shape)."""

    lane: str
    rows: Sequence[Row]
    slots: torch.Tensor
    """(B,) int64: where each row's state is."""
    inputs: Mapping[str, torch.Tensor]
    """(B, *shape) each: what the rows have filled in."""
    state: Mapping[str, torch.Tensor]


class BatchModel(Protocol):
    """A model that advances many requests in one step. Driven from one thread."""

    @property
    def capacity(self) -> int:
        """Requests open at once: slots in the pool."""

    @property
    def max_batch(self) -> int:
        """Rows in one step."""

    @property
    def state(self) -> Mapping[str, Layout]:
        """What one slot holds on the device; zeroed when a request takes it."""

    @property
    def inputs(self) -> Mapping[str, Layout]:
        """What a row hands to a step."""

    @property
    def outputs(self) -> Mapping[str, Layout]:
        """What a step makes for a row. One that is floating and not finite fails its request."""

    @property
    def repeatable(self) -> bool:
        """Whether a step that raised may be run again with fewer rows: it changes what counts only at its end."""

    def open(self, request: StageRequest) -> Row:
        """Begin a request. Whatever it raises refuses it."""

    def step(self, batch: Batch) -> Mapping[str, torch.Tensor]:
        """Advance all rows of a batch: move their state on in place, and return (B, *shape) for each output.

        It only enqueues work where the device is a GPU. An exception with a ``request_id`` fails that request.
        """

    def close(self, request_id: str) -> None:
        """Forget a request: the device is done with it, and its slot is back."""
