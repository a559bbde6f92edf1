"""The trace: every event that a session took, with the facts that its guards read, and what it did.

JSON lines. The first line of each file names the format and the hash of every table; each other line is one event:
``at`` (seconds of the host's clock), ``session``, ``event`` (its type and fields), ``rows`` (machine, key, event, from,
to, number of the row in its table; no row means stale), ``effects``, and ``journal`` (head, handed, trimmed) after it.
Fields that a machine file calls secret are left out, and no frame, text or audio ever comes here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import IO, Any, cast

import msgspec
import trio

from interlock.machine import Message, Taken
from interlock.session.decide import COMPOSITION, Decision
from interlock.session.value import Value
from interlock.tables import SOURCES

FORMAT = 1
ROW_NUMBERS = {
    id(row): number for machine in COMPOSITION.machines.values() for number, row in enumerate(machine.table.rows)
}
_encode = msgspec.json.Encoder(enc_hook=lambda value: value.__name__ if isinstance(value, type) else repr(value)).encode


class Trace:
    """Keeps the last ``keep`` records in memory, and writes all of them to ``folder`` if there is one.

    A file is rotated at ``file_bytes``; ``files`` of them are kept, the oldest goes.
    """

    def __init__(
        self, folder: Path | None = None, *, keep: int = 10_000, file_bytes: int = 64 * 1024 * 1024, files: int = 4
    ) -> None:
        self.records: deque[dict[str, Any]] = deque(maxlen=keep)
        self._folder = folder
        self._file_bytes = file_bytes
        self._files = files
        self._file: IO[bytes] | None = None
        self._written = 0
        self._number = 0
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def decided(self, at: float, before: Value, event: Message, decision: Decision) -> None:
        """Record what an event did."""
        record = _head(at, before, event)
        if decision.taken:
            record["rows"] = [_row_of(taken) for taken in decision.taken]
        if decision.effects:
            record["effects"] = [_shown(effect) for effect in decision.effects]
        record["journal"] = tuple(decision.value.journal)
        if decision.value.stale != before.stale:
            record["stale"] = decision.value.stale - before.stale
        self._keep(record)

    def refused(self, at: float, before: Value, event: Message, code: str) -> None:
        """Record what was asked for and refused."""
        self._keep(_head(at, before, event) | {"refused": code})

    def voided(self, at: float, session_id: str, through: int, unsent: Sequence[int], sent: Sequence[int]) -> None:
        """Record which frames an interrupt freed."""
        if unsent or sent:
            void = {"through": through, "unsent": list(unsent), "sent": list(sent)}
            self._keep({"at": round(at, 6), "session": session_id, "voided": void})

    async def run(self, every_s: float = 0.2) -> None:
        """Write out what is buffered, again and again, so that a trace can be read while it grows."""
        while True:
            await trio.sleep(every_s)
            self.flush()

    def close(self) -> None:
        """Write out what is buffered, and let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def flush(self) -> None:
        """Write out what is buffered."""
        if self._file is not None:
            self._file.flush()

    def _keep(self, record: dict[str, Any]) -> None:
        self.records.append(record)
        if self._folder is None:
            return
        line = _encode(record) + b"\n"
        if self._file is None or self._written + len(line) > self._file_bytes:
            self._rotate(self._folder)
        assert self._file is not None
        self._file.write(line)
        self._written += len(line)

    def _rotate(self, folder: Path) -> None:
        self.close()
        self._number += 1
        (folder / f"trace-{self._number - self._files:04}.jsonl").unlink(missing_ok=True)
        self._file = (folder / f"trace-{self._number:04}.jsonl").open("wb")
        header = _encode({"trace": FORMAT, "tables": SOURCES}) + b"\n"
        self._file.write(header)
        self._written = len(header)


def _head(at: float, value: Value, event: Message) -> dict[str, Any]:
    return {"at": round(at, 6), "session": value.session_id, "event": _shown(event)}


def _shown(message: Message) -> dict[str, Any]:
    """Return a message as a mapping, without its secrets."""
    names = (field.name for field in fields(cast(Any, message)) if field.name not in message.secrets)
    shown = {name: getattr(message, name) for name in names}
    return {"type": type(message).__name__, **shown}


def _row_of(taken: Taken) -> dict[str, Any]:
    machine, key = taken.address
    row = {"machine": machine, "key": key, "event": _shown(taken.message), "from": taken.state, "to": taken.to}
    return row if taken.row is None else row | {"row": ROW_NUMBERS.get(id(taken.row))}
