"""Words for why something ended: those that are ours to say, and what a caller may say instead.

A client reads the reason in a terminal event and in a close frame, and acts on it: it waits after one word and comes
back after another. So nobody may put one of our words into our mouth.
"""

from __future__ import annotations

from interlock.errors import ClientError

MAX_REASON_BYTES = 123
"""What a close frame holds (RFC 6455, section 5.5)."""

OWN = frozenset(
    {
        "cancelled",
        "disconnect_grace_expired",
        "engine_error",
        "idle_ttl_expired",
        "internal_error",
        "journal_overflow",
        "open_abandoned",
        "output_backpressure",
        "prepare_timeout",
        "request_cleanup",
        "server_shutdown",
        "session_closed",
        "session_replaced",
        "worker_gone",
        "worker_lost",
    }
)
"""What the lease, the host, a stage or a takeover says."""


def callers_reason(reason: str) -> str:
    """Return ``reason`` if a caller may give it. Raises :class:`ClientError` (``bad_event``) that says why not."""
    if reason in OWN:
        raise ClientError(
            "bad_event", f"reason = {reason!r} is one that the server gives; give another", param="reason"
        )
    if not reason or not reason.isprintable():  # a lone surrogate is not printable either
        raise ClientError("bad_event", "a reason is printable text, and not empty", param="reason")
    if len(reason.encode()) > MAX_REASON_BYTES:
        raise ClientError("bad_event", f"a reason has at most {MAX_REASON_BYTES} bytes; shorten it", param="reason")
    return reason
