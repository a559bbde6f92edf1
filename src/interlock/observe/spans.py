"""OpenTelemetry spans, where its API is installed and somebody has set a provider: sessions, claims, cancels, answers.

A span begins and ends with what the story tells, at the times that it tells. What never ends is ended with its session,
so that nothing is kept of a session that is over.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeAlias

import trio

from interlock.machine import Key
from interlock.observe.story import Kind, Listener, Told

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

BEGINS: Final[dict[Kind, str]] = {
    "opened": "interlock.session",
    "claimed": "interlock.claim",
    "cancel_began": "interlock.cancel",
    "response_began": "interlock.response",
}
ENDS: Final[dict[Kind, str]] = {
    "ended": "interlock.session",
    "claim_landed": "interlock.claim",
    "cancel_landed": "interlock.cancel",
    "response_ended": "interlock.response",
}

Open: TypeAlias = dict[tuple[str, Key], "Span"]


def spans_if_there() -> Listener | None:
    """Return a listener that makes spans, or ``None`` where OpenTelemetry's API is not installed."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return Spans(trace.get_tracer("interlock")).hear


class Spans:
    """The open spans of each session, all of them children of the session's own."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._open: dict[str, Open] = {}
        self._offset_ns = time.time_ns() - int(trio.current_time() * 1e9)

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def hear(self, told: Told) -> None:
        """Begin, end or mark what was told of."""
        if told.kind in BEGINS:
            self._begin(told, BEGINS[told.kind])
        elif told.kind in ENDS:
            self._end(told, ENDS[told.kind])
        elif (root := self._open.get(told.session, {}).get(("interlock.session", None))) is not None:
            root.add_event(told.kind, _attributes(told), timestamp=self._ns(told))
        if told.kind == "ended":
            for span in self._open.pop(told.session, {}).values():
                span.end(self._ns(told))

    def _begin(self, told: Told, name: str) -> None:
        from opentelemetry.trace import set_span_in_context

        spans = self._open.setdefault(told.session, {})
        root = spans.get(("interlock.session", None))
        context = set_span_in_context(root) if root is not None else None
        span = self._tracer.start_span(name, context, attributes=_attributes(told), start_time=self._ns(told))
        self._end(told, name)  # one of the same name that nobody has ended gives way
        spans[name, told.subject] = span

    def _end(self, told: Told, name: str) -> None:
        span = self._open.get(told.session, {}).pop((name, told.subject), None)
        if span is not None:
            span.set_attributes(_attributes(told))
            span.end(self._ns(told))

    def _ns(self, told: Told) -> int:
        return self._offset_ns + int(told.at * 1e9)


def _attributes(told: Told) -> dict[str, str | int]:
    given: dict[str, str | int] = {
        "interlock.session": told.session,
        "interlock.generation": told.generation,
        "interlock.claim": told.claim,
    }
    words = {"interlock.why": told.why, "interlock.way": told.way, "interlock.subject": told.subject}
    return given | {name: word for name, word in words.items() if word not in ("", None)}
