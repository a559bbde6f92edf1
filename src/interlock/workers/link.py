"""One incarnation of one worker, as a host hands orders to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from interlock.workers.core import Carrier
from interlock.workers.protocol import Abort, Append, Finish, Order, Stop, Submit


class OrderLink:
    """Implements :class:`interlock.runtime.ports.StageLink` over whatever takes orders.

    Once the worker is lost, orders go nowhere and are not answered: what becomes of their requests is said once, for
    all of them, when the worker is gone.
    """

    def __init__(self, stage: str, incarnation: int, take: Callable[[Order], None]) -> None:
        self._stage = stage
        self._incarnation = incarnation
        self._take: Callable[[Order], None] | None = take

    @property
    def stage(self) -> str:
        """The stage's name in the pipeline."""
        return self._stage

    @property
    def incarnation(self) -> int:
        """Counts the stage's workers; only grows."""
        return self._incarnation

    def submit(self, request_id: str, epoch: int, params: Mapping[str, Any]) -> None:
        """Ask the stage to take a request. ``params`` may hold what MessagePack can."""
        self._send(Submit(request_id, epoch, dict(params)))

    def append(self, request_id: str, payload: bytes) -> None:
        """Hand over input."""
        self._send(Append(request_id, payload))

    def finish(self, request_id: str) -> None:
        """No more input follows; for a listening stage, the turn ends here."""
        self._send(Finish(request_id))

    def abort(self, request_ids: Sequence[str]) -> None:
        """Clean requests up, known to the stage or not."""
        self._send(Abort(list(request_ids)))

    def close(self) -> None:
        """Hand nothing over any more."""
        self._take = None

    def _send(self, order: Order) -> None:
        if self._take is not None:
            self._take(order)


class CarrierLink(OrderLink):
    """The link to a worker in a thread or a process."""

    def __init__(self, stage: str, incarnation: int, carrier: Carrier) -> None:
        super().__init__(stage, incarnation, carrier.send)
        self.carrier = carrier

    def stop(self) -> None:
        """Ask the worker to end when it has given everything back; until then, the link stays open."""
        self._send(Stop())
