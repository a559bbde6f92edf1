"""Silero VAD (MIT), batched over requests: one call of the network for all that have a chunk of 512 samples at 16 kHz.

The wheel's own wrapper keeps the recurrent state of *one* stream inside the model, and TorchScript compiles anew for
each batch size that it meets (70 ms, in the middle of somebody's sentence). So the weights are read from the wheel's
TorchScript file, and the network, which is small, is written out here: spectrum, four convolutions, one LSTM cell.
Its probabilities equal those of the wheel's model within 1e-4 (tests/workers/speech/test_vad.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files

from interlock.workers.speech.slots import missing
from interlock.workers.speech.turns import FRAME_SAMPLES

try:
    import numpy as np
    import torch
    from torch.nn.functional import conv1d, pad, relu
except ImportError as error:
    raise missing(error) from error

CONTEXT_SAMPLES = 64
"""The end of the previous chunk, which the network sees again before the next one."""

MEMORY = 128
"""Width of the LSTM."""

STATE_BYTES = 4 * (2 * MEMORY + CONTEXT_SAMPLES)
"""What one request holds on the device."""

_STRIDES = (1, 2, 2, 1)


@dataclass(slots=True)
class VadState:
    """What the detector remembers of one request: ``memory`` (2, 128) is hidden and cell, ``context`` is (64,)."""

    memory: torch.Tensor
    context: torch.Tensor


class SileroVad:
    """The detector, on ``cuda`` where there is one. A call returns when the device has finished with it.

    Torch is limited to one thread in this process: a chunk is 0.2 ms of work, less than it costs to share it out.
    """

    def __init__(self) -> None:
        torch.set_num_threads(1)
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._weights = _weights(self._device)
        self.probabilities([self.fresh()], [bytes(2 * FRAME_SAMPLES)])  # the first call pays for torch's own start

    def fresh(self) -> VadState:
        """Return the state of a request that has heard nothing."""
        zeros = torch.zeros(2 * MEMORY + CONTEXT_SAMPLES, device=self._device)
        return VadState(zeros[: 2 * MEMORY].view(2, MEMORY), zeros[2 * MEMORY :])

    def probabilities(self, states: Sequence[VadState], chunks: Sequence[bytes]) -> list[float]:
        """Judge one chunk (512 samples, PCM16) of each request, as one batch; the states move on in place."""
        with torch.inference_mode():
            heard = torch.stack([torch.cat((s.context, self._samples(c))) for s, c in zip(states, chunks, strict=True)])
            speech, memory = self._forward(heard, torch.stack([state.memory for state in states], dim=1))
            for row, state in enumerate(states):
                state.context, state.memory = heard[row, -CONTEXT_SAMPLES:].clone(), memory[:, row].clone()
            return [float(each) for each in speech.tolist()]

    def _samples(self, chunk: bytes) -> torch.Tensor:
        return torch.from_numpy(np.frombuffer(chunk, "<i2").astype(np.float32) / 32768).to(self._device)

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
