"""Silero VAD as a stage of its own: it hears where turns begin and end, and understands nothing. For many at once.

The network is that of the ears, run by :class:`interlock.workers.torch_stage.stage.TorchStage`: one call for all
requests that have a chunk, and their recurrent state in slots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from interlock.errors import LimitReached
from interlock.workers.speech.listening import CHUNK_BYTES, INPUT_S
from interlock.workers.speech.resample import HEARD_HZ
from interlock.workers.speech.turns import FRAME_MS, FRAME_SAMPLES, Cut, Turn, TurnConfig
from interlock.workers.speech.vad import KEPT, SileroNetwork
from interlock.workers.stage import OutputKind, StageOutput, StageRequest
from interlock.workers.torch_stage.batch import Batch, Cells, Layout
from interlock.workers.torch_stage.device import find_device
from interlock.workers.torch_stage.missing import torch
from interlock.workers.torch_stage.stage import TorchStage


class TurnRow:
    """Implements :class:`interlock.workers.torch_stage.batch.Row`. Input is PCM16 mono at 16 kHz."""

    def __init__(self, request_id: str, config: TurnConfig) -> None:
        self._request_id = request_id
        self._turn = Turn(config)
        self._pcm = bytearray()
        self._frames = 0

    @property
    def wants(self) -> str | None:
        """Ready while a whole chunk waits."""
        return "hear" if len(self._pcm) >= CHUNK_BYTES else None

    @property
    def held_bytes(self) -> int:
        """Audio that waits."""
        return len(self._pcm)

    def append(self, payload: bytes) -> None:
        """Take audio. Raises :class:`LimitReached` when 30 s of it wait."""
        if len(self._pcm) + len(payload) > 2 * HEARD_HZ * INPUT_S:
            raise LimitReached("turns.input_s", INPUT_S)
        self._pcm += payload

    def finish(self) -> None:
        """A commit changes nothing here: who commits knows where the turn ends."""

    def fill(self, cells: Cells) -> None:
        """Write one chunk."""
        cells["chunk"][:] = memoryview(self._pcm[:CHUNK_BYTES]).cast("h")
        del self._pcm[:CHUNK_BYTES]

    def take(self, values: tuple[Any, ...]) -> Sequence[StageOutput]:
        """Judge the chunk."""
        self._frames += 1
        cut = self._turn.judge(values[0])
        if cut is Cut.NONE:
            return ()
        kind: OutputKind = "speech_started" if cut is Cut.STARTED else "speech_stopped"
        return [StageOutput(self._request_id, kind, at_ms=self._frames * FRAME_MS)]


class TurnModel:
    """Implements :class:`interlock.workers.torch_stage.batch.BatchModel`. Parameters are those of a turn."""

    repeatable = True  # states move on in the last lines of a step
    state = KEPT
    inputs: Mapping[str, Layout] = {"chunk": Layout((FRAME_SAMPLES,), torch.int16)}
    outputs: Mapping[str, Layout] = {"speech": Layout((), torch.float32)}

    def __init__(self, network: SileroNetwork, capacity: int, max_batch: int) -> None:
        self._network = network
        self.capacity, self.max_batch = capacity, max_batch

    def open(self, request: StageRequest) -> TurnRow:
        """Begin in silence."""
        return TurnRow(request.request_id, TurnConfig().changed(request.params))

    def step(self, batch: Batch) -> Mapping[str, torch.Tensor]:
        """Judge one chunk of each row."""
        return {"speech": self._network(batch.inputs["chunk"], batch.slots, batch.state)}

    def close(self, request_id: str) -> None:
        """Nothing is kept beside the row and the slot."""


def turns(*, capacity: int = 256, max_batch: int = 64, device: str | None = None) -> TorchStage:
    """Make the stage. Up to ``capacity`` requests at once."""
    on = find_device(device, threads=1)
    return TorchStage(TurnModel(SileroNetwork(on), capacity, max_batch), on)
