"""The loop that owns a stage's model: synchronous, single, and the only one that ever touches it.

Orders are taken one by one, in the order in which they were sent, and each is answered before the next one is taken;
so nothing overtakes anything. Between batches of orders the model is stepped whenever it is due. The rules:

* An id lives from its ``Submit`` to its end. What comes for an id that does not live is dropped, never re-created
  (SR-05 in docs/faults.md); an ``Abort`` alone is answered for every id, because "nothing is held" is true of one that
  is unknown.
* ``Finished``, ``Aborted`` and ``Refused`` are said after ``model.close`` has returned and nothing of the request is in
  a device's hands any more (:class:`interlock.workers.stage.LateModel`), so they are true: nothing is held. Until then
  the id counts against the capacity. When ``close`` raises, the id stays known, and can be aborted again.
* What a model raises is the failure of the request that it was called for. What ``step`` raises is the failure of every
  request, unless the exception has a ``request_id``: then only of that one. The loop goes on, and the model with it.
* A model that raises with no request left to blame is broken: the loop ends with :class:`interlock.errors.WorldError`,
  and the worker with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias, TypeVar

from interlock.errors import WorldError
from interlock.runtime import perform
from interlock.runtime.ports import Aborted, AbortRefused, Accepted, Consumed, Failed, Finished, Output, Refused
from interlock.workers.leaving import Leaving
from interlock.workers.protocol import Abort, Append, Beat, Finish, Order, Ready, Report, Stop, Submit
from interlock.workers.stage import StageModel, StageOutput, StageRequest

T = TypeVar("T")

Read: TypeAlias = Callable[[float], Order | None]
"""Returns the next order, waiting for it so many seconds at most; ``None`` when none came."""

ORDERS_PER_TURN = 256
"""Orders taken between two steps: a flood of input must not starve the model, nor the model its aborts."""

REMEMBERED = 4096
"""Ended ids that a second ``Submit`` cannot bring back."""

log = logging.getLogger(__name__)


class Fault(NamedTuple):
    """What a model raised: in words, and the request to blame, if it said so."""

    reason: str
    request_id: str | None


class StageLoop:
    """Drives one model. ``send`` is called in order and must not raise for what the world does.

    Every method is called from one thread, except :meth:`end`. ``now`` is seconds of one monotonic clock.
    """

    def __init__(self, model: StageModel, send: Callable[[Report], None], beat_s: float = 1.0) -> None:
        self._model = model
        self._send = send
        self._beat_s = beat_s
        self._next_beat = 0.0
        self._epochs: dict[str, int] = {}
        self._failed: set[str] = set()
        self._leaving = Leaving(model)
        self._ended: dict[str, None] = {}
        self._stopping = False
        self._over = False

    @property
    def goes_on(self) -> bool:
        """Whether there is more to do: always, until a stop, and then until everything is given back."""
        return not self._over and not (self._stopping and not self._epochs)

    @property
    def known(self) -> frozenset[str]:
        """The ids that may hold something."""
        return frozenset(self._epochs)

    def end(self) -> None:
        """Be over at the next turn, whatever is open. Safe to call from any thread."""
        self._over = True

    def begin(self, now: float) -> None:
        """Say that the model is loaded."""
        self._next_beat = now + self._beat_s
        self._send(Ready())

    def take(self, order: Order, now: float) -> None:
        """Do what one order says, and answer it."""
        match order:
            case Submit():
                self._submit(order)
            case Append(request_id, payload):
                self._append(request_id, payload, now)
            case Finish(request_id):
                if self._is_live(request_id):
                    self._blame(attempt(lambda: self._model.finish(request_id, now)), request_id)
            case Abort(request_ids):
                for request_id in request_ids:
                    self._abort(request_id)
            case Stop():
                self._stopping = True

    def advance(self, now: float) -> None:
        """Step the model if it is due, and give a sign of life if that is."""
        if self._due(now) <= 0:
            made = attempt(lambda: tuple(self._model.step(now)))
            if isinstance(made, Fault):
                self._step_failed(made)
            else:
                for output in made:
                    self._output(output)
        for request_id, reports in self._leaving.gone():
            self._forget(request_id, *reports)
        if now >= self._next_beat:
            self._next_beat = now + self._beat_s
            self._send(Beat(self._held()))

    def rest(self, now: float) -> float:
        """How many seconds may pass before :meth:`advance` is needed, if no order comes."""
        return max(0.0, min(self._due(now), self._next_beat - now))

    def release(self) -> None:
        """Close whatever is still open, at the loop's end; what cannot be closed goes down with the worker."""
        for request_id in list(self._epochs):
            self._close(request_id)

    def _held(self) -> dict[str, int]:
        held = attempt(lambda: dict(self._model.held()))
        return {} if isinstance(held, Fault) else held

    def _due(self, now: float) -> float:
        due = attempt(lambda: self._model.due(now))
        if isinstance(due, Fault):
            self._step_failed(due)
            return self._beat_s
        return float("inf") if due is None else due

    def _submit(self, order: Submit) -> None:
        request_id = order.request_id
        if request_id in self._epochs:
            self._fail(request_id, Fault("the id was submitted twice", request_id))
        elif refusal := self._refusal(request_id):
            self._send(Refused(request_id, refusal))
        else:
            self._open(StageRequest(request_id, order.epoch, order.params))

    def _refusal(self, request_id: str) -> str:
        if self._stopping:
            return "the worker is stopping"
        if request_id in self._ended:
            return "the id has ended"
        if len(self._epochs) >= self._model.capacity:
            return f"the stage is full: {self._model.capacity} requests"
        return ""

    def _open(self, request: StageRequest) -> None:
        self._epochs[request.request_id] = request.epoch
        fault = attempt(lambda: self._model.open(request))
        if not isinstance(fault, Fault):
            self._send(Accepted(request.request_id))
        elif unclosed := self._close(request.request_id, Refused(request.request_id, fault.reason)):
            self._failed.add(request.request_id)
            self._send(Failed(request.request_id, f"{fault.reason}; {unclosed.reason}"))

    def _append(self, request_id: str, payload: bytes, now: float) -> None:
        self._send(Consumed(request_id, len(payload)))
        if self._is_live(request_id):
            self._blame(attempt(lambda: self._model.append(request_id, payload, now)), request_id)

    def _abort(self, request_id: str) -> None:
        if fault := self._close(request_id, Aborted(request_id)):
            self._send(AbortRefused(request_id, fault.reason))

    def _output(self, output: StageOutput) -> None:
        request_id, kind = output.request_id, output.kind
        if not self._is_live(request_id):
            return
        if kind == "failed":
            self._fail(request_id, Fault(output.reason or "the model gave no reason", request_id))
        elif kind != "finished":
            epoch = self._epochs[request_id]
            self._send(Output(request_id, epoch, kind, output.payload, output.at_ms, output.reason))
        elif fault := self._close(request_id, Finished(request_id)):
            self._failed.add(request_id)
            self._send(Failed(request_id, fault.reason))

    def _step_failed(self, fault: Fault) -> None:
        live = [request_id for request_id in self._epochs if self._is_live(request_id)]
        if not live:
            raise WorldError(f"the model fails with no request to blame: {fault.reason}")
        for request_id in [fault.request_id] if fault.request_id in live else live:
            self._fail(request_id, fault)

    def _blame(self, outcome: Fault | None, request_id: str) -> None:
        if outcome is not None:
            self._fail(request_id, outcome)

    def _fail(self, request_id: str, fault: Fault) -> None:
        """Report the failure once, and free what can be freed: one request's failure must not hold another's slot."""
        if self._is_live(request_id):
            self._failed.add(request_id)
            self._send(Failed(request_id, fault.reason))
            self._close(request_id)

    def _close(self, request_id: str, *reports: Report) -> Fault | None:
        """Free a request, and say ``reports`` as soon as nothing of it is held: at once, or when the device is done."""
        fault = attempt(lambda: self._model.close(request_id))
        if fault is None and not self._leaving.keeps(request_id, reports):
            self._forget(request_id, *reports)
        return fault

    def _forget(self, request_id: str, *reports: Report) -> None:
        if self._epochs.pop(request_id, None) is not None:
            self._failed.discard(request_id)
            self._remember(request_id)
        for report in reports:
            self._send(report)

    def _remember(self, request_id: str) -> None:
        self._ended[request_id] = None
        if len(self._ended) > REMEMBERED:
            del self._ended[next(iter(self._ended))]

    def _is_live(self, request_id: str) -> bool:
        return request_id in self._epochs and request_id not in self._failed and request_id not in self._leaving


def serve(loop: StageLoop, read: Read, clock: Callable[[], float]) -> None:
    """Run ``loop`` to its end, over whatever ``read`` takes orders from."""
    loop.begin(clock())
    try:
        while loop.goes_on:
            for order in _arrived(read, loop.rest(clock())):
                loop.take(order, clock())
            loop.advance(clock())
    finally:
        loop.release()


def _arrived(read: Read, wait_s: float) -> Iterator[Order]:
    for _ in range(ORDERS_PER_TURN):
        order = read(wait_s)
        if order is None:
            return
        yield order
        wait_s = 0.0


def attempt(call: Callable[[], T]) -> T | Fault:
    """Call a model, or what makes one: whatever it raises becomes a fault, of one request if it says which."""
    return perform.attempt(call, _fault_of)


def _fault_of(error: Exception) -> Fault:
    log.error("the model raised", exc_info=error)
    request_id = getattr(error, "request_id", None)
    return Fault(f"{type(error).__name__}: {error}", request_id if isinstance(request_id, str) else None)
