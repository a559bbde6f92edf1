"""Log lines: one a fact, for people or as JSON, with the session, its generation and its claim in each.

It is the standard library's logging: the runtime and every library under it log there already, a line is written for
what happens to a session and never for a frame, and an embedding server keeps its own handlers. No line has a token,
a key or a target of a request.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any, Final, Literal, TextIO

from interlock.observe.story import Kind, Told

log: Final = logging.getLogger("interlock.session")

LEVELS: Final[dict[Kind, int]] = {
    "opened": logging.INFO,
    "claimed": logging.DEBUG,
    "claim_landed": logging.INFO,
    "detached": logging.INFO,
    "resume_refused": logging.WARNING,
    "cancel_began": logging.DEBUG,
    "cancel_landed": logging.DEBUG,
    "request_owed": logging.WARNING,
    "response_began": logging.DEBUG,
    "response_ended": logging.DEBUG,
    "quarantined": logging.WARNING,
    "ended": logging.INFO,
}
FIELDS: Final = ("session", "generation", "claim", "why", "way", "subject", "took_s")
"""What a line may have beside its message; the runtime's own lines have the first three."""


def write(told: Told) -> None:
    """Write one line: a listener of the story."""
    level = LEVELS[told.kind]
    if log.isEnabledFor(level):
        about = {name: value for name in FIELDS if (value := getattr(told, name)) not in ("", None, 0.0)}
        log.log(level, told.kind, extra=about)


class Text(logging.Formatter):
    """For people: time, level, logger, message, then what it is about and does not say itself."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Put ``name=value`` behind the message, before a traceback."""
        line, _, rest = super().format(record).partition("\n")
        told = {name: value for name, value in _about(record).items() if name != "session" or value not in line}
        about = "".join(f" {name}={value}" for name, value in told.items())
        return line + about + (f"\n{rest}" if rest else "")


class Json(logging.Formatter):
    """For machines: one object a line. ``at`` is UNIX time in seconds."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record, its traceback included."""
        line = {"at": round(record.created, 6), "level": record.levelname.lower(), "logger": record.name}
        line |= {"message": record.getMessage(), **_about(record)}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def _about(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name in FIELDS if (value := getattr(record, name, None)) is not None}


def begin_logging(form: Literal["text", "json"], level: str, stream: TextIO | None = None) -> None:
    """Send every log line of the process to ``stream`` (the error output), in one form."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Json() if form == "json" else Text())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
