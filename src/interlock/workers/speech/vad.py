"""Silero VAD (MIT), batched over requests: one call of the network for all that have a chunk of 512 samples at 16 kHz.

The wheel's own wrapper keeps the recurrent state of *one* stream inside the model, and TorchScript compiles anew for
each batch size that it meets (70 ms, in the middle of somebody's sentence). So the weights are read from the wheel's
TorchScript file, and the network, which is small, is written out here: spectrum, four convolutions, one LSTM cell.
Its probabilities equal those of the wheel's model within 1e-4 (tests/workers/speech/test_vad.py).

What it remembers of each request is a slot of a pool that is allocated once, (2, 128) hidden and cell and (64,) of the
last samples, so that a batch is gathered and scattered by index, and nothing is allocated for a request that opens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files

from interlock.workers.speech.slots import missing
from interlock.workers.speech.turns import FRAME_SAMPLES

try:
    import torch
    from torch.nn.functional import conv1d, pad, relu
except ImportError as error:
    raise missing(error) from error

from interlock.workers.torch_stage.batch import Layout
from interlock.workers.torch_stage.device import Device, find_device
from interlock.workers.torch_stage.pool import SlotPool

CONTEXT_SAMPLES = 64
"""The end of the previous chunk, which the network sees again before the next one."""

MEMORY = 128
"""Width of the LSTM."""

KEPT = {"memory": Layout((2, MEMORY), torch.float32), "context": Layout((CONTEXT_SAMPLES,), torch.float32)}

STATE_BYTES = sum(layout.nbytes for layout in KEPT.values())
"""What one request holds on the device."""

_STRIDES = (1, 2, 2, 1)


class SileroVad:
    """The detector and its pool, on ``cuda`` where there is one. A call returns when the device has finished with it.

    Torch is limited to one thread in this process: a chunk is 0.2 ms of work, less than it costs to share it out.
    """

    def __init__(self, capacity: int = 16) -> None:
        device = find_device(threads=1)
        self._network = SileroNetwork(device)
        self._pool = SlotPool(max(capacity, 1), KEPT, device)
        self._place = device.place
        self.probabilities([self.lend("warm")], [bytes(2 * FRAME_SAMPLES)])  # the first call pays for torch's start
        self.take_back("warm")

    def lend(self, request_id: str) -> int:
        """Return a slot that has heard nothing. Raises :class:`interlock.errors.LimitReached` when none is free."""
        return self._pool.lend(request_id)

    def take_back(self, request_id: str) -> None:
        """Take the slot of a request back."""
        self._pool.take_back(request_id)

    @property
    def lent(self) -> int:
        """How many slots are lent."""
        return self._pool.lent

    def probabilities(self, slots: Sequence[int], chunks: Sequence[bytes]) -> list[float]:
        """Judge one chunk (512 samples, PCM16) of each request, as one batch; the states move on in place."""
        heard = torch.frombuffer(bytearray(b"".join(chunks)), dtype=torch.int16).view(len(slots), FRAME_SAMPLES)
        with torch.inference_mode():
            at = torch.tensor(slots, device=self._place)
            return [float(p) for p in self._network(heard.to(self._place), at, self._pool.tensors).tolist()]


class SileroNetwork:
    """The network alone: it moves states on where they are."""

    def __init__(self, device: Device) -> None:
        self._weights = _weights(device.place)

    def __call__(self, chunks: torch.Tensor, slots: torch.Tensor, state: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """``chunks`` (B, 512) int16, ``slots`` (B,), ``state`` by :data:`KEPT` -> probabilities (B,)."""
        heard = torch.cat((state["context"][slots], chunks.float() / 32768), dim=1)
        speech, memory = self._forward(heard, state["memory"][slots].transpose(0, 1))
        state["memory"][slots] = memory.transpose(0, 1)
        state["context"][slots] = heard[:, -CONTEXT_SAMPLES:]
        return speech

    def _forward(self, heard: torch.Tensor, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """``heard`` (B, 576), ``memory`` (2, B, 128) -> probabilities (B,), memory (2, B, 128)."""
        own = self._weights
        seen = self._encoded(_spectrum(heard, own["stft.forward_basis_buffer"]))
        gates = [own[f"decoder.rnn.{name}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        hidden, cell = torch.lstm_cell(seen, (memory[0], memory[1]), *gates)
        scores = conv1d(relu(hidden).unsqueeze(-1), own["decoder.decoder.2.weight"], own["decoder.decoder.2.bias"])
        return torch.sigmoid(scores).flatten(), torch.stack((hidden, cell))

    def _encoded(self, spectrum: torch.Tensor) -> torch.Tensor:
        """``spectrum`` (B, 129, 4) -> (B, 128)."""
        for layer, stride in enumerate(_STRIDES):
            weight, bias = (self._weights[f"encoder.{layer}.reparam_conv.{part}"] for part in ("weight", "bias"))
            spectrum = relu(conv1d(spectrum, weight, bias, stride=stride, padding=1))
        return spectrum.squeeze(-1)


def _spectrum(heard: torch.Tensor, basis: torch.Tensor) -> torch.Tensor:
    """Magnitudes of a short-time Fourier transform, window 256, hop 128: (B, 576) -> (B, 129, 4)."""
    parts = conv1d(pad(heard, (0, 64), "reflect").unsqueeze(1), basis, stride=128)
    real, imaginary = parts.chunk(2, dim=1)
    return (real.square() + imaginary.square()).sqrt()


def _weights(device: torch.device) -> dict[str, torch.Tensor]:
    """Read the 16 kHz network's tensors out of the wheel's file."""
    try:
        folder = files("silero_vad")
    except ImportError as error:
        raise missing(error) from error
    with as_file(folder / "data" / "silero_vad.jit") as path:
        script = torch.jit.load(str(path), map_location=device)  # type: ignore[no-untyped-call]
    return {name: tensor.detach() for name, tensor in script._model.state_dict().items()}
