"""Two ways to speak one protocol. The dialect belongs to a connection, not to a session: the next one may be another.

GA clients are strict: the server speaks first, an event type that they do not know is an error to them, and they can
neither ack nor send ``session.resume``. So their credentials ride in extra fields of events that they know, a resume is
asked for in the query, and an end is told by the close frame alone. Duplex clients know all of docs/wire.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from interlock.wire import outbound
from interlock.wire.session_object import PCM_24K, flat_session, nested_session

PRIVATE: Final = frozenset({"session.closed", "session.expired"})
"""Journaled events that only duplex clients know. Their numbers are holes to the others."""

GA_CODES: Final = {
    "response_not_active": "response_cancel_not_active",
    "response_already_active": "conversation_already_has_active_response",
    "input_audio_buffer_empty": "input_audio_buffer_commit_empty",
}
"""Errors that strict clients look for, by the codes that they know."""


class Credentials(NamedTuple):
    """What a connection needs to come back: which claim it is, and the plaintext of its token."""

    session_id: str
    generation: int
    resume_token: str

    def fields(self) -> dict[str, Any]:
        """Return them as the top-level fields of an event."""
        names = {"session_id": self.session_id, "attachment_generation": self.generation}
        return names | {"resume_token": self.resume_token}


@dataclass(frozen=True, slots=True)
class Duplex:
    """The client speaks first, and knows every event of docs/wire.md."""

    is_strict: ClassVar[bool] = False
    commit_answers: ClassVar[bool] = True
    """Whether a turn that was committed by hand is answered without being asked."""

    def wanted(self, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what a client asked for, by the names and defaults of its dialect; here as it is."""
        return config

    def hello(self, config: Mapping[str, Any], held: Credentials) -> bytes:
        """Encode the first event on a connection; it carries the fresh token."""
        encode = outbound.session_created if held.generation == 1 else outbound.session_resumed
        return encode({**config, "id": held.session_id}, held.generation, held.resume_token)

    def updated(self, config: Mapping[str, Any], held: Credentials, n: str) -> bytes:
        """Encode the configuration that now holds."""
        return outbound.event("session.updated", n, session=flat_session(config, held.session_id))

    def replaced(self, session_id: str, generation: int) -> tuple[bytes, ...]:
        """Encode the last words to a connection that another one has superseded."""
        return (outbound.session_replaced(session_id, generation),)

    def code(self, code: str) -> str:
        """Return an error code as this dialect has it."""
        return code


@dataclass(frozen=True, slots=True)
class Ga:
    """The GA schema, and nothing that it does not have. ``told`` is what ``session.created`` says of a resume."""

    told: Mapping[str, Any] = field(default_factory=dict)
    is_strict: ClassVar[bool] = True
    commit_answers: ClassVar[bool] = False

    def wanted(self, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Bring audio formats home: ``pcm16``, or no rate at all, means 24 kHz to these clients."""
        named = config.get("input_audio_format")
        plain = named == "pcm16" or (isinstance(named, Mapping) and {**PCM_24K, **named} == PCM_24K)
        return {**config, "input_audio_format": PCM_24K} if plain else config

    def hello(self, config: Mapping[str, Any], held: Credentials) -> bytes:
        """Encode ``session.created``, with the credentials, and with how a resume went."""
        session = nested_session(config, held.session_id)
        return outbound.event(
            "session.created", f"session.created_{held.generation}", session=session, **held.fields(), **self.told
        )

    def updated(self, config: Mapping[str, Any], held: Credentials, n: str) -> bytes:
        """Encode the configuration that now holds, with the credentials once more."""
        session = nested_session(config, held.session_id)
        return outbound.event("session.updated", n, session=session, **held.fields())

    def replaced(self, session_id: str, generation: int) -> tuple[bytes, ...]:
        """Say nothing: the close code does."""
        return ()

    def code(self, code: str) -> str:
        """Return an error code as these clients know it."""
        return GA_CODES.get(code, code)


Dialect: TypeAlias = Duplex | Ga

DUPLEX: Final = Duplex()
