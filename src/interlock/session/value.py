"""The one frozen value of a session: all its machines, its credential, its positions and its counters.

Frame bytes, texts and plaintext tokens lie beside it, in the driver; nothing here holds audio or a secret in clear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from interlock.errors import ClientError
from interlock.machine import Address, Cell
from interlock.session.credential import Credential
from interlock.session.settings import Settings


class Journal(NamedTuple):
    """Positions of the journal, as sequence numbers. Numbers start at 1; 0 is "nothing".

    ``head`` was sequenced last, ``handed`` is the highest that any transport was handed, and what is at or below
    ``trimmed`` can no longer be replayed.
    """

    head: int = 0
    handed: int = 0
    trimmed: int = 0


class Playback(NamedTuple):
    """How far one response got, in milliseconds of audio: made, and heard by the client.

    ``cleared``: the client has thrown away what it had not played, so that its position is final (FE-05).
    """

    response_id: str
    made_ms: float = 0.0
    played_ms: float = 0.0
    ended: bool = False
    cleared: bool = False
    closing: int = 0
    """How many events end its message, beside ``response.done``; none where it has said nothing."""


class Value(NamedTuple):
    """Everything that decides. Replaced as a whole, by one assignment, or not at all."""

    session_id: str
    settings: Settings
    cells: Mapping[Address, Cell]
    epoch: int = 1
    credential: Credential = Credential()
    journal: Journal = Journal()
    playback: tuple[Playback, ...] = ()
    closing: tuple[int, ...] = ()
    """Generations whose transport is owed a close: evicted, dropped or finishing."""
    answered: int = 0
    """Responses that were ever asked for; the next one's number."""
    listened: int = 0
    """Listening requests that were ever opened."""
    input_bytes: int = 0
    """Audio taken in and not yet heard by the listening stage."""
    turns: int = 0
    """Committed turns that the stage has not heard yet."""
    stale: int = 0
    """Outputs and events of something left behind, dropped."""
    refused: int = 0
    """Claims that were refused."""

    def state(self, machine: str, key: str | int | None = None) -> str:
        """Return the state of one machine, or the empty string when there is no such instance."""
        cell = self.cells.get((machine, key))
        return cell.state if cell is not None else ""

    def played(self, response_id: str) -> Playback:
        """Return how far a response got. Raises :class:`ClientError` where it is not remembered."""
        for entry in self.playback:
            if entry.response_id == response_id:
                return entry
        raise ClientError("playback_item_not_found", f"no response {response_id!r} is remembered")

    @property
    def generation(self) -> int:
        """The current claim's number; 0 before the first."""
        generation: int = self.cells["attachment", None].data.generation
        return generation

    @property
    def holds_slot(self) -> bool:
        """Whether the session counts in admission: from its creation until it is CLOSED."""
        return self.state("session") != "CLOSED"


_new = cast("Callable[[type[Any], tuple[Any, ...]], Any]", tuple.__new__)


def moved(value: Value, journal: tuple[int, int, int], playback: tuple[Playback, ...]) -> Value:
    """Return ``value._replace(journal=Journal(*journal), playback=playback)``, at a quarter of the price.

    Each frame comes here, and nothing else is worth the length of it.
    """
    a, b, c, d, e, _, _, f, g, h, i, j, k, m = value
    replaced: Value = _new(Value, (a, b, c, d, e, _new(Journal, journal), playback, f, g, h, i, j, k, m))
    return replaced


def longer(entry: Playback, ms: float) -> Playback:
    """Return ``entry`` with ``ms`` more of audio made."""
    response_id, made_ms, *rest = entry
    grown: Playback = _new(Playback, (response_id, made_ms + ms, *rest))
    return grown
