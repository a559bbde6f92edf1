"""How long the event loop did not run: what a model that computes in the wrong place, or a slow guard, costs everybody.

Measured by a task that wants to wake every few milliseconds, and notes by how much it was late. So it counts whatever
kept the loop away: a step that is too long, a foreign thread that holds the interpreter, a machine that is too busy.
"""

from __future__ import annotations

from typing import Final

import trio

TICK_S: Final = 0.005


class Stall:
    """The longest stall since the last reading."""

    def __init__(self) -> None:
        self._longest_s = 0.0
        self._due = float("inf")

    async def run(self) -> None:
        """Watch the loop for ever."""
        while True:
            self._due = trio.current_time() + TICK_S
            await trio.sleep_until(self._due)
            self._note()

    def take_ms(self) -> float:
        """Return the longest stall in milliseconds, one that is only just over included, and begin anew."""
        self._note()
        longest_s, self._longest_s = self._longest_s, 0.0
        return round(longest_s * 1000, 1)

    def _note(self) -> None:
        self._longest_s = max(self._longest_s, trio.current_time() - self._due)
