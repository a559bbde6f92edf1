"""The language model: an answer depends on its prompt and its seed, and on nothing that happens to others."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
import torch

from interlock.errors import LimitReached
from interlock.workers.stage import StageRequest
from interlock.workers.torch_stage.decoder import DecoderConfig, SeededDecoder, SlotCache
from interlock.workers.torch_stage.device import Cpu
from interlock.workers.torch_stage.language import LanguageLimits, LanguageModel, drawn, placed, seeded
from interlock.workers.torch_stage.stage import TorchStage
from interlock.workers.torch_stage.text import Bytes, Whole
from tests.workers.torch.places import DEVICE

PROMPTS: Mapping[str, Mapping[str, Any]] = {
    "short": {"text": "a"},
    "long": {"text": "a prompt of more than one chunk " * 4},
    "warm": {"text": "please go forward", "temperature": 1.0, "seed": 1},
    "other": {"text": "please go forward", "temperature": 1.0, "seed": 2},
    "brief": {"text": "hello", "max_tokens": 3},
}


def stage(**limits: int) -> TorchStage:
    chosen: dict[str, Any] = {"positions": 192, "chunk": 16, "max_tokens": 20, **limits}
    return seeded(threads=1, device=DEVICE, **chosen)


def answers(made: TorchStage, asked: Mapping[str, Mapping[str, Any]], joins: Mapping[str, int] | None = None) -> Any:
    """Run requests to their ends, each joining at its step; return texts and how each ended."""
    texts, ends, number = dict.fromkeys(asked, b""), dict[str, str](), 0
    while len(ends) < len(asked):
        for name, params in asked.items():
            if number == (joins or {}).get(name, 0):
                made.open(StageRequest(name, 1, params))
        for output in made.step(0.0):
            if output.kind == "text":
                texts[output.request_id] += output.payload
            else:
                ends[output.request_id] = output.kind + output.reason
                made.close(output.request_id)
        number += 1
    assert made.held()["slots"] == 0
    return texts, ends


@pytest.fixture(scope="module")
def alone() -> Mapping[str, bytes]:
    """What each is answered when nobody else is there."""
    made = stage()
    return {name: answers(made, {name: params})[0][name] for name, params in PROMPTS.items()}


def test_answers_do_not_depend_on_who_else_is_in_the_batch(alone: Mapping[str, bytes]) -> None:
    texts, ends = answers(stage(), PROMPTS)
    assert texts == alone
    assert set(ends.values()) == {"finished"}
    assert len(set(alone.values())) == len(alone)


@pytest.mark.parametrize("seed", range(6))
def test_nor_on_when_they_join_or_how_many_fit_into_a_step(alone: Mapping[str, bytes], seed: int) -> None:
    chance = random.Random(seed)
    joins = {name: chance.randrange(30) for name in PROMPTS}
    made = stage(max_batch=chance.randint(1, 5), chunk=chance.choice([1, 5, 16, 64]))
    assert answers(made, PROMPTS, joins)[0] == alone


def test_an_answer_is_what_the_decoder_says_without_a_cache() -> None:
    """Read the whole text anew for each token, with no pool, no chunks and no batch: the same best tokens."""
    decoder, tokenizer = SeededDecoder(DecoderConfig(), torch.device("cpu")), Bytes()
    tokens = list(tokenizer.encode("please go forward ten meters and then stop"))
    prompt = len(tokens)
    for _ in range(20):
        tokens.append(int(whole(decoder, tokens).argmax()))
    detokenizer = tokenizer.detokenizer()
    expected = "".join(map(detokenizer.push, tokens[prompt:])) + detokenizer.end()
    texts, _ = answers(stage(), {"r": {"text": "please go forward ten meters and then stop"}})
    assert texts["r"].decode() == expected


def whole(decoder: SeededDecoder, tokens: list[int]) -> torch.Tensor:
    shape, length = decoder.cache, len(tokens)
    pool = torch.zeros(1, shape.layers, shape.heads, length + 1, shape.width)
    positions = torch.arange(length).unsqueeze(0)
    cache = SlotCache(pool, pool.clone(), torch.tensor([0]), positions, length)
    mask = torch.ones(length, length, dtype=torch.bool).tril()[None, None]
    return decoder(torch.tensor([tokens]), positions, mask, cache)[0]


def test_the_same_seed_draws_the_same_and_greedy_needs_none() -> None:
    made = stage()
    params: dict[str, Any] = {"text": "x", "temperature": 1.5, "seed": 7}
    first, again = (answers(made, {"r": params})[0]["r"] for _ in range(2))
    other = answers(made, {"r": params | {"seed": 8}})[0]["r"]
    assert first == again != other


def test_a_prompt_may_be_appended_and_then_finished() -> None:
    made = stage()
    expected = answers(made, {"r": {"text": "go forward"}})[0]["r"]
    made.open(StageRequest("r", 1))
    made.append("r", b"go ", 0)
    assert made.due(0) is None
    made.append("r", b"forward", 0)
    made.finish("r", 0)
    made.finish("r", 0)
    made.append("r", b"too late", 0)
    texts = b""
    while made.due(0) is not None:
        texts += b"".join(output.payload for output in made.step(0))
    assert texts == expected


def test_sr_10_a_prompt_over_the_limit_is_refused_and_a_full_cache_ends_the_answer() -> None:
    made = stage(positions=40, max_tokens=40)
    with pytest.raises(LimitReached, match=r"language\.positions = 40"):
        made.open(StageRequest("r", 1, {"text": "x" * 39}))
    assert made.held()["slots"] == 0
    texts, ends = answers(made, {"full": {"text": "x" * 35, "temperature": 1.0, "seed": 3}, "fits": {"text": "x"}})
    assert ends == {"full": "finished", "fits": "finished"}
    assert len(texts["full"]) > 0


def test_a_prompt_that_grows_over_the_limit_fails_its_request() -> None:
    made = stage()
    made.open(StageRequest("r", 1))
    for _ in range(64):
        made.append("r", bytes(1024), 0)
    with pytest.raises(LimitReached, match=r"language\.prompt_bytes"):
        made.append("r", b"x", 0)


@pytest.mark.parametrize("params", [{"temperature": -1}, {"temperature": 11}, {"max_tokens": 0}, {"max_tokens": 999}])
def test_parameters_that_cannot_work_are_refused(params: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be from"):
        stage().open(StageRequest("r", 1, {"text": "x", **params}))


def test_an_end_token_ends_an_answer_and_is_not_said() -> None:
    class Ends(Bytes):
        ends = frozenset(range(258))

    decoder = SeededDecoder(DecoderConfig(), torch.device("cpu"))
    made = TorchStage(LanguageModel(decoder, Ends(), LanguageLimits()), Cpu())
    texts, ends = answers(made, {"r": {"text": "x"}})
    assert (texts, ends) == ({"r": b""}, {"r": "finished"})


def test_weights_that_are_not_numbers_fail_the_request_with_a_reason() -> None:
    decoder = SeededDecoder(DecoderConfig(), torch.device("cpu"))
    decoder._scores[3, 3] = float("nan")
    made = TorchStage(LanguageModel(decoder, Bytes(), LanguageLimits()), Cpu())
    assert answers(made, {"r": {"text": "x"}})[1] == {"r": "failedscore is not a finite number"}


def test_chunks_stand_at_their_end() -> None:
    positions, real = placed(torch.tensor([[3, 5], [1, 0]]), 4)
    assert positions.tolist() == [[4, 5, 6, 7], [0, 0, 0, 0]]
    assert real.tolist() == [[False, True, True, True], [False, False, False, True]]


def test_draws_follow_the_chances() -> None:
    scores = torch.log(torch.tensor([[0.5, 0.25, 0.25]])).repeat(4, 1)
    draw = torch.tensor([[1.0, 0.49], [1.0, 0.51], [1.0, 0.76], [0.0, 0.99]])
    assert drawn(scores, draw).tolist() == [0, 1, 2, 0]


def test_half_a_character_waits_for_its_other_half() -> None:
    detokenizer = Bytes().detokenizer()
    assert [detokenizer.push(byte) for byte in "\u00fc!".encode()] == ["", "\u00fc", "!"]
    detokenizer.push(0xC3)
    assert detokenizer.end() == "\ufffd"


def test_a_long_answer_is_given_out_whole_by_a_window() -> None:
    text = "".join(random.Random(0).choices(["a", " b", "\u00fc", "\u20ac"], k=500))
    data = text.encode()
    detokenizer = Whole(lambda tokens: bytes(tokens).decode("utf-8", "replace"))
    given = "".join(map(detokenizer.push, data)) + detokenizer.end()
    assert given == text
