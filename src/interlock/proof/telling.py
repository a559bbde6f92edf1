"""How far a long command is, on stderr: one line that moves on a terminal, and elsewhere a line now and then."""

from __future__ import annotations

import sys
from collections.abc import Callable

PATIENCE_S = 2.0
"""What is over sooner is not talked about."""

EVERY_S, EVERY_LINE_S = 0.5, 10.0


class Telling:
    """Says how far a command is, once it has taken a while. Whoever works calls :meth:`say` as often as it likes."""

    def __init__(self) -> None:
        self._next_s = PATIENCE_S
        self._said = False

    def say(self, seconds: float, line: Callable[[], str]) -> None:
        """Write ``line()`` if the time has come; ``seconds`` is how long the work has taken so far."""
        if seconds < self._next_s:
            return
        self._next_s = seconds + (EVERY_S if sys.stderr.isatty() else EVERY_LINE_S)
        self._said = True
        sys.stderr.write(f"\r\x1b[K{line()}" if sys.stderr.isatty() else f"{line()}\n")
        sys.stderr.flush()

    def done(self) -> None:
        """Leave the line."""
        if self._said and sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
