"""What an answering stage makes, and where it goes: to the journal, to the next stage, into the conversation.

An output of an older epoch, or of a request that is over, is stale: it is counted, and nothing else happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from interlock.runtime import acts, items
from interlock.runtime.beside import Speech
from interlock.runtime.ports import FunctionCall, Output, Usage
from interlock.session.books import Produced, ProducedTogether, is_fresh
from interlock.tables import messages as m
from interlock.wire import outbound

if TYPE_CHECKING:
    from interlock.runtime.driver import Driver

T = TypeVar("T")

PCM_BYTES_PER_MS = 48
"""PCM16 mono at 24 kHz: 24 samples of 2 bytes."""


def answer(driver: Driver, incarnation: int, output: Output) -> None:
    """Take one output of a response that is no audio."""
    cell = driver.value.cells.get(("request", output.request_id))
    response_id: str = cell.data.response_id if cell is not None else ""
    speech = driver.speeches.get(response_id)
    event = Produced(output.request_id, incarnation, output.epoch)
    if speech is None or not is_fresh(driver.value, event):
        driver.produce(event)  # counted, and refused
        return
    driver.touch()
    match output.kind:
        case "text":
            _text(driver, event, response_id, speech, output.payload)
        case "function_call":
            _call(driver, event, response_id, speech, output.payload)
        case "spoken":
            items.mark(speech, output.payload.decode("utf-8", "replace"), output.at_ms)
        case _:
            _usage(driver, event, speech, output.payload)


def answer_in_audio(driver: Driver, incarnation: int, first: Output, run: Sequence[Any]) -> None:
    """Take frames of one epoch: a comparison, a number and an entry for each. Only the first one begins a message."""
    cell = driver.value.cells.get(("request", first.request_id))
    response_id: str = cell.data.response_id if cell is not None else ""
    speech = driver.speeches.get(response_id)
    payloads = [first.payload] if len(run) == 1 else [output.payload for output in run]
    ms = sum(map(len, payloads)) / PCM_BYTES_PER_MS
    event = _produced(first.request_id, incarnation, first.epoch, ms, len(payloads))
    if speech is not None and speech.index is None and is_fresh(driver.value, event):
        items.begin_message(driver, response_id, speech)
    if seq := driver.produce(event):
        index = (speech.index or 0) if speech is not None else 0
        driver.hold(seq, event.epoch, driver.touch(), outbound.audio_deltas(seq, response_id, payloads, index=index))


@lru_cache(maxsize=1024)
def _produced(request_id: str, incarnation: int, epoch: int, ms: float, count: int) -> Produced:
    """Return the event; it is the same for each frame of a reply, and making one costs more than finding it."""
    one = Produced(request_id, incarnation, epoch, ms)
    return one if count == 1 else ProducedTogether(request_id, incarnation, epoch, ms, count)


def _text(driver: Driver, event: Produced, response_id: str, speech: Speech, payload: bytes) -> None:
    """A piece of the reply: the client reads it, and the next stage speaks it."""
    if not _has_room(driver, event, speech, len(payload)):
        return
    if speech.index is None:
        items.begin_message(driver, response_id, speech)
    if not (seq := driver.produce(event)):
        return
    chain = driver.value.cells["response", response_id].data.chain  # before the frame is held: that may end the session
    text = payload.decode("utf-8", "replace")
    speech.said.append(text)
    encode = outbound.text_delta if speech.written else outbound.transcript_delta
    driver.hold(seq, event.epoch, driver.host.now(), (encode(seq, response_id, text, index=speech.index or 0),))
    for after in chain[chain.index(event.request_id) + 1 :][:1]:
        acts.append_input(driver, after, payload)


def _call(driver: Driver, event: Produced, response_id: str, speech: Speech, payload: bytes) -> None:
    """A function call: passed through to the client, whole."""
    call = _read(driver, event, payload, FunctionCall)
    if call is None or not _has_room(driver, event, speech, len(payload)):
        return
    if len(speech.calls) >= driver.settings.max_calls:
        _fail(driver, event, "max_calls")
        return
    items.make_call(driver, response_id, event.epoch, speech, call)


def _usage(driver: Driver, event: Produced, speech: Speech, payload: bytes) -> None:
    used = _read(driver, event, payload, Usage)
    for name in ("input_tokens", "output_tokens") if used is not None else ():
        speech.usage[name] = speech.usage.get(name, 0) + max(getattr(used, name), 0)


def _read(driver: Driver, event: Produced, payload: bytes, kind: type[T]) -> T | None:
    """Decode what a stage made; what is none of it fails the request, and nobody else's."""
    try:
        return msgspec.json.decode(payload, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        log, text = driver.host.log, "%s: %s made no %s: %s"
        log.error(text, driver.session_id, event.request_id, kind.__name__, error, extra=driver.about)
        _fail(driver, event, "bad_stage_output")
        return None


def _has_room(driver: Driver, event: Produced, speech: Speech, size: int) -> bool:
    """Count what a response says. One that says too much fails: whoever reads it has to keep it as well."""
    speech.said_bytes += size
    if speech.said_bytes <= driver.settings.speech_bytes:
        return True
    _fail(driver, event, "speech_bytes")
    return False


def _fail(driver: Driver, event: Produced, reason: str) -> None:
    driver.dispatch(m.RequestFailed(event.request_id, event.incarnation, reason))
