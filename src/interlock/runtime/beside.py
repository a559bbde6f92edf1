"""What lies beside the frozen value, keyed by the ids in it: plaintext tokens, texts, audio on its way.

Nothing here decides anything. An entry goes when the machine that it belongs to says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from interlock.errors import ClientError
from interlock.machine import Key, Message
from interlock.runtime.delivery import Delivery
from interlock.runtime.ports import Transport
from interlock.runtime.waiter import Waiter
from interlock.wire.dialect import DUPLEX, Dialect
from interlock.wire.items import Item


class Timer(NamedTuple):
    """One armed timeout: whose it is, and the event that it becomes."""

    session_id: str
    target: str
    instance: Key
    event: type[Message]


@dataclass(slots=True)
class Offer:
    """One call of ``open`` or ``resume``: the transport that it brings, and the task that waits for it.

    ``token`` is the plaintext of the fresh credential; it goes to the writer and nowhere else. ``writer`` is made where
    the claim is accepted, and writes on the loop of the transport; ``dialect`` is what the transport's client speaks.
    ``refusal`` is what the pipeline said, in its own words.
    """

    claim: int
    transport: Transport
    token: str
    position: int
    waiter: Waiter[int]
    writer: type[Delivery]
    dialect: Dialect = DUPLEX
    refusal: ClientError | None = None


@dataclass(slots=True)
class Input:
    """Input of one stage request: what waits for a worker, and what the stage has not taken yet.

    ``None`` among what waits is the end of a turn, in its place.
    """

    waiting: list[bytearray | None] = field(default_factory=list)
    queued_bytes: int = 0
    turns: int = 0
    unasked: deque[bool] = field(default_factory=deque)
    """Of each turn, whether it is answered without being asked."""
    item_id: str = ""
    """The item that the turn under way will be, once it is known that there is one."""
    awaits: bool = False
    """Whether that turn is in the conversation already, and what it says is still to be understood."""
    told: int = 0
    """Of the turns, those that the client has been told are lost; they keep their room until the stage lets go."""

    def wait(self, payload: bytes | None) -> None:
        """Put input behind what waits. Pieces are joined: a thousand small ones take no more room than a large one."""
        last = self.waiting[-1] if self.waiting else None
        if payload is None:
            self.waiting.append(None)
        elif last is None:
            self.waiting.append(bytearray(payload))
        else:
            last += payload


class Mark(NamedTuple):
    """So many words were spoken by ``at_ms`` of a response's audio."""

    at_ms: float
    words: int


@dataclass(slots=True)
class Speech:
    """One response's texts: the turn that it answers, how, and what it has said."""

    turn: str
    config: Mapping[str, Any] = field(default_factory=dict)
    """What its stages are asked with: the session's configuration, the client's wishes for this one, the items."""
    metadata: Mapping[str, str] | None = None
    written: bool = False
    """Whether it answers in text alone."""
    in_band: bool = True
    """Whether it becomes part of the conversation."""
    said: list[str] = field(default_factory=list)
    said_bytes: int = 0
    """Of text and of function calls."""
    cut: int | None = None
    """How much of the text counts, where the client has cut it to what was heard."""
    output: list[Item] = field(default_factory=list)
    index: int | None = None
    """Where in the output the message is, once there is one."""
    previous: str | None = None
    calls: dict[str, int] = field(default_factory=dict)
    """Function calls by item, each with the number under which it is whole."""
    marks: list[Mark] = field(default_factory=list)
    """Where in its audio so much of its text ends, as far as the voice says so."""
    usage: dict[str, int] = field(default_factory=dict)

    def begin(self, item: Item) -> int:
        """Add an item to the output; return where."""
        self.output.append(item)
        return len(self.output) - 1
