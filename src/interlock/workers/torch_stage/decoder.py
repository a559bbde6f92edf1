"""A decoder-only transformer with seeded weights, and the cache in slots that it shares with models from files.

It was never trained: what it says means nothing, but its work, its memory and its answers are those of a real one, of
any size, and the same on every machine up to rounding. Pre-norm blocks with RMS norm, rotary positions, and GELU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from interlock.workers.torch_stage.batch import Layout
from interlock.workers.torch_stage.missing import torch
from interlock.workers.torch_stage.text import Bytes

Tensor = torch.Tensor


@dataclass(frozen=True, slots=True)
class CacheShape:
    """What a model keeps of each token: ``layers`` times ``heads`` keys and values of ``width`` numbers."""

    layers: int
    heads: int
    width: int
    dtype: torch.dtype = torch.float32

    def layout(self, positions: int) -> Layout:
        """Keys, or values, of one slot: (layers, heads, positions + 1, width); the last position takes the padding."""
        return Layout((self.layers, self.heads, positions + 1, self.width), self.dtype)


class SlotCache:
    """The cache of the rows of one step: new keys and values go into their slots, and all that is there comes back."""

    def __init__(self, keys: Tensor, values: Tensor, slots: Tensor, at: Tensor, reach: int) -> None:
        """``keys`` and ``values`` are the pool; ``slots`` (B,), ``at`` (B, T) say where the new ones go.

        ``reach`` positions, from the first on, are attended to.
        """
        self._pools = (keys, values)
        self._slots = slots
        self._at = at
        self.reach = reach

    def update(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Take (B, heads, T, width) of one layer; return (B, heads, reach, width)."""
        first, second = (
            self._merge(pool[:, layer], new) for pool, new in zip(self._pools, (keys, values), strict=True)
        )
        return first, second

    def _merge(self, pool: Tensor, new: Tensor) -> Tensor:
        pool[self._slots.unsqueeze(1), :, self._at] = new.transpose(1, 2).to(pool.dtype)
        return pool[:, :, : self.reach].index_select(0, self._slots)


class Decoder(Protocol):
    """A network that reads tokens and scores the next one."""

    @property
    def cache(self) -> CacheShape:
        """What it keeps of each token."""

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""

    def __call__(self, tokens: Tensor, positions: Tensor, mask: Tensor, cache: SlotCache) -> Tensor:
        """Read ``tokens`` (B, T) at ``positions`` (B, T); return the scores (B, vocabulary) after the last of each row.

        ``mask`` (B, 1, T, reach) is true where a token attends to a position of the cache.
        """


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """The size of a seeded decoder. 12 * layers * width**2 weights, and the vocabulary's."""

    width: int = 64
    layers: int = 2
    heads: int = 4
    vocabulary: int = Bytes.SIZE
    seed: int = 0


class SeededDecoder:
    """Implements :class:`Decoder`. Weights are drawn on the CPU, so that they are the same on every device."""

    def __init__(self, config: DecoderConfig, place: torch.device, dtype: torch.dtype = torch.float32) -> None:
        self.config = config
        self.vocabulary = config.vocabulary
        self.cache = CacheShape(config.layers, config.heads, config.width // config.heads, dtype)
        chance = torch.Generator().manual_seed(config.seed)
        width = config.width

        def drawn(*shape: int, scale: float) -> Tensor:
            return (torch.randn(shape, generator=chance) * scale).to(place, dtype)

        scale = 1 / math.sqrt(width)
        self._embedding = drawn(config.vocabulary, width, scale=1.0)
        self._scores = drawn(config.vocabulary, width, scale=2 * scale)
        self._layers = [
            (
                drawn(3 * width, width, scale=scale),
                drawn(width, width, scale=scale),
                drawn(4 * width, width, scale=scale),
                drawn(width, 4 * width, scale=scale / 2),
            )
            for _ in range(config.layers)
        ]
        half = torch.arange(0, self.cache.width, 2, dtype=torch.float32)
        self._speeds = (10_000.0 ** (-half / self.cache.width)).to(place)

    def __call__(self, tokens: Tensor, positions: Tensor, mask: Tensor, cache: SlotCache) -> Tensor:
        """Read; see :class:`Decoder`."""
        hidden = self._embedding[tokens]
        angles = positions.unsqueeze(-1) * self._speeds
        turn = angles.cos().unsqueeze(1).to(hidden.dtype), angles.sin().unsqueeze(1).to(hidden.dtype)
        for layer, (joint, out, up, down) in enumerate(self._layers):
            hidden = hidden + self._attend(layer, normed(hidden), (joint, out), turn, mask, cache)
            hidden = hidden + torch.nn.functional.gelu(normed(hidden) @ up.T) @ down.T
        return normed(hidden[:, -1]) @ self._scores.T

    def _attend(
        self, layer: int, hidden: Tensor, weights: tuple[Tensor, Tensor], turn: tuple[Tensor, Tensor], mask: Tensor,
        cache: SlotCache,
    ) -> Tensor:  # fmt: skip
        rows, length, width = hidden.shape
        joint, out = weights
        split = (hidden @ joint.T).view(rows, length, 3, self.config.heads, self.cache.width).permute(2, 0, 3, 1, 4)
        keys, values = cache.update(layer, turned(split[1], turn), split[2])
        mixed = torch.nn.functional.scaled_dot_product_attention(turned(split[0], turn), keys, values, attn_mask=mask)
        return mixed.transpose(1, 2).reshape(rows, length, width) @ out.T


def normed(hidden: Tensor) -> Tensor:
    """Divide each vector by its root mean square."""
    return torch.nn.functional.rms_norm(hidden, hidden.shape[-1:])


def turned(vectors: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Turn pairs of numbers of (B, heads, T, width) by their position (rotary embedding, Su et al. 2021)."""
    cos, sin = turn
    even, odd = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)
