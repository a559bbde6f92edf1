"""A causal language model from a local folder: ``config.json``, safetensors, and a tokenizer. Nothing is downloaded.

``transformers`` reads the folder and runs the network; where its keys and values live, which rows are in a step, and
what is drawn is ours, as for any other model of :mod:`interlock.workers.torch_stage.language`. Needs the extra ``hf``.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from interlock.workers.torch_stage.decoder import CacheShape, SlotCache, Tensor
from interlock.workers.torch_stage.device import find_device
from interlock.workers.torch_stage.language import LanguageLimits, LanguageModel
from interlock.workers.torch_stage.missing import torch
from interlock.workers.torch_stage.stage import TorchStage
from interlock.workers.torch_stage.text import Detokenizer, Whole

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before transformers is imported: a folder is all it may read

try:
    import transformers
    from transformers.cache_utils import Cache, CacheLayerMixin
except ImportError as error:
    raise ImportError(f"{error.name} is not there: install interlock[hf]", name=error.name) from error

transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]

WHOLE = "full_attention"


class HfTokenizer:
    """Implements :class:`~interlock.workers.torch_stage.text.Tokenizer`, with the chat template if there is one."""

    def __init__(self, tokenizer: Any, ends: frozenset[int]) -> None:
        self._tokenizer = tokenizer
        self.ends = ends

    def encode(self, text: str) -> Sequence[int]:
        """Return the tokens of what the user said, as the model was taught to be asked."""
        if getattr(self._tokenizer, "chat_template", None):
            said = [{"role": "user", "content": text}]
            text = self._tokenizer.apply_chat_template(said, add_generation_prompt=True, tokenize=False)
            tokens = self._tokenizer(text, add_special_tokens=False).input_ids
        else:
            tokens = self._tokenizer(text).input_ids
        return tokens or [next(iter(self.ends), 0)]

    def detokenizer(self) -> Detokenizer:
        """Begin an answer."""
        return Whole(lambda tokens: str(self._tokenizer.decode(tokens, skip_special_tokens=True)))


class HfDecoder:
    """Implements :class:`interlock.workers.torch_stage.decoder.Decoder` over a ``transformers`` causal model."""

    def __init__(self, model: Any) -> None:
        """Raises ``ValueError`` for a model that keeps something else than keys and values of every token."""
        config = model.config.get_text_config()
        if others := sorted(set(getattr(config, "layer_types", None) or [WHOLE]) - {WHOLE}):
            raise ValueError(f"{config.model_type} has layers with {', '.join(others)}; slots hold {WHOLE} only")
        heads = config.num_attention_heads
        width = getattr(config, "head_dim", None) or config.hidden_size // heads
        kept = getattr(config, "num_key_value_heads", None) or heads
        self.vocabulary = int(config.vocab_size)
        self.cache = CacheShape(config.num_hidden_layers, kept, width, model.dtype)
        self._model = model
        self._cache_name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"

    def __call__(self, tokens: Tensor, positions: Tensor, mask: Tensor, cache: SlotCache) -> Tensor:
        """Read; see :class:`Decoder`. The mask is additive, which every attention of ``transformers`` takes."""
        least = torch.finfo(self.cache.dtype).min
        added = torch.zeros(mask.shape, dtype=self.cache.dtype, device=mask.device).masked_fill(~mask, least)
        layers: list[Any] = [PoolLayer(cache, layer) for layer in range(self.cache.layers)]
        given: dict[str, Any] = {self._cache_name: Cache(layers=layers)}
        made = self._model(
            input_ids=tokens, position_ids=positions, attention_mask=added, use_cache=True, logits_to_keep=1, **given
        )
        scores: Tensor = made.logits[:, -1]
        return scores


class PoolLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]  # transformers is partly untyped
    """One layer of a :class:`SlotCache`, as ``transformers`` asks for it."""

    is_sliding = False

    def __init__(self, cache: SlotCache, layer: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._cache = cache
        self._layer = layer

    def lazy_initialization(self, *_: Any, **__: Any) -> None:
        """The pool was allocated long ago."""

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Keep the new ones, return all."""
        return self._cache.update(self._layer, key_states, value_states)

    def get_mask_sizes(self, *_: Any) -> tuple[int, int]:
        """Length and offset; the mask is ready made, so that nobody builds one from this."""
        return self._cache.reach, 0

    def get_seq_length(self, *_: Any) -> int:
        """Positions in use, by the row that has most."""
        return self._cache.reach

    def get_max_length(self) -> int:
        """No more than that, in this step."""
        return self._cache.reach

    get_max_cache_shape = get_max_length


class Loaded(NamedTuple):
    """What a folder has: a network, its tokenizer, and how its authors want it to be asked."""

    decoder: HfDecoder
    tokenizer: HfTokenizer
    wishes: Mapping[str, Any]
    """``max_tokens`` and ``temperature``, where ``generation_config.json`` names them."""


def load(path: str | Path, place: torch.device, dtype: torch.dtype) -> Loaded:
    """Read a folder. Raises ``OSError`` or ``ValueError`` that says what is wrong with it."""
    folder = Path(path)
    if not (folder / "config.json").is_file():
        raise ValueError(f"{folder} has no config.json: a folder written by save_pretrained is wanted")
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(
        folder, local_files_only=True, use_safetensors=True, dtype=dtype
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model.eval()
    tokens = HfTokenizer(tokenizer, _ends(model, tokenizer))
    return Loaded(HfDecoder(model.to(place)), tokens, _wishes(model.generation_config))


def _wishes(config: Any) -> Mapping[str, Any]:
    wishes: dict[str, Any] = {}
    if most := getattr(config, "max_new_tokens", None):
        wishes["max_tokens"] = int(most)
    if getattr(config, "do_sample", None):
        heat = getattr(config, "temperature", None)
        wishes["temperature"] = 1.0 if heat is None else float(heat)
    return wishes


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    """Collect what ends an answer: some models have several such tokens."""
    found: set[int] = set()
    for named in (getattr(model.generation_config, "eos_token_id", None), tokenizer.eos_token_id):
        found.update(named if isinstance(named, list) else [] if named is None else [named])
    return frozenset(found)


def mind(path: str, *, device: str | None = None, threads: int | None = None, **limits: int) -> TorchStage:
    """Make the stage that answers a turn with the model in ``path``: float32 on a CPU, bfloat16 on a GPU."""
    on = find_device(device, threads)
    loaded = load(path, on.place, torch.float32 if on.place.type == "cpu" else torch.bfloat16)
    chosen = LanguageLimits(**{**loaded.wishes, **limits})
    return TorchStage(LanguageModel(loaded.decoder, loaded.tokenizer, chosen), on)
