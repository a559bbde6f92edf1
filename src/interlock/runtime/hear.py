"""What a stage's reply means to its session: control goes to the machines, what is heard to the conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from interlock.runtime import items
from interlock.runtime.answering import NO_WISH
from interlock.runtime.beside import Input
from interlock.runtime.output import answer, answer_in_audio
from interlock.runtime.ports import Aborted, AbortRefused, Accepted, Consumed, Failed, Finished, Output, Refused, Reply
from interlock.session.books import InputReleased, TurnReleased
from interlock.tables import messages as m
from interlock.wire.lifecycle import LifecycleFacts
from interlock.wire.session_object import detection

if TYPE_CHECKING:
    from interlock.runtime.driver import Driver

TOGETHER = 16
"""Deltas that are sequenced by one event, at most; a limit on what comes before anybody else has a turn."""


def runs(replies: tuple[Reply, ...]) -> Iterator[tuple[Reply, ...]]:
    """Cut what a stage said in one breath into what is heard at once: audio of one epoch, or any other reply alone."""
    start, running = 0, None
    for end, reply in enumerate(replies):
        epoch = reply.epoch if isinstance(reply, Output) and reply.kind == "audio" else None
        if end and (epoch is None or epoch != running or end - start == TOGETHER):
            yield replies[start:end]
            start = end
        running = epoch
    yield replies[start:]


def hear(driver: Driver, incarnation: int, run: tuple[Reply, ...]) -> None:
    """Take one reply of one worker, or a run of audio."""
    reply = run[0]
    match reply:
        case Output(kind="audio"):
            answer_in_audio(driver, incarnation, reply, run)
        case Output():
            _output(driver, incarnation, reply)
        case Consumed():
            _consumed(driver, reply)
        case Accepted():
            driver.dispatch(m.SubmitAccepted(reply.request_id, incarnation))
        case Refused():
            driver.dispatch(m.SubmitRefused(reply.request_id, incarnation, reply.reason))
        case Finished():
            driver.dispatch(m.RequestFinished(reply.request_id, incarnation))
        case Failed():
            driver.dispatch(m.RequestFailed(reply.request_id, incarnation, reply.reason))
        case Aborted():
            driver.dispatch(m.AbortConfirmed(reply.request_id, incarnation))
        case AbortRefused():
            driver.dispatch(m.AbortFailed(reply.request_id, incarnation, reply.reason))


def _output(driver: Driver, incarnation: int, output: Output) -> None:
    match output.kind:
        case "text" | "spoken" | "function_call" | "usage":
            answer(driver, incarnation, output)
        case _ if not _listens(driver, incarnation, output.request_id):
            driver.host.count_stale()
        case "speech_started":
            facts = _facts(driver, output)
            driver.tell("input_audio_buffer.speech_started", facts)
            _interrupt(driver)
        case "speech_stopped":
            driver.tell("input_audio_buffer.speech_stopped", _facts(driver, output))
            items.commit_turn(driver, _held(driver, output))
        case "transcript":
            _transcript(driver, output)
        case kind:
            log = driver.host.log
            text = "%s: %s made an unknown output %r"
            log.warning(text, driver.session_id, output.request_id, kind, extra=driver.about)


def _transcript(driver: Driver, output: Output) -> None:
    """A whole turn was heard: the client reads it, and an answer may be due."""
    unasked, held = _release_turn(driver, output), _held(driver, output)
    text = output.payload.decode("utf-8", "replace")
    if not text and output.reason == "commit" and not held.awaits:
        driver.tell(
            "error", LifecycleFacts(code="input_audio_buffer_empty", message="nothing was said since the last turn")
        )
        driver.wanted = None if driver.is_heard_out else driver.wanted
        return
    if not held.awaits:
        items.commit_turn(driver, held)
    items.understand_turn(driver, held, text, output.at_ms)
    wish = driver.wanted if driver.is_heard_out else None
    if wish is not None or unasked:
        driver.wanted = driver.wanted if wish is None else None
        driver.host.answer(driver, wish or NO_WISH)


def _interrupt(driver: Driver) -> None:
    """The user speaks: whatever is being said is stale, unless the client has it otherwise."""
    driver.touch()
    if not _takes_turns(driver, "interrupt_response"):
        return
    if any(name == "response" for name, _ in driver.value.cells):
        driver.dispatch(m.InterruptRequested("turn_detected"))


def _listens(driver: Driver, incarnation: int, request_id: str) -> bool:
    cell = driver.value.cells.get(("request", request_id))
    return (
        cell is not None
        and cell.state == "RUNNING"
        and cell.data.incarnation == incarnation
        and not cell.data.response_id
        and driver.value.state("session") == "OPEN"
    )


def _consumed(driver: Driver, reply: Consumed) -> None:
    held = driver.inputs.get(reply.request_id)
    size = max(min(reply.size, held.queued_bytes), 0) if held is not None else 0
    if held is not None and size:
        held.queued_bytes -= size
        driver.dispatch(InputReleased(size))


def _release_turn(driver: Driver, output: Output) -> bool:
    """Give back the room of a committed turn; say whether the turn is answered without being asked."""
    held = driver.inputs.get(output.request_id)
    if held is None or output.reason != "commit" or not held.turns:
        return _takes_turns(driver, "create_response")
    held.turns -= 1
    driver.dispatch(TurnReleased())
    return held.unasked.popleft()


def _takes_turns(driver: Driver, what: str) -> bool:
    """Return what the session's turn detection does by itself: ``create_response`` or ``interrupt_response``."""
    how = detection(driver.config)
    return how is not None and bool(how.get(what))


def _held(driver: Driver, output: Output) -> Input:
    return driver.inputs.setdefault(output.request_id, Input())


def _facts(driver: Driver, output: Output) -> LifecycleFacts:
    return LifecycleFacts(at_ms=output.at_ms, item_id=items.begin_turn(driver, _held(driver, output)))
