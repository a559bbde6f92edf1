"""Models from a folder answer as ``transformers`` itself does, whoever else is in the batch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from interlock.errors import WorldError
from interlock.workers.core import StageSpec
from interlock.workers.factory import make_model
from interlock.workers.stage import StageRequest
from tests.workers.torch.tiny import missing, save_tiny

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"no {', '.join(missing())}; install interlock[hf]")

PROMPTS = ["go forward ten meters", "hello", "please stop then go again red blue green yes no maybe red"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tiny")
    save_tiny(made, most=10)
    return made


def answers(folder: Path, **limits: int) -> list[str]:
    from interlock.workers.torch_stage.hf import mind

    stage = mind(str(folder), device="cpu", threads=1, **limits)
    for number, prompt in enumerate(PROMPTS):
        stage.open(StageRequest(str(number), 1, {"text": prompt}))
    texts = [b""] * len(PROMPTS)
    while stage.due(0) is not None:
        for output in stage.step(0):
            assert output.kind in ("text", "finished"), output
            texts[int(output.request_id)] += output.payload
            if output.kind == "finished":
                stage.close(output.request_id)
    assert stage.held()["slots"] == 0
    return [text.decode() for text in texts]


def theirs(folder: Path, **options: Any) -> list[str]:
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    made = []
    for prompt in PROMPTS:
        ids = tokenizer(prompt, return_tensors="pt").input_ids
        with torch.inference_mode():
            out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, pad_token_id=0, **options)
        made.append(str(tokenizer.decode(out[0][ids.shape[1] :], skip_special_tokens=True)))
    return made


@pytest.mark.parametrize("limits", [{}, {"chunk": 2}, {"max_batch": 1}, {"chunk": 5, "max_batch": 2}])
def test_greedy_answers_are_those_of_generate(folder: Path, limits: Mapping[str, int]) -> None:
    assert answers(folder, **limits) == theirs(folder)
    assert len(set(answers(folder))) == len(PROMPTS)


def test_a_model_with_learned_positions_answers_as_well(tmp_path: Path) -> None:
    """Another family: no rotary embedding, one head of keys for each of queries, tied weights."""
    import torch
    import transformers

    save_tiny(tmp_path)
    torch.manual_seed(1)
    sizes: dict[str, Any] = {"vocab_size": 23, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}
    config = transformers.GPT2Config(**sizes, bos_token_id=1, eos_token_id=2)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    assert answers(tmp_path, chunk=3, max_tokens=8) == theirs(tmp_path, max_new_tokens=8)


def test_the_folder_says_how_it_wants_to_be_asked(folder: Path) -> None:
    assert all(5 < len(answer.split()) <= 10 for answer in answers(folder))
    assert all(1 < len(answer.split()) <= 3 for answer in answers(folder, max_tokens=3))


def test_a_chat_template_is_used_where_there_is_one(folder: Path, tmp_path: Path) -> None:
    import transformers

    from interlock.workers.torch_stage.hf import HfTokenizer

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert HfTokenizer(tokenizer, frozenset({2})).encode("hello") == tokenizer("hello").input_ids
    tokenizer.chat_template = "{% for m in messages %}please {{ m.content }} then{% endfor %}"
    asked = HfTokenizer(tokenizer, frozenset({2})).encode("hello")
    assert tokenizer.decode(list(asked)) == "please hello then"
    assert HfTokenizer(transformers.AutoTokenizer.from_pretrained(folder), frozenset({2})).encode("") == [2]


@pytest.mark.parametrize(
    ("config", "reason"),
    [(None, "has no config.json"), ("{", "JSON"), ('{"model_type": "unheard-of"}', "unheard-of")],
)
def test_a_folder_that_is_no_model_is_refused_in_words(tmp_path: Path, config: str | None, reason: str) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    spec = StageSpec("mind", "interlock.workers.torch_stage.hf:mind", {"path": str(tmp_path)})
    with pytest.raises(WorldError, match=reason):
        make_model(spec)


def test_a_model_with_sliding_windows_is_refused(tmp_path: Path) -> None:
    save_tiny(tmp_path, layer_types=["full_attention", "sliding_attention"])
    spec = StageSpec("mind", "interlock.workers.torch_stage.hf:mind", {"path": str(tmp_path)})
    with pytest.raises(WorldError, match="has layers with sliding_attention"):
        make_model(spec)
