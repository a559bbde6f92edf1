"""Codes on the wire: what class an error is of, whether to try again, and why a socket closes.

docs/wire.md lists all codes. One that is in no set here is ours to answer for: it counts as a server error.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Literal, TypeAlias

ErrorClass: TypeAlias = Literal["invalid_request_error", "server_error", "rate_limit_error"]

INVALID_REQUEST: Final = frozenset(
    [
        "bad_event",
        "bad_audio",
        "config_timeout",
        "invalid_json",
        "event_too_large",
        "unknown_event",
        "session_closed",
        "invalid_session_config",
        "response_already_active",
        "response_not_active",
        "response_create_without_input",
        "input_audio_buffer_empty",
        "item_not_found",
        "playback_item_not_found",
        "playback_ack_too_late",
        "unsupported_audio_format",
        "unsupported_turn_detection",
        "invalid_function_call_output",
        "invalid_event_ack",
        "unsupported_session_resume",
        "invalid_resume_token",
        "session_resume_expired",
        "session_resume_conflict",
    ]
)
"""The client asked for what it may not have."""

RATE_LIMIT: Final = frozenset(
    ["rate_limit_exceeded", "resource_exhausted", "input_backpressure", "output_backpressure"]
)
"""A declared limit is full. The same request may succeed later."""


def class_of(code: str) -> ErrorClass:
    """Return the class of an error code: ``type`` in an error event."""
    if code in INVALID_REQUEST:
        return "invalid_request_error"
    return "rate_limit_error" if code in RATE_LIMIT else "server_error"


def is_retryable(code: str) -> bool:
    """Say whether the same request may succeed later, where nobody said so at the place of the error."""
    return code in RATE_LIMIT


class CloseCode(IntEnum):
    """Why a socket closes (RFC 6455, section 7.4, and ours from 4000)."""

    ENDED = 1000
    """The session has ended; its terminal event went before."""
    POLICY = 1008
    TOO_BIG = 1009
    """A message over the limit."""
    INTERNAL = 1011
    SHUTDOWN = 1012
    """The server restarts; a client may resume elsewhere, or start anew."""
    FULL = 1013
    """No room now; try again later."""
    REPLACED = 4001
    """Another transport claimed the session. Final: whoever reads this does not reconnect."""
    BAD_HANDSHAKE = 4400
    """The first message opened no session."""


MAX_REASON: Final = 123
"""Bytes of a close reason (RFC 6455, section 5.5)."""


def fit(reason: str) -> str:
    """Cut a close reason to what a close frame holds, between two characters."""
    return reason.encode()[:MAX_REASON].decode(errors="ignore")
