"""Continuous batching, slots, and faults that are one request's own; on a device that a test can hold back."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from interlock.errors import LimitReached, WorldError
from interlock.workers.loop import StageLoop
from interlock.workers.protocol import Report
from interlock.workers.stage import LateModel, StageOutput, StageRequest
from interlock.workers.torch_stage.device import Cpu
from interlock.workers.torch_stage.stage import POLL_S, TorchStage
from tests.workers.torch.churn import churn
from tests.workers.torch.models import Count, Held, Lagging


def opened(stage: TorchStage, request_id: str, **params: Any) -> None:
    stage.open(StageRequest(request_id, 1, params))


def counted(**args: Any) -> TorchStage:
    return TorchStage(Count(**args), Cpu())


def told(outputs: Iterable[StageOutput]) -> dict[str, list[str]]:
    """Gather what was said, by request: texts, ``.`` for finished, reasons for failed."""
    found: dict[str, list[str]] = {}
    for output in outputs:
        text = {"finished": ".", "failed": output.reason}.get(output.kind, output.payload.decode())
        found.setdefault(output.request_id, []).append(text)
    return found


@pytest.fixture
def model() -> Count:
    return Count()


@pytest.fixture
def stage(model: Count) -> TorchStage:
    return TorchStage(model, Cpu())


def test_it_is_a_model_whose_clean_ups_may_be_late(stage: TorchStage) -> None:
    assert isinstance(stage, LateModel)


def test_requests_join_and_leave_between_steps(stage: TorchStage, model: Count) -> None:
    opened(stage, "a")
    stage.step(0)
    opened(stage, "b", add=10)
    assert told(stage.step(0)) == {"a": ["2"], "b": ["10"]}
    stage.close("a")
    opened(stage, "c", add=100, steps=2)
    assert told(stage.step(0)) == {"b": ["20"], "c": ["100"]}
    assert told(stage.step(0)) == {"b": ["30"], "c": ["200", "."]}
    assert told(stage.step(0)) == {"b": ["40"]}
    assert [ids for _, ids in model.batches] == [["a"], ["a", "b"], ["b", "c"], ["b", "c"], ["b"]]


def test_a_slot_is_zeroed_for_the_next_one_whatever_was_left_in_it(stage: TorchStage, model: Count) -> None:
    opened(stage, "a", add=7, fault="poison")
    stage.step(0)
    stage.close("a")
    opened(stage, "b")
    assert told(stage.step(0)) == {"b": ["1"]}
    assert all(not tensor[0].isnan().any() for tensor in stage._pool.tensors.values())


def test_slots_and_bytes_are_countable_at_any_time(stage: TorchStage) -> None:
    each = 4 + 3 * 5 * 4
    for number in range(3):
        opened(stage, f"r{number}")
    assert stage.held() == {"slots": 3, "bytes": 3 * each, "free": 5, "leaving": 0, "flights": 0}
    stage.step(0)
    for number in range(3):
        stage.close(f"r{number}")
    assert stage.held() == {"slots": 0, "bytes": 0, "free": 8, "leaving": 0, "flights": 0}


def test_the_pool_is_allocated_once_and_a_full_one_refuses() -> None:
    stage = counted(capacity=2)
    before = {name: tensor.data_ptr() for name, tensor in stage._pool.tensors.items()}
    for number in range(20):
        opened(stage, f"r{number}")
        opened(stage, f"s{number}")
        with pytest.raises(LimitReached, match="slots = 2"):
            opened(stage, "one more")
        stage.step(0)
        stage.close(f"r{number}")
        stage.close(f"s{number}")
    assert before == {name: tensor.data_ptr() for name, tensor in stage._pool.tensors.items()}


def test_what_open_raises_leaves_no_slot(stage: TorchStage) -> None:
    with pytest.raises(RuntimeError, match="open was told to raise"):
        opened(stage, "a", fault="open")
    assert stage.held()["slots"] == 0


def test_more_rows_than_a_step_takes_have_their_turns() -> None:
    model = Count(max_batch=2)
    stage = TorchStage(model, Cpu())
    for name in "abcde":
        opened(stage, name, steps=2)
    made = [output for _ in range(5) for output in stage.step(0)]
    assert [ids for _, ids in model.batches] == [["a", "b"], ["c", "d"], ["e", "a"], ["b", "c"], ["d", "e"]]
    assert told(made) == {name: ["1", "2", "."] for name in "abcde"}
    assert stage.due(0) is None


def test_lanes_are_never_mixed_and_take_turns(stage: TorchStage, model: Count) -> None:
    opened(stage, "a", lane="x")
    opened(stage, "b", lane="y")
    opened(stage, "c", lane="x")
    for _ in range(4):
        stage.step(0)
    assert model.batches == [("x", ["a", "c"]), ("y", ["b"]), ("x", ["a", "c"]), ("y", ["b"])]


# ------------------------------------------------------------------------------------------------------- faults

FAULTS = {
    "raise": "RuntimeError: step was told to raise",
    "blame": "Blamed: told to",
    "nan": "sum is not a finite number",
    "garbage": "ValueError: step made (3,) float32 as 'sum'; declared is (1,) float32",
    "fill": "RuntimeError: fill was told to raise",
    "take": "RuntimeError: take was told to raise",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("place", range(5))
def test_sr_11_a_fault_fails_its_request_and_no_other(fault: str, place: int) -> None:
    stage = counted()
    for number in range(5):
        opened(stage, f"r{number}", **({"fault": fault, "at": 2} if number == place else {}))
    stage.step(0)
    made = told(stage.step(0))
    assert made.pop(f"r{place}") == [FAULTS[fault]]
    assert made == {f"r{number}": ["2"] for number in range(5) if number != place}
    stage.close(f"r{place}")
    assert told(stage.step(0)) == {f"r{number}": ["3"] for number in range(5) if number != place}
    assert stage.held()["slots"] == 4


def test_out_of_memory_fails_who_asks_for_too_much_and_no_other(stage: TorchStage) -> None:
    opened(stage, "a")
    opened(stage, "b", fault="memory")
    opened(stage, "c")
    made = told(stage.step(0))
    assert "memory" in made["b"][0]
    assert (made["a"], made["c"]) == (["1"], ["1"])


def test_two_to_blame_in_one_step_are_both_found(stage: TorchStage) -> None:
    for number in range(8):
        opened(stage, f"r{number}", **({"fault": "raise"} if number in (1, 6) else {}))
    made = told(stage.step(0))
    assert {name for name, texts in made.items() if texts != ["1"]} == {"r1", "r6"}


def test_a_step_that_cannot_be_repeated_fails_all_of_its_rows_and_no_other_lane() -> None:
    stage = counted(repeatable=False)
    opened(stage, "a", fault="raise")
    opened(stage, "b")
    opened(stage, "c", lane="other")
    assert told(stage.step(0)) == {"a": [FAULTS["raise"]], "b": [FAULTS["raise"]]}
    stage.close("a")
    stage.close("b")
    assert told(stage.step(0)) == {"c": ["1"]}


def test_a_model_that_only_raises_is_not_asked_for_ever() -> None:
    model = Count(capacity=64, max_batch=64)
    stage = TorchStage(model, Cpu())
    for number in range(64):
        opened(stage, f"r{number}", fault="raise")
    made = told(stage.step(0))
    assert len(made) == 64
    assert len(model.batches) <= 40


# ------------------------------------------------------------------------------------ a device that works by itself


@pytest.fixture
def device() -> Held:
    return Held()


@pytest.fixture
def far(model: Count, device: Held) -> TorchStage:
    return TorchStage(model, device)


def test_the_next_step_is_launched_while_one_is_on_its_way(far: TorchStage, device: Held) -> None:
    opened(far, "a")
    assert far.step(0) == []
    assert far.due(0) == 0.0
    assert far.step(0) == []
    assert far.due(0) == POLL_S
    assert far.step(0) == []
    assert far.held()["flights"] == 2
    device.gates[0].open = True
    assert told(far.step(0)) == {"a": ["1"]}
    assert far.steps == 3
    for gate in device.gates:
        gate.open = True
    assert told(far.step(0)) == {"a": ["2", "3"]}


def test_outputs_come_in_the_order_of_their_steps(far: TorchStage, device: Held) -> None:
    opened(far, "a")
    far.step(0)
    far.step(0)
    device.gates[1].open = True
    assert far.step(0) == []
    device.gates[0].open = True
    assert told(far.step(0)) == {"a": ["1", "2"]}


def test_promise_4_a_slot_is_back_only_when_every_step_that_had_it_has_landed(
    far: TorchStage, model: Count, device: Held
) -> None:
    opened(far, "a")
    far.step(0)
    far.step(0)
    far.close("a")
    far.close("a")
    assert far.is_leaving("a")
    assert dict(far.held()) | {"bytes": 0} == {"slots": 1, "bytes": 0, "free": 7, "leaving": 1, "flights": 2}
    device.gates[0].open = True
    assert far.step(0) == []
    assert far.is_leaving("a")
    assert model.closed == []
    device.gates[1].open = True
    assert far.step(0) == []
    assert not far.is_leaving("a")
    assert model.closed == ["a"]
    assert far.held()["slots"] == 0
    assert far.steps == 2


def test_an_abort_takes_effect_at_the_next_step_boundary(far: TorchStage, model: Count, device: Held) -> None:
    opened(far, "a")
    opened(far, "b")
    far.step(0)
    far.close("a")
    far.step(0)
    assert [ids for _, ids in model.batches] == [["a", "b"], ["b"]]
    device.gates[0].open = device.gates[1].open = True
    assert told(far.step(0)) == {"b": ["1", "2"]}


def test_a_slot_that_leaves_is_not_lent(device: Held) -> None:
    stage = TorchStage(Count(capacity=1), device)
    opened(stage, "a")
    stage.step(0)
    stage.close("a")
    with pytest.raises(LimitReached):
        opened(stage, "b")
    device.gates[0].open = True
    stage.step(0)
    opened(stage, "b")
    assert stage.held()["slots"] == 1


def test_a_device_that_breaks_fails_all_and_then_the_worker(far: TorchStage, device: Held) -> None:
    opened(far, "a")
    far.step(0)
    device.gates[0].error = "an illegal memory access was encountered"
    with pytest.raises(WorldError, match="the device is broken: RuntimeError: an illegal memory access"):
        far.step(0)
    with pytest.raises(WorldError, match="the device is broken"):
        far.due(0)
    with pytest.raises(WorldError, match="the device is broken"):
        opened(far, "b")


def test_a_step_that_raised_holds_nothing_back(far: TorchStage, device: Held) -> None:
    opened(far, "a", fault="raise")
    assert told(far.step(0)) == {"a": [FAULTS["raise"]]}
    far.close("a")
    device.gates[0].open = True
    assert far.step(0) == []
    assert far.held() == {"slots": 0, "bytes": 0, "free": 8, "leaving": 0, "flights": 0}


@pytest.mark.parametrize("seed", range(5))
def test_1000_opens_and_aborts_at_random_moments_give_every_slot_back_within_two_steps(seed: int) -> None:
    model, chance, said = Count(capacity=16, max_batch=5), random.Random(seed), list[Report]()
    stage = TorchStage(model, Lagging(seed))
    loop = StageLoop(stage, said.append, beat_s=3600.0)
    assert churn(loop, stage, said, chance, opens=1_000, capacity=16) <= 2
    assert stage.held() == {"slots": 0, "bytes": 0, "free": 16, "leaving": 0, "flights": 0}
    assert len(model.closed) == len(set(model.closed)) == 1_000
