"""A causal language model that a test writes itself: 20 words, two layers, random weights, and a tokenizer."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SENTENCE = "yes no maybe please go forward ten meters and then stop hello again today red blue green"
WORDS = tuple(SENTENCE.split())
SPECIAL = ["<unk>", "<s>", "</s>"]


def missing() -> list[str]:
    """Say what is not installed."""
    return [name for name in ("torch", "transformers", "tokenizers", "safetensors") if not find_spec(name)]


def save_tiny(folder: Path, seed: int = 0, most: int = 8, **config: Any) -> None:
    """Write ``config.json``, ``model.safetensors`` and the tokenizer, as a trained one is written."""
    torch, transformers = importlib.import_module("torch"), importlib.import_module("transformers")
    torch.manual_seed(seed)
    sizes: dict[str, Any] = {
        "vocab_size": len([*SPECIAL, *WORDS]),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    made = transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**sizes, **config}))
    made.lm_head.weight.data[sizes["eos_token_id"]] = 0.0  # so that it is never the best
    made.generation_config.max_new_tokens = most
    made.save_pretrained(folder)
    _tokenizer(transformers).save_pretrained(folder)


def _tokenizer(transformers: Any) -> Any:
    tokenizers = importlib.import_module("tokenizers")
    words = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )
