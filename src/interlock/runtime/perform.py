"""Effects become actions here: one ``match``, synchronous, in order; and the one ``except Exception`` of the house.

An action that fails becomes the event that says so: a submit that raises is a failed request, an abort that raises a
failed abort. What has to wait (preparation, writing) is started in the host's nursery, each in a container that turns
its failure into an event as well; a failure of one session is never another's.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar, assert_never, cast

import trio

from interlock.errors import ClientError, Defect
from interlock.machine import ArmTimer, DisarmTimer, Message, StartWork, StopWork
from interlock.runtime import acts
from interlock.runtime.beside import Offer
from interlock.runtime.hear import hear, runs
from interlock.runtime.ports import Recorder, Reply
from interlock.runtime.silent import Silent
from interlock.session.credential import digest_of
from interlock.session.decide import Decision, decide
from interlock.session.value import Value
from interlock.tables import messages as m
from interlock.wire.lifecycle import LifecycleFacts

if TYPE_CHECKING:
    from interlock.runtime.driver import Driver
    from interlock.runtime.host import Host

log = logging.getLogger("interlock")

T = TypeVar("T")
F = TypeVar("F")

Failure: TypeAlias = Callable[[Exception], None]

Effect: TypeAlias = (
    m.AppendEvent
    | m.VoidOutput
    | m.AdvanceEpoch
    | m.RotateCredential
    | m.EvictTransport
    | m.DropTransport
    | m.FinishTransport
    | m.ConfirmClaim
    | m.FailClaim
    | m.RefuseResume
    | m.ConfirmPrepared
    | m.SeekWorker
    | m.FinishInput
    | m.ForgetRequest
    | StartWork
    | StopWork
    | ArmTimer
    | DisarmTimer
)
"""Everything that a session asks of the runtime. The match below is checked to cover it."""


def perform(driver: Driver, effect: Message) -> None:
    """Do what one effect says. Never raises, and never waits."""
    try:
        _perform(driver, cast(Effect, effect))
    except Exception as error:
        log.exception("%s: %s failed", driver.session_id, type(effect).__name__, extra=driver.about)
        for event in acts.failures(driver, effect, error):
            driver.dispatch(event)


async def contain(work: Callable[[], Awaitable[None]], failed: Failure) -> None:
    """Run a task whose failure is an event. A cancel passes through; groups are failures like any other."""
    try:
        await work()
    except Exception as error:
        failed(error)


def attempt(call: Callable[[], T], failed: Callable[[Exception], F]) -> T | F:
    """Call foreign code that waits for nothing; whatever it raises becomes a value, to be reported."""
    try:
        return call()
    except Exception as error:
        return failed(error)


def judge(value: Value, event: Message) -> Decision:
    """Decide. What fails in a guard or an assignment, and is no refusal, is a defect of ours: nothing has changed."""
    try:
        return decide(value, event)
    except (ClientError, Defect):
        raise
    except Exception as error:
        raise Defect(f"{type(event).__name__}: {error!r}") from error


def heed(driver: Driver, incarnation: int, replies: tuple[Reply, ...]) -> None:
    """Take a stage's replies. What is wrong with one concerns its own session (SR-11); a limit its client is told."""
    for run in runs(replies) if len(replies) > 1 else (replies,):
        _heed(driver, incarnation, run)


def _heed(driver: Driver, incarnation: int, run: tuple[Reply, ...]) -> None:
    try:
        hear(driver, incarnation, run)
    except ClientError as error:
        driver.tell("error", LifecycleFacts(code=error.code, message=str(error)))
    except Exception:
        log.exception("%s: a reply could not be taken", driver.session_id, extra=driver.about)
        driver.dispatch(m.EndRequested("internal_error"))


def record(host: Host, before: Value, event: Message, decision: Decision) -> None:
    """Let the recorder write what was decided, as :func:`note` does; each frame comes here."""
    try:
        host.record.decided(trio.current_time(), before, event, decision)
    except Exception:
        _give_up(host)


def note(host: Host, write: Callable[[Recorder], None]) -> None:
    """Let the recorder write. One that fails is not asked again: a trace is no reason to lose a session."""
    try:
        write(host.record)
    except Exception:
        _give_up(host)


def _give_up(host: Host) -> None:
    log.exception("the recorder has failed; nothing more is recorded")
    host.record = Silent()


async def prepare(driver: Driver, offer: Offer, scope: trio.CancelScope) -> None:
    """Let the pipeline prepare a session; the outcome is an event, unless the preparation was retired."""
    with scope:
        await trio.lowlevel.checkpoint_if_cancelled()
        outcome = await _outcome_of(driver, offer)
        if not scope.cancel_called:
            driver.dispatch(outcome)


async def _outcome_of(driver: Driver, offer: Offer) -> Message:
    try:
        with trio.move_on_after(driver.settings.prepare_s) as deadline:
            await driver.host.pipeline.prepare(driver.config)
    except ClientError as error:
        offer.refusal = error
        return m.PrepareFailed(error.code)
    except Exception:
        log.exception("%s: preparation failed", driver.session_id, extra=driver.about)
        return m.PrepareFailed("engine_error")
    if deadline.cancelled_caught:
        return m.PrepareFailed("prepare_timeout")
    return m.Prepared(offer.claim, digest_of(offer.token))


def _perform(driver: Driver, effect: Effect) -> None:
    match effect:
        case m.AppendEvent():
            acts.append_event(driver, effect)
        case m.VoidOutput():
            _void(driver, effect)
        case m.AdvanceEpoch() | m.RotateCredential():
            pass  # both are entries in the books, made by decide
        case m.EvictTransport():
            driver.deliveries[effect.generation].evict(effect.at_once)
        case m.DropTransport():
            driver.deliveries[effect.generation].drop(effect.reason)
        case m.FinishTransport():
            driver.deliveries[effect.generation].finish(effect.reason)
        case m.ConfirmClaim() | m.FailClaim() | m.RefuseResume() | m.ConfirmPrepared():
            acts.answer_claim(driver, effect)
        case m.SeekWorker():
            driver.host.seek_worker(driver, effect.request_id, effect.stage)
        case m.FinishInput():
            acts.finish_input(driver, effect.request_id)
        case m.ForgetRequest():
            acts.forget_request(driver, effect.request_id)
        case StartWork():
            _start(driver, effect)
        case StopWork():
            _stop(driver, effect)
        case ArmTimer():
            acts.arm(driver, effect)
        case DisarmTimer():
            driver.host.deadlines.disarm(acts.timer_of(driver, effect))
        case _:
            assert_never(effect)


def _void(driver: Driver, effect: m.VoidOutput) -> None:
    unsent, sent = acts.void_output(driver, effect)
    now, name = driver.host.now(), driver.session_id
    note(driver.host, lambda record: record.voided(now, name, effect.through, unsent, sent))


def _start(driver: Driver, effect: StartWork) -> None:
    match effect.work:
        case "Prepare":
            (offer,), scope = driver.offers.values(), trio.CancelScope()
            driver.preparation = scope
            driver.host.spawn(lambda: prepare(driver, offer, scope), lambda _: None)
        case "Deliver":
            acts.start_delivery(driver)
        case "Serve":
            acts.submit(driver, str(effect.instance))
        case "Clean":
            acts.abort(driver, str(effect.instance))
        case _:
            raise Defect(f"nobody starts {effect.work}")


def _stop(driver: Driver, effect: StopWork) -> None:
    """Retire work. A writer is retired by its own order, and a stage by the abort that follows."""
    if effect.work == "Prepare" and driver.preparation is not None:
        driver.preparation.cancel()
    elif effect.work == "Serve":
        acts.lose_turns(driver, str(effect.instance))
