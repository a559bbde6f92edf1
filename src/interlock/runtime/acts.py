"""What performing means, effect by effect. Each act is synchronous: an order to a writer, a link, a timer, a waiter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from interlock.errors import ClientError, WorldError
from interlock.machine import ArmTimer, DisarmTimer, Message, StartWork
from interlock.runtime import items
from interlock.runtime.beside import Input, Offer, Speech, Timer
from interlock.runtime.ports import StageLink
from interlock.session.books import InputReleased, TurnReleased
from interlock.session.request import Request
from interlock.tables import messages as m
from interlock.wire.dialect import PRIVATE
from interlock.wire.lifecycle import LifecycleFacts, lifecycle

if TYPE_CHECKING:
    from interlock.runtime.driver import Driver

Answer: TypeAlias = m.ConfirmClaim | m.FailClaim | m.RefuseResume | m.ConfirmPrepared


TAKING = frozenset({"SUBMITTING", "RUNNING"})
"""States of a request whose worker takes input."""


SILENCE: Final = Speech("")
"""What lies beside an event that belongs to no response."""


class ClaimLost(WorldError):
    """The transport, or the session, was lost before the claim was complete. ``str`` is the reason."""


class ResyncRequired(ClientError):
    """The client's position is no longer retained. Its token is unspent: it may go on from ``resumable_from``."""

    def __init__(self, session_id: str, resumable_from: int, head: int) -> None:
        super().__init__("journal_gap", f"history up to {resumable_from} is gone; resume from there", retryable=True)
        self.session_id = session_id
        self.resumable_from = resumable_from
        self.head = head


def append_event(driver: Driver, effect: m.AppendEvent) -> None:
    """Encode and keep the frames of a lifecycle event, under the numbers that decide gave it."""
    speech = driver.speeches.get(effect.response_id)
    if effect.kind == "response.done" and speech is not None:
        items.end_message(driver, effect.response_id, speech, effect.status)
    frames = lifecycle(effect.kind, effect.seq, facts_of(driver, effect))
    driver.hold(effect.seq, 0, driver.host.now(), frames, private=effect.kind in PRIVATE)
    if effect.kind == "response.done":
        driver.speeches.pop(effect.response_id, None)


def facts_of(driver: Driver, effect: m.AppendEvent) -> LifecycleFacts:
    """Return what the frames of a lifecycle event say."""
    speech = driver.speeches.get(effect.response_id, SILENCE)
    is_error, name = effect.kind == "error", f"item_{effect.response_id}"
    return LifecycleFacts(
        session_id=driver.session_id,
        epoch=driver.value.epoch,
        response_id=effect.response_id,
        status="" if is_error else effect.status,
        reason=effect.reason,
        code=effect.status if is_error else "",
        transcript="".join(speech.said)[: speech.cut],
        item=next((item for item in speech.output if item["id"] == name), None) if _is_begun(driver, effect) else None,
        previous=speech.previous,
        index=speech.index or 0,
        written=speech.written,
        in_band=speech.in_band,
        output=tuple(speech.output),
        metadata=speech.metadata,
        usage=speech.usage,
    )


def _is_begun(driver: Driver, effect: m.AppendEvent) -> bool:
    """Whether the books have taken numbers for the end of the response's message."""
    return any(entry.closing for entry in driver.value.playback if entry.response_id == effect.response_id)


def void_output(driver: Driver, effect: m.VoidOutput) -> tuple[list[int], list[int]]:
    """Free the deltas of older epochs; return the numbers of those that no transport was handed, and of the others."""
    handed = driver.value.journal.handed
    freed = driver.frames.void(effect.through)
    unsent = [seq for seq in freed if seq > handed]
    items.take_back_calls(driver, frozenset(unsent))
    return unsent, [seq for seq in freed if seq <= handed]


def answer_claim(driver: Driver, effect: Answer) -> None:
    """Settle the call of ``open`` or ``resume`` that waits."""
    if isinstance(effect, m.ConfirmPrepared):
        for claim in list(driver.offers):
            offer = driver.offers.pop(claim)
            offer.waiter.fail(offer.refusal or ClientError(effect.code))
        return
    if effect.claim in driver.offers:
        _answer(driver, driver.offers.pop(effect.claim), effect)


def _answer(driver: Driver, offer: Offer, effect: m.ConfirmClaim | m.FailClaim | m.RefuseResume) -> None:
    match effect:
        case m.ConfirmClaim():
            offer.waiter.succeed(effect.generation)
        case m.FailClaim():
            offer.waiter.fail(ClaimLost(effect.reason))
        case m.RefuseResume(code="journal_gap"):
            offer.waiter.fail(ResyncRequired(driver.session_id, effect.resumable_from, effect.head))
        case m.RefuseResume():
            offer.waiter.fail(ClientError(effect.code))


def start_delivery(driver: Driver) -> None:
    """Start the writer of the claim that was just accepted."""
    data = driver.value.cells["attachment", None].data
    offer = driver.offers[data.claim]
    generation: int = data.generation
    delivery = offer.writer(driver, offer, generation)
    driver.deliveries[generation] = delivery
    delivery.start()


def submit(driver: Driver, request_id: str) -> None:
    """Hand a request over to its worker, and the input that has waited for it."""
    data, link = _request(driver, request_id), _link(driver, request_id)
    if link is None:
        driver.dispatch(_missing(driver, data))
        return
    speech = driver.speeches.get(data.response_id)
    config, text = (speech.config, speech.turn) if speech is not None else (driver.config, "")
    params = driver.host.pipeline.params(data.stage, config, text)
    link.submit(request_id, data.epoch, params)
    waiting = driver.inputs.setdefault(request_id, Input())
    for payload in waiting.waiting:
        if payload is None:
            link.finish(request_id)
        else:
            link.append(request_id, bytes(payload))
    waiting.waiting.clear()


def abort(driver: Driver, request_id: str) -> None:
    """Ask the worker to clean a request up; a worker that is gone has cleaned it up."""
    link = _link(driver, request_id)
    if link is None:
        driver.dispatch(_missing(driver, _request(driver, request_id)))
    else:
        link.abort((request_id,))


def append_audio(driver: Driver, request_id: str, pcm: bytes) -> None:
    """Hand over audio that has its room in the books; a request that was refused inside the call gives it back."""
    if driver.value.state("request", request_id):
        driver.inputs.setdefault(request_id, Input()).queued_bytes += len(pcm)
        append_input(driver, request_id, pcm)
    else:
        driver.dispatch(InputReleased(len(pcm)))


def append_input(driver: Driver, request_id: str, payload: bytes) -> None:
    """Hand input to a request, now or when it has a worker; one that is released has no use for it."""
    _hand(driver, request_id, payload)


def finish_input(driver: Driver, request_id: str) -> None:
    """Tell a request that its input, or its turn, is whole: after what was appended, and as late as that."""
    _hand(driver, request_id, None)


def _hand(driver: Driver, request_id: str, payload: bytes | None) -> None:
    state = driver.value.state("request", request_id)
    link = _link(driver, request_id) if state in TAKING else None
    if state == "RESERVED":
        driver.inputs.setdefault(request_id, Input()).wait(payload)
    elif link is not None and payload is None:
        link.finish(request_id)
    elif link is not None and payload is not None:
        link.append(request_id, payload)


def forget_request(driver: Driver, request_id: str) -> None:
    """Give back what lay beside a request that is released: its audio and its turns."""
    driver.host.forget(request_id)
    lose_turns(driver, request_id)
    held = driver.inputs.pop(request_id, None)
    if held is not None and held.queued_bytes:
        driver.dispatch(InputReleased(held.queued_bytes))
    if held is not None and held.turns:
        driver.dispatch(TurnReleased(held.turns))


def lose_turns(driver: Driver, request_id: str) -> None:
    """A request hears nothing more: the client is told of each turn that was committed, once (I12)."""
    held = driver.inputs.get(request_id)
    if held is None:
        return
    lost = max(held.turns - held.told, int(held.awaits))  # the turn that awaits may be one that was committed by hand
    held.told, held.awaits = held.turns, False
    if lost:
        driver.wanted = None if driver.is_heard_out else driver.wanted
        driver.dispatch(m.TurnsLost(lost, "the turn was lost before it was heard: commit it again"))


def arm(driver: Driver, effect: ArmTimer) -> None:
    """Arm a state's timer. Its ``after`` is seconds, or names a setting."""
    after = effect.after if isinstance(effect.after, float) else getattr(driver.settings, str(effect.after))
    driver.host.deadlines.arm(timer_of(driver, effect), after)


def timer_of(driver: Driver, effect: ArmTimer | DisarmTimer) -> Timer:
    """Return the key of a state's timer among all of the host's."""
    return Timer(driver.session_id, effect.target, effect.instance, effect.event)


def failures(driver: Driver, effect: Message, error: Exception) -> tuple[Message, ...]:
    """Return the events that say that performing ``effect`` has failed."""
    if isinstance(effect, StartWork) and effect.target == "request":
        data = _request(driver, str(effect.instance))
        kind = m.RequestFailed if effect.work == "Serve" else m.AbortFailed
        return (kind(data.request_id, data.incarnation, type(error).__name__),)
    return (m.EndRequested("internal_error"),)


def _missing(driver: Driver, data: Request) -> Message:
    """Return what it means that a request's worker has no link: it is gone, or may come to be."""
    if driver.host.is_gone(data.stage, data.incarnation):
        return m.RequestGone(data.request_id, data.incarnation, "worker_gone")
    return m.RequestLost(data.request_id, data.incarnation, "worker_lost")


def _request(driver: Driver, request_id: str) -> Request:
    data: Any = driver.value.cells["request", request_id].data
    assert isinstance(data, Request)
    return data


def _link(driver: Driver, request_id: str) -> StageLink | None:
    data = _request(driver, request_id)
    link = driver.host.fleet.link(data.stage)
    return link if link is not None and link.incarnation == data.incarnation else None
