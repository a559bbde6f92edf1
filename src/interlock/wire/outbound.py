"""From what happened to the bytes that the client reads: one function an event, each returns whole JSON text.

What belongs to one transport (credentials, errors about one message, heartbeats) has no sequence number here and is
never journaled. What is journaled takes its number, and its ``event_id`` follows from it, so that a replayed event
is the same bytes. Required fields are those of the GA realtime schema; ours are added at the top level, where every
known client tolerates them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from interlock.wire.codes import class_of, is_retryable

try:
    from pybase64 import b64encode  # with SIMD: a tenth of the time
except ImportError:
    from base64 import b64encode  # type: ignore[assignment]  # the same, for one argument

_ENCODER: Final = msgspec.json.Encoder()
encode: Final = _ENCODER.encode

MAX_MESSAGE: Final = 500
"""Characters of what an error says. It may quote what a client has sent, which may be as long as a frame."""


def event(kind: str, n: int | str, /, **fields: Any) -> bytes:
    """Encode one event; ``n`` makes its ``event_id``."""
    return encode({"type": kind, "event_id": f"event_{n}", **fields})


def session_created(session: Mapping[str, Any], generation: int, resume_token: str | None) -> bytes:
    """Encode the first event of a session, with the credentials of its first transport. ``session`` has ``id``."""
    return encode(_credentials("session.created", session, generation, resume_token))


def session_resumed(session: Mapping[str, Any], generation: int, resume_token: str) -> bytes:
    """Encode the first event on a transport that resumed, with its new credentials."""
    return encode(_credentials("session.resumed", session, generation, resume_token))


def session_replaced(session_id: str, generation: int) -> bytes:
    """Encode the last event on a transport that another one replaced; ``generation`` is the other one's."""
    return event("session.replaced", generation, session_id=session_id, attachment_generation=generation)


def heartbeat_ack(session_id: str, n: int | str) -> bytes:
    """Encode the answer to a heartbeat."""
    return event("session.heartbeat_ack", n, session_id=session_id)


def input_cleared(n: int | str) -> bytes:
    """Encode that the input audio which was not heard is forgotten."""
    return event("input_audio_buffer.cleared", n)


def output_cleared(response_id: str, n: int | str) -> bytes:
    """Encode that nothing more of this response is to be played; no id is whichever was being played."""
    return event("output_audio_buffer.cleared", n, **({"response_id": response_id} if response_id else {}))


def error(
    code: str,
    message: str,
    event_id: str | None = None,
    param: str | None = None,
    retryable: bool | None = None,
    *,
    n: int | str = 0,
) -> bytes:
    """Encode an error. ``event_id`` is the client's own id of the event that it is about; ``n`` makes ours."""
    return event("error", n, error=error_object(code, message, event_id, param, retryable))


def error_object(
    code: str, message: str, event_id: str | None = None, param: str | None = None, retryable: bool | None = None
) -> dict[str, Any]:
    """Return what an error event has under ``error``: the class follows from the code. A long message is cut."""
    again = is_retryable(code) if retryable is None else retryable
    optional = {"event_id": event_id, "param": param}
    known = {"type": class_of(code), "code": code, "message": message[:MAX_MESSAGE], "retryable": again}
    return known | {name: value for name, value in optional.items() if value is not None}


def resync_required(
    session_id: str, reason: str, resumable_from: int | None, head: int, *, n: int | str = "resync"
) -> bytes:
    """Encode that history was lost: a resume from ``resumable_from`` goes on; ``None`` says that none can."""
    where = {"resumable": resumable_from is not None, "resumable_from": resumable_from, "head": head}
    return event("session.resync_required", n, session_id=session_id, reason=reason, **where)


class _AudioDelta(msgspec.Struct, frozen=True, tag_field="type", tag="response.output_audio.delta"):
    """The form of it, with a place for the number, twice, and one for the base64 text: see :func:`audio_deltas`."""

    response_id: str
    item_id: str
    sample_rate_hz: int
    event_id: str = "event_%d"
    server_event_seq: msgspec.Raw = msgspec.Raw(b"%d")
    delta: msgspec.Raw = msgspec.Raw(b'"%b"')
    format: str = "pcm16"
    output_index: int = 0
    content_index: int = 0


class _TranscriptDelta(msgspec.Struct, frozen=True, tag_field="type", tag="response.output_audio_transcript.delta"):
    """A piece of what the response says, as text."""

    event_id: str
    server_event_seq: int
    response_id: str
    item_id: str
    delta: str
    output_index: int = 0
    content_index: int = 0


class _TextDelta(msgspec.Struct, frozen=True, tag_field="type", tag="response.output_text.delta"):
    """A piece of what the response writes."""

    event_id: str
    server_event_seq: int
    response_id: str
    item_id: str
    delta: str
    output_index: int = 0
    content_index: int = 0


def audio_delta(seq: int, response_id: str, pcm: bytes, rate: int = 24000, *, index: int = 0) -> bytes:
    """Encode a piece of output audio: PCM16 mono at ``rate``. ``index`` is the place of its item in the output."""
    return audio_deltas(seq, response_id, (pcm,), rate, index=index)[0]


def audio_deltas(
    seq: int, response_id: str, pieces: Iterable[bytes], rate: int = 24000, *, index: int = 0
) -> list[bytes]:
    """Encode pieces of output audio that are numbered from ``seq`` on."""
    form, found = _audio_form(response_id, rate, index), []
    for pcm in pieces:
        found.append(form % (seq, seq, b64encode(pcm)))
        seq += 1
    return found


@lru_cache(maxsize=1024)
def _audio_form(response_id: str, rate: int, index: int) -> bytes:
    """Encode what the deltas of a response have in common: all but 4 KB of base64 is the same in each of them."""
    name = response_id.replace("%", "%%")
    return encode(_AudioDelta(name, f"item_{name}", rate, output_index=index))


def transcript_delta(seq: int, response_id: str, text: str, *, index: int = 0) -> bytes:
    """Encode a piece of the text that the response speaks."""
    return encode(_TranscriptDelta(f"event_{seq}", seq, response_id, f"item_{response_id}", text, index))


def text_delta(seq: int, response_id: str, text: str, *, index: int = 0) -> bytes:
    """Encode a piece of a response that is text alone."""
    return encode(_TextDelta(f"event_{seq}", seq, response_id, f"item_{response_id}", text, index))


def _credentials(kind: str, session: Mapping[str, Any], generation: int, resume_token: str | None) -> dict[str, Any]:
    held = {"type": kind, "event_id": f"event_{kind}_{generation}", "session_id": session["id"]}
    held |= {"session": _session(session), "attachment_generation": generation}
    return held if resume_token is None else held | {"resume_token": resume_token}


def _session(session: Mapping[str, Any]) -> dict[str, Any]:
    return {**session, "object": "realtime.session", "type": "realtime"}
