"""The state of a play as one comparable value, without what differs from run to run: ids and tokens become numbers.

The sweep takes two cases for one only if this agrees before every step; see :mod:`interlock.proof.likeness`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from interlock.runtime.writer import TrioWriter

if TYPE_CHECKING:
    from interlock.proof.play import Play
    from interlock.runtime.delivery import Delivery
    from interlock.runtime.driver import Driver
    from interlock.session.value import Value
    from interlock.transport.memory import MemoryTransport
    from interlock.workers.scripted import ScriptedFleet, ScriptedStage


class Eye:
    """Looks at one play, before every step. A value that has not moved since is not looked at again."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._tokens: dict[bytes, int] = {}
        self._values: dict[str, tuple[Value, Hashable]] = {}

    def __call__(self) -> int:
        """Return a number that two states share if they are equal."""
        play, host = self._play, self._play.host
        due = sorted(
            (timer.target, timer.event.__name__, host.deadlines.due_at(timer)) for timer in host.deadlines.armed
        )
        drivers = tuple(self._driver(driver) for driver in host.drivers.values())
        around = (host.is_stopping, host.stale, len(host.tombs), len(host.defects), tuple(due))
        transports = tuple(_transport(transport) for transport in play.transports)
        return hash((drivers, around, transports, _fleet(play.fleet), play.witness.decisions))

    def _driver(self, driver: Driver) -> Hashable:
        frames = tuple((frame.seq, frame.epoch) for frame in driver.frames.live)
        offers = tuple((claim, offer.waiter.is_settled) for claim, offer in driver.offers.items())
        deliveries = tuple(_delivery(delivery) for delivery in driver.deliveries.values())
        inputs = tuple((len(each.waiting), each.queued_bytes, each.turns, each.told) for each in driver.inputs.values())
        said = tuple(len(speech.said) for speech in driver.speeches.values())
        beside = (
            len(driver.conversation),
            driver.wanted is None,
            driver.active_at,
            driver.ended.is_set(),
            driver.preparation is None,
        )
        return self._value(driver.value), frames, offers, deliveries, inputs, said, beside

    def _value(self, value: Value) -> Hashable:
        known, told = self._values.get(value.session_id, (None, None))
        if known is not value:
            told = self._told(value)
            self._values[value.session_id] = value, told
        return told

    def _told(self, value: Value) -> Hashable:
        held = value.credential
        tokens = [self._tokens.setdefault(token or b"", len(self._tokens)) for token in (held.current, held.presented)]
        plain = value._replace(settings=None, credential=(*tokens, held.claim_head))  # type: ignore[arg-type]
        return repr(plain).replace(value.session_id.removeprefix("sess_"), "")


def _delivery(delivery: Delivery) -> Hashable:
    assert isinstance(delivery, TrioWriter)
    deadline = delivery.scope.deadline
    return delivery.generation, delivery.mode, delivery.reason, delivery.cursor, delivery.notices, deadline


def _transport(transport: MemoryTransport) -> Hashable:
    return len(transport.frames), transport.is_open, tuple(transport.closings), tuple(transport.aborts)


def _fleet(fleet: ScriptedFleet) -> Hashable:
    entries = tuple(when for when, _, _ in sorted(fleet._agenda._entries, key=lambda entry: entry[:2]))
    return tuple(_stage(stage) for stage in fleet.stages.values()), entries


def _stage(stage: ScriptedStage) -> Hashable:
    held = tuple((request.begun, request.heard, request.input_bytes) for request in stage.held.values())
    return stage.condition, stage.incarnation, stage.script.abort_failures, held
