"""The incumbent's event path, written from its description, as well as its design allows: the peer of event_path.py.

An asyncio registry of attachments. One lock for the registry, one outbound lock for each session, so that the order on
the wire is the order in the journal. An event gets its number inserted, is encoded once (``json.dumps``), recorded, and
that text is sent through whatever is attached; a replay sends the retained texts again. A journal is bounded by bytes
and by age; an ack trims it. Nothing else of a session is here: no model, no lease, no fence.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

JOURNAL_BYTES, JOURNAL_S = 8 * 1024 * 1024, 60.0

Send = Callable[[str], Awaitable[None]]


class Gap(Exception):
    """The position asked for is no longer retained."""


class Entry(NamedTuple):
    seq: int
    at: float
    size: int
    text: str


class Journal:
    """Events as they were sent, by number; the oldest go by acknowledgement and by age. Too many bytes are sticky."""

    def __init__(self) -> None:
        self.head = 0
        self.dropped_through = 0
        self.overflowed = False
        self._entries: deque[Entry] = deque()
        self._bytes = 0

    def record(self, event: dict[str, Any]) -> str:
        self.prune()
        self.head += 1
        event["server_event_seq"] = self.head
        text = json.dumps(event, separators=(",", ":"))
        if self._bytes + len(text) > JOURNAL_BYTES:
            self.overflowed = True
            raise Gap
        self._entries.append(Entry(self.head, time.monotonic(), len(text), text))
        self._bytes += len(text)
        return text

    def acknowledge(self, seq: int) -> None:
        if seq > self.head:
            raise ValueError(seq)
        while self._entries and self._entries[0].seq <= seq:
            self._drop()

    def prune(self) -> None:
        before = time.monotonic() - JOURNAL_S
        while self._entries and self._entries[0].at < before:
            self._drop()

    def replay_after(self, seq: int) -> list[Entry]:
        self.prune()
        if self.overflowed or seq < self.dropped_through:
            raise Gap
        return [entry for entry in self._entries if entry.seq > seq]

    def _drop(self) -> None:
        entry = self._entries.popleft()
        self._bytes -= entry.size
        self.dropped_through = entry.seq


class Attachment(NamedTuple):
    generation: int
    send: Send


@dataclass
class Held:
    """What the registry has of one session."""

    digest: bytes
    journal: Journal = field(default_factory=Journal)
    attachment: Attachment | None = None
    generation: int = 0
    outbound: asyncio.Lock = field(default_factory=asyncio.Lock)


class Registry:
    """Every session's attachment, by its id."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._held: dict[str, Held] = {}

    async def create(self, session_id: str, send: Send) -> str:
        token = secrets.token_urlsafe(32)
        async with self._lock:
            self._held[session_id] = Held(digest_of(token), attachment=Attachment(1, send), generation=1)
        return token

    async def send_event(self, session_id: str, event: dict[str, Any]) -> None:
        """Number, encode, record and send one event; recorded alone where nothing is attached."""
        held = self._held[session_id]
        async with held.outbound:
            async with self._lock:
                text, attachment = held.journal.record(event), held.attachment
            if attachment is not None:
                await attachment.send(text)

    async def acknowledge(self, session_id: str, seq: int) -> None:
        async with self._lock:
            self._held[session_id].journal.acknowledge(seq)

    async def detach(self, session_id: str) -> None:
        async with self._lock:
            self._held[session_id].attachment = None

    async def resume(self, session_id: str, token: str, seq: int, send: Send) -> str:
        """Attach, with a fresh token, and send what was missed; live events wait for the outbound lock."""
        held = self._held[session_id]
        async with held.outbound:
            async with self._lock:
                if not hmac.compare_digest(held.digest, digest_of(token)):
                    raise PermissionError(session_id)
                missed, fresh = held.journal.replay_after(seq), secrets.token_urlsafe(32)
                held.digest, held.generation = digest_of(fresh), held.generation + 1
                held.attachment = Attachment(held.generation, send)
            await send(resumed(session_id, fresh, held.generation))
            for entry in missed:
                await send(entry.text)
        return fresh


def digest_of(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def resumed(session_id: str, token: str, generation: int) -> str:
    event = {"type": "session.resumed", "session_id": session_id, "resume_token": token}
    return json.dumps({**event, "attachment_generation": generation}, separators=(",", ":"))


def delta(seq: int, text: str) -> dict[str, Any]:
    """One output delta as the rest of that server hands it over: a mapping, its audio in base64 already."""
    return {
        "type": "response.output_audio.delta",
        "event_id": f"event_{seq}",
        "response_id": "resp_0123456789abcdef_1",
        "item_id": "item_resp_0123456789abcdef_1",
        "delta": text,
        "sample_rate_hz": 24000,
        "format": "pcm16",
        "output_index": 0,
        "content_index": 0,
    }
