"""A language model as a batch model: prompts in chunks, one token a step, greedy or sampled, seeded.

Two lanes. ``read`` takes up to ``chunk`` tokens of each prompt in one step, and the last of them draws the first token
of the answer; ``say`` draws one token for each row from the one before, which is on the device already, so that a step
needs nothing from the last one's outputs. Chance comes from the host, one number a token from a generator that belongs
to the request: an answer depends on its seed, and not on who else is in the batch.
"""

from __future__ import annotations

import random
from array import array
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock.errors import LimitReached
from interlock.workers.stage import StageOutput, StageRequest
from interlock.workers.torch_stage.batch import Batch, Cells, Layout
from interlock.workers.torch_stage.decoder import Decoder, DecoderConfig, SeededDecoder, SlotCache
from interlock.workers.torch_stage.device import find_device
from interlock.workers.torch_stage.missing import torch
from interlock.workers.torch_stage.stage import TorchStage
from interlock.workers.torch_stage.text import Bytes, Detokenizer, Tokenizer

READ, SAY = "read", "say"

MAX_PROMPT_BYTES = 64 * 1024
"""Text that may be appended to one prompt."""


@dataclass(frozen=True, slots=True)
class LanguageLimits:
    """How much of everything, and how tokens are drawn where a request does not say.

    ``positions`` are tokens of a prompt and its answer together.
    """

    capacity: int = 16
    max_batch: int = 16
    positions: int = 512
    chunk: int = 32
    max_tokens: int = 64
    temperature: float = 0.0


@dataclass(slots=True)
class LanguageRow:
    """Implements :class:`interlock.workers.torch_stage.batch.Row`.

    ``length`` tokens are in the cache once all that was launched has run; ``drawn`` were launched, ``made`` have come
    down. ``draws`` says of each launched step whether a token of the answer comes of it.
    """

    request_id: str
    tokenizer: Tokenizer
    limits: LanguageLimits
    chance: random.Random
    temperature: float
    max_tokens: int
    detokenizer: Detokenizer
    text: bytearray = field(default_factory=bytearray)
    unread: deque[int] = field(default_factory=deque)
    draws: deque[bool] = field(default_factory=deque)
    begun: bool = False
    length: int = 0
    drawn: int = 0
    made: int = 0

    @property
    def wants(self) -> str | None:
        """Read while there is something unread; then say, until all that is wanted was launched."""
        if self.unread:
            return READ
        more = self.begun and self.drawn < self.max_tokens and self.length < self.limits.positions
        return SAY if more else None

    @property
    def held_bytes(self) -> int:
        """Text and tokens that wait."""
        return len(self.text) + 8 * len(self.unread)

    def append(self, payload: bytes) -> None:
        """Take more of the prompt; it is dropped once the answer has begun."""
        if len(self.text) + len(payload) > MAX_PROMPT_BYTES:
            raise LimitReached("language.prompt_bytes", MAX_PROMPT_BYTES)
        if not self.begun:
            self.text += payload

    def finish(self) -> None:
        """Begin the answer. Raises :class:`LimitReached` for a prompt that leaves no room for one (SR-10)."""
        if self.begun:
            return
        tokens = self.tokenizer.encode(self.text.decode("utf-8", "replace"))
        if len(tokens) >= self.limits.positions:
            raise LimitReached("language.positions", self.limits.positions)
        self.begun = True
        self.unread.extend(tokens)
        self.text.clear()

    def fill(self, cells: Cells) -> None:
        """Write the tokens at the end of the chunk, how many and where they are, and two numbers for the draw."""
        count = min(len(self.unread), self.limits.chunk) or 1
        if self.unread:
            chunk = array("q", (self.unread.popleft() for _ in range(count)))
            cells["tokens"][-count:] = memoryview(chunk)
        cells["span"][0], cells["span"][1] = count, self.length
        self.length += count
        draws = not self.unread
        self.draws.append(draws)
        if draws:
            self.drawn += 1
            cells["draw"][0], cells["draw"][1] = self.temperature, self.chance.random()

    def take(self, values: tuple[Any, ...]) -> Sequence[StageOutput]:
        """Give out the text that a token completes, and the end of the answer."""
        if not self.draws.popleft():
            return ()
        token: int = values[0]
        self.made += 1
        is_end = token in self.tokenizer.ends
        text = "" if is_end else self.detokenizer.push(token)
        is_over = is_end or self.made >= self.max_tokens or self._is_full
        if is_over:
            text += self.detokenizer.end()
        outputs = [StageOutput(self.request_id, "text", text.encode())] if text else []
        return [*outputs, StageOutput(self.request_id, "finished")] if is_over else outputs

    @property
    def _is_full(self) -> bool:
        """Whether the cache has no room for another token, and the last that was launched has come down."""
        return self.length >= self.limits.positions and self.drawn == self.made


class LanguageModel:
    """Implements :class:`interlock.workers.torch_stage.batch.BatchModel` over a decoder and a tokenizer.

    ``params`` of a request: ``text``, the prompt (else it is appended, and ``finish`` begins the answer);
    ``temperature`` (0 is greedy), ``seed``, ``max_tokens``.
    """

    repeatable = True  # a step writes where nothing is read yet, and moves ``last`` on as its last act

    def __init__(self, decoder: Decoder, tokenizer: Tokenizer, limits: LanguageLimits) -> None:
        self._decoder = decoder
        self._tokenizer = tokenizer
        self._limits = limits
        self.capacity, self.max_batch = limits.capacity, limits.max_batch
        cached = decoder.cache.layout(limits.positions)
        self.state = {"keys": cached, "values": cached, "last": Layout((), torch.int64)}
        self.inputs = {
            "tokens": Layout((limits.chunk,), torch.int64),
            "span": Layout((2,), torch.int64),
            "draw": Layout((2,), torch.float32),
        }
        self.outputs = {"token": Layout((), torch.int64), "score": Layout((), torch.float32)}

    def open(self, request: StageRequest) -> LanguageRow:
        """Begin a request, and its answer where the prompt is there."""
        params = request.params
        row = LanguageRow(
            request.request_id,
            self._tokenizer,
            self._limits,
            random.Random(params.get("seed", 0)),
            _checked("temperature", float(params.get("temperature", self._limits.temperature)), 0.0, 10.0),
            int(_checked("max_tokens", params.get("max_tokens", self._limits.max_tokens), 1, self._limits.positions)),
            self._tokenizer.detokenizer(),
        )
        if "text" in params:
            row.append(str(params["text"]).encode())
            row.finish()
        return row

    def step(self, batch: Batch) -> Mapping[str, torch.Tensor]:
        """Read or say; see :class:`BatchModel`."""
        state, span = batch.state, batch.inputs["span"]
        tokens = batch.inputs["tokens"] if batch.lane == READ else state["last"][batch.slots].unsqueeze(1)
        positions, real = placed(span, tokens.shape[1])
        reach = max(row.length for row in batch.rows if isinstance(row, LanguageRow))
        at = torch.where(real, positions, self._limits.positions)
        cache = SlotCache(state["keys"], state["values"], batch.slots, at, reach)
        mask = torch.arange(reach, device=span.device) <= positions[:, None, :, None]
        scores = self._decoder(tokens, positions, mask, cache).float()
        token = drawn(scores, batch.inputs["draw"])
        state["last"][batch.slots] = token
        return {"token": token, "score": scores.amax(-1)}

    def close(self, request_id: str) -> None:
        """Nothing is kept beside the row and the slot."""


def placed(span: torch.Tensor, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return positions (B, T) of a chunk whose tokens stand at its end, and which of them are real.

    ``span`` (B, 2): how many tokens are real, and the position of the first of them.
    """
    count, first = span[:, :1], span[:, 1:]
    back = torch.arange(length, device=span.device) - (length - count)
    return (first + back).clamp(min=0), back >= 0


def drawn(scores: torch.Tensor, draw: torch.Tensor) -> torch.Tensor:
    """Draw a token (B,) by ``scores`` (B, V). ``draw`` (B, 2): temperature (0: the best) and a number below 1."""
    temperature, number = draw[:, :1], draw[:, 1:]
    chances = torch.softmax(scores / temperature.clamp(min=1e-4), dim=-1)
    sampled = (chances.cumsum(-1) < number).sum(-1).clamp(max=scores.shape[-1] - 1)
    return torch.where(temperature[:, 0] > 0, sampled, scores.argmax(-1))


def _checked(name: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise ValueError(f"{name} = {value}: must be from {low:g} to {high:g}")
    return value


def seeded(
    *,
    width: int = 64,
    layers: int = 2,
    heads: int = 4,
    seed: int = 0,
    device: str | None = None,
    threads: int | None = None,
    **limits: int,
) -> TorchStage:
    """Make a stage of a decoder with seeded weights that speaks bytes: for tests, benchmarks, and sizing a machine."""
    on = find_device(device, threads)
    decoder = SeededDecoder(DecoderConfig(width, layers, heads, Bytes.SIZE, seed), on.place)
    return TorchStage(LanguageModel(decoder, Bytes(), LanguageLimits(**limits)), on)
