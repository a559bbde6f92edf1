"""A batch model as a stage: continuous batching, state in slots, and clean-ups that are true when they are confirmed.

Requests join and leave between steps. A step takes rows of one lane, those that have waited longest first; its inputs
go up and its outputs come down without the loop waiting for either, and where the device allows, the next step is
prepared while one runs. The rules:

* A closed request is in no later step. Its slot is lent again, and its clean-up confirmed, only when every step that it
  was in has landed: a device that still writes into a slot has not let go of it.
* What a step raises fails the request that it names. Without a name, a repeatable model is asked again with half of the
  rows, until the one to blame stands alone; a model that is not fails all rows of that step. Nobody else notices.
* A row whose output is not finite fails, and so does one whose own code raises.
* What a device raises later than the call (a sticky error of CUDA) leaves nothing to trust: every request fails, and
  then the worker ends, to be started anew.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from functools import partial

from interlock.errors import WorldError
from interlock.workers.loop import Fault, attempt
from interlock.workers.stage import StageOutput, StageRequest
from interlock.workers.torch_stage.batch import BatchModel, Row
from interlock.workers.torch_stage.device import Device, find_device
from interlock.workers.torch_stage.flight import Flight, Staging
from interlock.workers.torch_stage.missing import torch
from interlock.workers.torch_stage.pool import SlotPool

POLL_S = 0.0002
"""How soon a step that is on its way is looked at again, when there is nothing else to do."""

REPEATS = 24
"""Calls that one failed step may cost while the row to blame is looked for; then all that are left are."""


class TorchStage:
    """Implements :class:`interlock.workers.stage.LateModel` over one :class:`BatchModel`."""

    def __init__(self, model: BatchModel, device: Device | None = None) -> None:
        """Allocate the pool and the buffers; after this, only the model's own step allocates."""
        self._model = model
        self._device = device or find_device()
        self._pool = SlotPool(model.capacity, model.state, self._device)
        self._rows: OrderedDict[str, Row] = OrderedDict()
        self._leaving: set[str] = set()
        self._flights: deque[Flight] = deque()
        self._stagings = deque(Staging(model, self._device) for _ in range(self._device.depth))
        self._device.settle()
        self._lane = ""
        self._broken = ""
        self.steps = 0
        """Launched so far."""

    @property
    def capacity(self) -> int:
        """How many requests may be open at once, those that leave included."""
        return self._model.capacity

    def open(self, request: StageRequest) -> None:
        """Take a slot, and begin."""
        if self._broken:
            raise WorldError(self._broken)
        self._pool.lend(request.request_id)
        try:
            self._rows[request.request_id] = self._model.open(request)
        except BaseException:
            self._pool.take_back(request.request_id)
            raise

    def append(self, request_id: str, payload: bytes, now: float) -> None:
        """Hand input to the request's row."""
        if row := self._rows.get(request_id):
            row.append(payload)

    def finish(self, request_id: str, now: float) -> None:
        """Tell the request's row."""
        if row := self._rows.get(request_id):
            row.finish()

    def step(self, now: float) -> Sequence[StageOutput]:
        """Land what has come down, launch what is ready; on a CPU, that lands as well."""
        made = self._land()
        if self._stagings and (lane := self._next_lane()) is not None:
            made += self._launch(lane)
            made += self._land()
        return made

    def due(self, now: float) -> float | None:
        """At once when a step has come down, or one can be launched; else soon, while one is on its way."""
        if self._broken:
            raise WorldError(self._broken)
        if self._is_down() or (self._stagings and any(row.wants is not None for row in self._rows.values())):
            return 0.0
        return POLL_S if self._flights else None

    def close(self, request_id: str) -> None:
        """Take the request out of every later step; its slot is back when the last one that has it has landed."""
        if self._rows.pop(request_id, None) is not None:
            self._leaving.add(request_id)
            self._let_go()

    def is_leaving(self, request_id: str) -> bool:
        """Whether a step with this request has not landed yet."""
        return request_id in self._leaving

    def held(self) -> Mapping[str, int]:
        """Slots lent and their bytes with what waits on the host; slots free, leaving, and steps on their way."""
        return {
            "slots": self._pool.lent,
            "bytes": self._pool.held_bytes + sum(row.held_bytes for row in self._rows.values()),
            "free": self._pool.capacity - self._pool.lent,
            "leaving": len(self._leaving),
            "flights": len(self._flights),
        }

    # ------------------------------------------------------------------------------------------------------- launch

    def _next_lane(self) -> str | None:
        """Return the lane of a row that is ready; where there are two, not the one of the last step."""
        wanted = (row.wants for row in self._rows.values())
        lanes = dict.fromkeys(lane for lane in wanted if lane is not None)
        return next((lane for lane in lanes if lane != self._lane), next(iter(lanes), None))

    def _launch(self, lane: str) -> list[StageOutput]:
        self._lane = lane
        ready = [request_id for request_id, row in self._rows.items() if row.wants == lane]
        staging, made = self._stagings.popleft(), list[StageOutput]()
        ids: list[str] = []
        for request_id in ready[: self._model.max_batch]:
            cells = staging.cells(len(ids), self._pool.slot(request_id))
            if isinstance(fault := attempt(partial(self._rows[request_id].fill, cells)), Fault):
                made.append(failed(request_id, fault))
                continue
            self._rows.move_to_end(request_id)
            ids.append(request_id)
        flight = Flight(staging, lane, ids, [self._rows[each] for each in ids])
        self._flights.append(flight)
        return made + self._fly(flight)

    def _fly(self, flight: Flight) -> list[StageOutput]:
        """Enqueue a step, in parts where it fails, and mark where it is over."""
        made: list[StageOutput] = []
        with self._device.stream(), torch.inference_mode():
            flight.staging.send_up()
            parts, calls = [(0, len(flight.ids))], 0
            while parts:
                start, end = parts.pop()
                calls += 1
                if isinstance(fault := attempt(partial(self._run, flight, start, end)), Fault):
                    blamed, rest = self._blame(flight.ids[start:end], fault, is_last=calls >= REPEATS)
                    made += [failed(each, fault) for each in blamed]
                    flight.failed.update(blamed)
                    parts += [(start + a, start + b) for a, b in rest]
            flight.mark = self._device.mark()
        return made

    def _run(self, flight: Flight, start: int, end: int) -> None:
        if start < end:
            self.steps += 1
            batch = flight.staging.batch(flight.lane, flight.rows[start:end], start, self._pool.tensors)
            flight.staging.bring_down(self._model.step(batch), start, end - start)

    def _blame(
        self, ids: Sequence[str], fault: Fault, *, is_last: bool
    ) -> tuple[Sequence[str], Sequence[tuple[int, int]]]:
        """Return who is to blame for a step that raised, and which rows are to be tried again."""
        self._device.tidy()
        if not self._model.repeatable or is_last or len(ids) == 1:
            return ids, ()
        if (blamed := fault.request_id) is not None and blamed in ids:
            at = ids.index(blamed)
            return [blamed], [(a, b) for a, b in ((at + 1, len(ids)), (0, at)) if a < b]
        half = len(ids) // 2
        return (), [(half, len(ids)), (0, half)]

    # --------------------------------------------------------------------------------------------------------- land

    def _land(self) -> list[StageOutput]:
        made: list[StageOutput] = []
        while self._is_down():
            made += self._landed(self._flights.popleft())
        return made

    def _is_down(self) -> bool:
        """Whether the step that was launched first is over. Raises :class:`WorldError` for a device that is broken."""
        mark = self._flights[0].mark if self._flights else None
        down = attempt(mark.query) if mark is not None else False
        if isinstance(down, Fault):
            self._broken = f"the device is broken: {down.reason}"
            raise WorldError(self._broken)
        return down

    def _landed(self, flight: Flight) -> list[StageOutput]:
        made: list[StageOutput] = []
        count = len(flight.ids)
        unsound = flight.staging.unsound(count) if count else {}
        for index, values in enumerate(flight.staging.values(count)):
            request_id, row = flight.ids[index], flight.rows[index]
            if self._rows.get(request_id) is not row or request_id in flight.failed:
                continue
            if index in unsound:
                made.append(StageOutput(request_id, "failed", reason=f"{unsound[index]} is not a finite number"))
                continue
            taken = attempt(partial(row.take, values))
            made += [failed(request_id, taken)] if isinstance(taken, Fault) else taken
        self._stagings.append(flight.staging)
        self._let_go()
        return made

    def _let_go(self) -> None:
        """Take back the slots of requests that leave and are in no step any more."""
        if not self._leaving:
            return
        aloft = {request_id for flight in self._flights for request_id in flight.ids}
        for request_id in self._leaving - aloft:
            self._leaving.discard(request_id)
            self._pool.take_back(request_id)
            self._model.close(request_id)


def failed(request_id: str, fault: Fault) -> StageOutput:
    """Say that a request has failed, and why."""
    return StageOutput(request_id, "failed", reason=fault.reason)
