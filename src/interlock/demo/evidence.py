"""What the demo has to show: what the clients received, and what the server wrote down about the same.

The trace is read as records, in their order. A number is *sequenced* by the record after which the journal's head has
reached it; it is *voided* when an interrupt freed its frame before any transport was handed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from interlock.demo.strike import Worker
from interlock.errors import WorldError
from interlock.observe.reading import records_of

Record = Mapping[str, Any]
Event = Mapping[str, Any]

DELTAS: Final = ("response.output_audio.delta", "response.output_audio_transcript.delta")


class Received(NamedTuple):
    """One event as a client read it. ``at`` is seconds of the demo, ``connection`` counts the client's."""

    at: float
    client: str
    connection: int
    event: Event

    @property
    def kind(self) -> str:
        """The event's type."""
        return str(self.event["type"])

    @property
    def seq(self) -> int:
        """Its sequence number; 0 for what belongs to one connection."""
        return int(self.event.get("server_event_seq", 0))

    @property
    def response_id(self) -> str:
        """The response that it is of."""
        return str(self.event.get("response_id", ""))


class Moved(NamedTuple):
    """A machine took a row. ``at`` is seconds of the server's clock; ``start`` is empty when it came to be."""

    at: float
    machine: str
    key: str
    cause: str
    start: str
    end: str


class Turn(NamedTuple):
    """One turn of the user and what came of it: the words said, the response, and what was recognised in its audio."""

    words: str
    response_id: str
    recognised: str = ""
    whole_ms: float = 0.0
    """How long the reply is when nobody interrupts it."""


@dataclass(frozen=True)
class Evidence:
    """Everything that the checks look at."""

    received: Sequence[Received]
    trace: Sequence[Record]
    turns: Sequence[Turn]
    cancelled: str
    """The response that was talked over."""
    torn: str
    """The one during which the connection was reset."""
    taken_over: str
    """The one during which the second client came."""
    handed_over: int
    """The position that the second client presented: what the first one received after it, it had given up."""
    duplicates: int = 0
    """Events that a client received again and dropped."""
    failed: str = ""
    """The one during which the worker that spoke was killed; empty when none was."""
    killed: Worker | None = None
    killed_at: float = 0.0
    """When, in seconds of the demo."""
    revived: Worker | None = None
    """The worker in its place."""
    parted: str = ""
    """How the superseded client's connection ended."""
    ended: Mapping[str, str] = field(default_factory=dict)
    """How each client's session ended, as the client says it."""
    books: Record = field(default_factory=dict)
    stopped: Record = field(default_factory=dict)
    stopped_code: int = 0
    longest_stall_ms: float = 0.0

    @cached_property
    def heard(self) -> Sequence[Received]:
        """What was received and not given up, in order of arrival."""
        return [r for r in self.received if not self.is_given_up(r)]

    def is_given_up(self, received: Received) -> bool:
        """Whether the first client had handed the session over before it read this: it is the second one's to have."""
        return received.client == "A" and received.seq > self.handed_over

    def turn(self, response_id: str) -> Turn:
        """Return the turn that a response answers."""
        return next(turn for turn in self.turns if turn.response_id == response_id)


# ------------------------------------------------------------------------------------------------------- the trace


def read_trace(folder: Path) -> list[Record]:
    """Read a trace's records: events and voids. Raises :class:`WorldError` where there is none."""
    records: list[Record] = list(records_of(folder))
    if not records:
        raise WorldError(f"the server left no trace in {folder}")
    return records


def moves(records: Iterable[Record]) -> Iterator[Moved]:
    """Yield what each machine did, where its state changed or it came to be."""
    for record in records:
        for row in record.get("rows", ()):
            start, end = row["from"] or "", row["to"] or ""
            if start != end and end:
                key = "" if row["key"] is None else str(row["key"])
                yield Moved(record["at"], row["machine"], key, row["event"]["type"], start, end)


def sequenced(trace: Sequence[Record]) -> list[tuple[int, int]]:
    """Return every number with the index of the record that sequenced it, in order."""
    numbers: list[tuple[int, int]] = []
    head = 0
    for index, record in enumerate(trace):
        after = record.get("journal", (head,))[0]
        numbers += [(number, index) for number in range(head + 1, after + 1)]
        head = after
    return numbers


def voided(trace: Iterable[Record]) -> set[int]:
    """Return the numbers whose frames were freed before any transport was handed them."""
    return {number for record in trace for number in record.get("voided", {}).get("unsent", ())}


def made(trace: Sequence[Record], response_id: str) -> list[tuple[int, float]]:
    """Return the audio of a response that was sequenced: index of the record, and milliseconds."""
    counted = {index for _, index in sequenced(trace)}
    return [
        (index, record["event"]["ms"])
        for index, record in enumerate(trace)
        if index in counted and is_output(record) and response_of(record) == response_id and record["event"]["ms"]
    ]


def is_output(record: Record) -> bool:
    """Whether a stage made a delta here, sequenced or stale."""
    return record.get("event", {}).get("type") in ("Produced", "ProducedTogether")


def response_of(record: Record) -> str:
    """Return the response that a delta is of: a request is named for its response and its stage."""
    return str(record["event"]["request_id"]).rpartition(".")[0]


def find(trace: Sequence[Record], machine: str, key: str | None, event: str) -> int:
    """Return the index of the first record in which a machine took an event, not as a stale one; or -1."""
    for index, record in enumerate(trace):
        for row in record.get("rows", ()):
            taken = row["machine"] == machine and row["event"]["type"] == event and "row" in row
            if taken and key in (None, row["key"]):
                return index
    return -1
