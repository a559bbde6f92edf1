"""The recorder: every event that a session took, with the facts that its guards read, and what it did.

:mod:`interlock.observe.record` has the lines, :mod:`interlock.observe.files` the files, docs/replay.md the format, and
``interlock replay`` the proof that a trace is what the tables say.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import trio

from interlock.machine import Message
from interlock.observe.files import Files
from interlock.observe.record import Scribe
from interlock.session.decide import COMPOSITION, Decision
from interlock.session.value import Value

log = logging.getLogger("interlock")


class Trace:
    """Keeps the last ``keep`` lines in memory, and writes all of them to ``folder`` if there is one.

    A file is rotated at ``file_bytes``, compressed; ``files`` of them are kept, the oldest goes. The records of each
    session are numbered, and the first of each session in a file comes after its whole value: so a missing one shows,
    and each file can be replayed without the ones before it.
    """

    def __init__(
        self, folder: Path | None = None, *, keep: int = 10_000, file_bytes: int = 64 * 1024 * 1024, files: int = 4
    ) -> None:
        self.lines: deque[bytes] = deque(maxlen=keep)
        self._files = Files(folder, file_bytes, files) if folder is not None else None
        self._scribe = Scribe(COMPOSITION)
        self._numbers: dict[str, int] = {}
        self._until_anew = keep

    @property
    def records(self) -> list[dict[str, Any]]:
        """What happened, as plain data: one record for each event and each void that is still in memory."""
        return [record for record in map(msgspec.json.decode, self.lines) if "value" not in record]

    def decided(self, at: float, before: Value, event: Message, decision: Decision) -> None:
        """Record what an event did."""
        self._keep(self._scribe.decided(self._next(at, before), at, before, event, decision))

    def refused(self, at: float, before: Value, event: Message, code: str) -> None:
        """Record what was asked for and refused."""
        self._keep(self._scribe.refused(self._next(at, before), at, before, event, code))

    def voided(self, at: float, session_id: str, through: int, unsent: Sequence[int], sent: Sequence[int]) -> None:
        """Record which frames an interrupt freed. Follows the interrupt, and goes into the same file."""
        if unsent or sent:
            n = self._numbers[session_id] = self._numbers.get(session_id, 0) + 1
            self._keep(self._scribe.voided(n, at, session_id, through, unsent, sent))

    async def run(self, every_s: float = 0.2) -> None:
        """Write out what is buffered, again and again, so that a trace can be read while it grows."""
        while True:
            await trio.sleep(every_s)
            self.flush()

    def close(self) -> None:
        """Finish the file; a later record begins another."""
        self._to_files(Files.finish)

    def flush(self) -> None:
        """Write out what is buffered."""
        self._to_files(Files.flush)

    def _next(self, at: float, before: Value) -> int:
        """Return the number of a session's next record; its value goes first where it has none yet."""
        if self._until_anew <= 0 if self._files is None else self._files.is_due:
            self._begin()
        number = self._numbers.get(before.session_id)
        if number is None:
            self._keep(self._scribe.begun(at, before))
            number = 0
        self._numbers[before.session_id] = number + 1
        return number + 1

    def _begin(self) -> None:
        """Begin a file, or in memory what corresponds to one: numbers are not kept for ever."""
        self._numbers.clear()
        self._until_anew = self.lines.maxlen or 0
        self._to_files(Files.rotate)

    def _keep(self, line: bytes) -> None:
        self.lines.append(line)
        self._until_anew -= 1
        self._to_files(Files.write, line)

    def _to_files(self, what: Callable[..., None], *line: bytes) -> None:
        """Do something to the files. A disk that takes no more ends them, and nothing else."""
        if self._files is not None:
            try:
                what(self._files, *line)
            except OSError as error:
                log.error("the trace cannot be written: %s; nothing more goes to its files", error)
                self._files.abandon()
                self._files = None
