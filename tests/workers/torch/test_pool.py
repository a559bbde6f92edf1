"""Slots: lent, zeroed, taken back, counted; against a plain model of what a pool is, in random orders."""

from __future__ import annotations

import random

import pytest
import torch

from interlock.errors import Defect, LimitReached
from interlock.workers.torch_stage.batch import Layout
from interlock.workers.torch_stage.device import Cpu
from interlock.workers.torch_stage.pool import SlotPool

LAYOUTS = {"a": Layout((2, 3), torch.float32), "b": Layout((), torch.int64)}
EACH = 2 * 3 * 4 + 8


def pool(capacity: int = 4) -> SlotPool:
    return SlotPool(capacity, LAYOUTS, Cpu())


def test_the_tensors_are_as_the_layouts_say() -> None:
    made = pool()
    assert {name: (tuple(t.shape), t.dtype) for name, t in made.tensors.items()} == {
        "a": ((4, 2, 3), torch.float32),
        "b": ((4,), torch.int64),
    }
    assert (made.bytes_each, made.total_bytes) == (EACH, 4 * EACH)


def test_an_id_has_one_slot() -> None:
    made = pool()
    made.lend("r1")
    with pytest.raises(Defect, match="'r1' has a slot already"):
        made.lend("r1")


def test_random_lending_against_a_plain_model() -> None:
    chance, made, lent = random.Random(1), pool(8), dict[str, int]()
    for number in range(3_000):
        if lent and chance.random() < 0.5:
            request_id = chance.choice(sorted(lent))
            made.take_back(request_id)
            made.take_back(request_id)
            del lent[request_id]
        elif len(lent) == 8:
            with pytest.raises(LimitReached):
                made.lend(f"r{number}")
        else:
            slot = made.lend(f"r{number}")
            assert slot == min(set(range(8)) - set(lent.values()))
            assert not made.tensors["a"][slot].any()
            assert not made.tensors["b"][slot].any()
            made.tensors["a"][slot] = float("nan")
            made.tensors["b"][slot] = number
            lent[f"r{number}"] = slot
        assert (made.lent, made.held_bytes) == (len(lent), len(lent) * EACH)
        assert all(made.slot(request_id) == slot for request_id, slot in lent.items())
