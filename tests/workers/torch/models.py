"""A batch model that counts, and misbehaves where a request asks for it; and a device that a test holds back.

``params = {"fault": "raise" | "blame" | "nan" | "memory" | "garbage" | "fill" | "take" | "hang" | "poison",
"at": 3}``: at its third step.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from interlock.workers.stage import StageOutput, StageRequest
from interlock.workers.torch_stage.batch import Batch, Cells, Layout
from interlock.workers.torch_stage.device import Cpu, Mark, find_device
from interlock.workers.torch_stage.stage import TorchStage
from tests.workers.torch.places import DEVICE

RELEASE = threading.Event()

TOO_MUCH = 1 << 46
"""Bytes that no machine has."""


class Blamed(RuntimeError):
    def __init__(self, request_id: str) -> None:
        super().__init__("told to")
        self.request_id = request_id


class CountRow:
    """Adds one to a number in its slot at each step, ``steps`` times, and says each."""

    def __init__(self, request: StageRequest) -> None:
        self.request_id = request.request_id
        self.params = request.params
        self.steps = int(request.params.get("steps", 1_000_000))
        self.lane = str(request.params.get("lane", "count"))
        self.launched = self.landed = 0
        self.text = bytearray()
        self.held_bytes = 0

    @property
    def wants(self) -> str | None:
        return self.lane if self.launched < self.steps else None

    def append(self, payload: bytes) -> None:
        self.text += payload

    def finish(self) -> None:
        self.steps = self.launched

    def fill(self, cells: Cells) -> None:
        self.launched += 1
        if self.is_up("fill"):
            raise RuntimeError("fill was told to raise")
        cells["add"][0] = float(self.params.get("add", 1.0))

    def is_up(self, fault: str) -> bool:
        return self.params.get("fault") == fault and self.launched >= int(self.params.get("at", 1))

    def take(self, values: tuple[Any, ...]) -> Sequence[StageOutput]:
        self.landed += 1
        if self.is_up("take"):
            raise RuntimeError("take was told to raise")
        made = [StageOutput(self.request_id, "text", str(int(values[0])).encode())]
        return [*made, StageOutput(self.request_id, "finished")] if self.landed == self.steps else made


class Count:
    def __init__(self, capacity: int = 8, max_batch: int = 8, repeatable: bool = True) -> None:
        self.capacity, self.max_batch, self.repeatable = capacity, max_batch, repeatable
        self.state = {"sum": Layout((), torch.float32), "spare": Layout((3, 5), torch.float32)}
        self.inputs = {"add": Layout((), torch.float32)}
        self.outputs = {"sum": Layout((), torch.float32)}
        self.batches: list[tuple[str, list[str]]] = []
        self.closed: list[str] = []

    def open(self, request: StageRequest) -> CountRow:
        if request.params.get("fault") == "open":
            raise RuntimeError("open was told to raise")
        return CountRow(request)

    def step(self, batch: Batch) -> Mapping[str, torch.Tensor]:
        rows = [row for row in batch.rows if isinstance(row, CountRow)]
        self.batches.append((batch.lane, [row.request_id for row in rows]))
        sums = batch.state["sum"][batch.slots] + batch.inputs["add"]
        for index, row in enumerate(rows):
            if row.is_up("raise"):
                raise RuntimeError("step was told to raise")
            if row.is_up("blame"):
                raise Blamed(row.request_id)
            if row.is_up("memory"):
                torch.empty(TOO_MUCH, dtype=torch.uint8)
            if row.is_up("garbage"):
                return {"sum": sums.repeat(3)}
            if row.is_up("hang"):
                RELEASE.wait()
            if row.is_up("nan"):
                sums[index] = float("nan")
            if row.is_up("poison"):
                batch.state["spare"][batch.slots[index]] = float("nan")
        batch.state["sum"][batch.slots] = sums
        return {"sum": sums}

    def close(self, request_id: str) -> None:
        self.closed.append(request_id)


class Gate:
    """A point that is passed when a test opens it, or breaks."""

    def __init__(self) -> None:
        self.open = False
        self.error = ""

    def query(self) -> bool:
        if self.error:
            raise RuntimeError(self.error)
        return self.open

    def synchronize(self) -> None:
        self.open = True


class Held(Cpu):
    """A CPU that plays a GPU: two steps may be on their way, and each is over when a test says so."""

    depth = 2

    def __init__(self) -> None:
        super().__init__()
        self.gates: list[Gate] = []

    def mark(self) -> Mark:
        self.gates.append(Gate())
        return self.gates[-1]

    def twin(self, host: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(host)


class Lag:
    """A point that is passed when it was asked after a few times."""

    def __init__(self, times: int) -> None:
        self.left = times

    def query(self) -> bool:
        self.left -= 1
        return self.left < 0

    def synchronize(self) -> None:
        self.left = 0


class Lagging(Held):
    """A CPU that plays a GPU whose steps take a random while."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._chance = random.Random(seed)

    def mark(self) -> Mark:
        return Lag(self._chance.randrange(4))


def counting(**args: Any) -> TorchStage:
    """Make a stage, as a worker does."""
    return TorchStage(Count(**args), find_device(DEVICE, threads=1))
