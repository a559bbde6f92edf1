"""What a stage's reply means to its session: control goes to the machines, output to the journal or the next stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.runtime import acts
from interlock.runtime.ports import Aborted, AbortRefused, Accepted, Consumed, Failed, Finished, Output, Refused, Reply
from interlock.session.books import InputReleased, Produced, TurnReleased
from interlock.tables import messages as m
from interlock.wire import outbound
from interlock.wire.lifecycle import LifecycleFacts
from interlock.wire.session_object import detection

if TYPE_CHECKING:
    from interlock.runtime.driver import Driver

PCM_BYTES_PER_MS = 48
"""PCM16 mono at 24 kHz: 24 samples of 2 bytes."""


def hear(driver: Driver, incarnation: int, reply: Reply) -> None:
    """Take one reply of one worker."""
    match reply:
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
        case "audio":
            _audio(driver, incarnation, output)
        case "text":
            _text(driver, incarnation, output)
        case _ if not _listens(driver, incarnation, output.request_id):
            driver.host.count_stale()
        case "speech_started":
            driver.tell("input_audio_buffer.speech_started", _facts(driver, output))
            _interrupt(driver)
        case "speech_stopped":
            driver.tell("input_audio_buffer.speech_stopped", _facts(driver, output))
            driver.tell("input_audio_buffer.committed", _facts(driver, output))
        case "transcript":
            _transcript(driver, output)
        case kind:
            log = driver.host.log
            text = "%s: %s made an unknown output %r"
            log.warning(text, driver.session_id, output.request_id, kind, extra=driver.about)


def _audio(driver: Driver, incarnation: int, output: Output) -> None:
    ms = len(output.payload) / PCM_BYTES_PER_MS
    seq = driver.produce(Produced(output.request_id, incarnation, output.epoch, ms))
    if seq:
        driver.touch()
        data = driver.value.cells["request", output.request_id].data
        driver.hold(seq, output.epoch, outbound.audio_delta(seq, data.response_id, output.payload))


def _text(driver: Driver, incarnation: int, output: Output) -> None:
    """A piece of the reply: the client reads it, and the next stage speaks it."""
    seq = driver.produce(Produced(output.request_id, incarnation, output.epoch))
    if not seq:
        return
    response_id = driver.value.cells["request", output.request_id].data.response_id
    chain = driver.value.cells["response", response_id].data.chain
    text = output.payload.decode("utf-8", "replace")
    driver.speeches[response_id].said.append(text)
    driver.hold(seq, output.epoch, outbound.transcript_delta(seq, response_id, text))
    for after in chain[chain.index(output.request_id) + 1 :][:1]:
        acts.append_input(driver, after, output.payload)


def _transcript(driver: Driver, output: Output) -> None:
    """A whole turn was heard: the client reads it, and an answer is due."""
    unasked = _release_turn(driver, output)
    text = output.payload.decode("utf-8", "replace")
    if not text and output.reason == "commit":
        driver.tell(
            "error", LifecycleFacts(code="input_audio_buffer_empty", message="nothing was said since the last turn")
        )
        driver.wanted = None if driver.is_heard_out else driver.wanted
        return
    driver.tell("conversation.item.input_audio_transcription.completed", _facts(driver, output, text))
    driver.last_turn = text
    asked = driver.wanted is not None and driver.is_heard_out
    if asked or unasked:
        driver.wanted = None if asked else driver.wanted
        driver.host.answer(driver, text)


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


def _facts(driver: Driver, output: Output, transcript: str = "") -> LifecycleFacts:
    item_id = f"item_{output.request_id}.{driver.value.answered + 1}"
    return LifecycleFacts(
        session_id=driver.session_id,
        epoch=driver.value.epoch,
        at_ms=output.at_ms,
        item_id=item_id,
        transcript=transcript,
    )
