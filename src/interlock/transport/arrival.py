"""How a connection gets its session: by its first message, or, where the server speaks first, by its query alone.

Whatever a client gets wrong is answered with an error to it alone. Nothing here is logged: a query may hold a token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from interlock.errors import ClientError
from interlock.runtime.acts import ResyncRequired
from interlock.runtime.ports import TransportClosed
from interlock.runtime.talk import Session
from interlock.transport.commands import run
from interlock.transport.connection import Connection, Sessions
from interlock.transport.opening import Opening
from interlock.wire import outbound
from interlock.wire.codes import CloseCode
from interlock.wire.dialect import DUPLEX, Ga
from interlock.wire.inbound import parse
from interlock.wire.messages import MAX_POSITION, ClientMessage, SessionResume, SessionUpdate

DUPLEX_PATH: Final = "/duplex"
"""How the path of the alias ends, wherever a server has mounted it."""
YES: Final = frozenset({"1", "true", "on", "yes"})
"""How a client says ``duplex=1``; anything else leaves it with the GA dialect, which is the default."""

SESSION, TOKEN, POSITION = "session_id", "resume_token", "last_received_server_event_seq"
"""What the query of a strict client has when it comes back: the fields of ``session.resume``."""


def speaks_duplex(opening: Opening) -> bool:
    """Whether a connection asked for the duplex dialect."""
    return opening.path.endswith(DUPLEX_PATH) or opening.query.get("duplex", "").lower() in YES


async def arrive(host: Sessions, connection: Connection) -> Session | None:
    """Return the session that a connection opened or resumed; ``None`` where it left without one.

    Raises :class:`interlock.runtime.ports.TransportClosed` and :class:`interlock.runtime.acts.ClaimLost`.
    """
    if speaks_duplex(connection.opening):
        return await _heed_first(host, connection)
    try:
        return await _speak_first(host, connection)
    except ClientError as error:
        await _refuse(host, connection, error, 0, last=True)
        raise TransportClosed(error.code) from error


# --- the server speaks first


async def _speak_first(host: Sessions, connection: Connection) -> Session:
    query, told = connection.opening.query, {}
    if SESSION in query or TOKEN in query:
        try:
            return await _come_back(host, connection)
        except ClientError as error:
            told = {"resumed": False, "resumable_from": None, "resume_refused": error.code}
    return await host.open(connection, opening_config(query), Ga(told))


async def _come_back(host: Sessions, connection: Connection) -> Session:
    """Resume by the query. A position that is not retained, or from the future, goes on from where it can."""
    query = connection.opening.query
    session_id, token, position = query.get(SESSION, ""), query.get(TOKEN, ""), position_of(query)
    told: dict[str, Any] = {"resumed": True}
    for _ in range(host.settings.max_refusals):
        try:
            return await host.resume(session_id, token, position, connection, Ga(told))
        except ResyncRequired as gap:
            position = gap.resumable_from
        except ClientError as error:
            if error.code != "session_resume_conflict":
                raise
            position = 0
        told = {"resumed": False, "resumable_from": position}
    raise ClientError("session_resume_conflict", "the history moved on while it was resumed", retryable=True)


def position_of(query: Mapping[str, str]) -> int:
    """Return the last sequence number that a client says it has; what is no number is "I have nothing"."""
    text = query.get(POSITION, "")
    return min(int(text), MAX_POSITION) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def opening_config(query: Mapping[str, str]) -> dict[str, Any]:
    """Return the configuration of a session whose client has not said anything yet."""
    model = query.get("model")
    return dict(Ga().wanted({"input_audio_format": "pcm16"} | ({"model": model} if model else {})))


# --- the client speaks first


async def _heed_first(host: Sessions, connection: Connection) -> Session | None:
    """Open or resume; refuse what is wrong, a few times; give up on silence."""
    settings = host.settings
    for number in range(1, settings.max_refusals + 1):
        data = None
        try:
            data = await connection.receive_within(settings.first_s)
        except TimeoutError:
            text = f"no message for {settings.first_s} s"
            await _refuse(host, connection, ClientError("config_timeout", text), number, last=True)
        if data is None:
            return None
        try:
            return await _first(host, connection, parse(data, settings.frame_bytes))
        except ResyncRequired as gap:
            await connection.send((resync_of(gap, f"first_{number}"),))
        except ClientError as error:
            last = error.code == "resource_exhausted" or host.is_stopping
            await _refuse(host, connection, error, number, last=last)
    text = f"max_refusals = {settings.max_refusals} first messages were refused"
    await _refuse(host, connection, ClientError("bad_event", text), settings.max_refusals + 1, last=True)
    return None


async def _first(host: Sessions, connection: Connection, message: ClientMessage) -> Session:
    if isinstance(message, SessionResume):
        position = message.last_received_server_event_seq
        return await host.resume(message.session_id, message.resume_token, position, connection)
    config = DUPLEX.wanted(message.session.mapping()) if isinstance(message, SessionUpdate) else {}
    session = await host.open(connection, config)
    try:
        run(session, message)
    except BaseException:  # nobody reads for it yet, who would tell it
        session.detach("cancelled")
        raise
    return session


# --- refusing


def error_of(error: ClientError, n: str) -> bytes:
    """Encode what a client did wrong before it had a session, as our answer ``n``."""
    return outbound.error(error.code, str(error), getattr(error, "event_id", None), error.param, error.retryable, n=n)


def resync_of(gap: ResyncRequired, n: str) -> bytes:
    """Encode that history was lost, and from where the client may go on, with the same token."""
    return outbound.resync_required(gap.session_id, "journal_gap", gap.resumable_from, gap.head, n=n)


async def _refuse(host: Sessions, connection: Connection, error: ClientError, number: int, *, last: bool) -> None:
    await connection.send((error_of(error, f"first_{number}"),))
    if last:
        code = CloseCode.FULL if error.retryable else CloseCode.BAD_HANDSHAKE
        await connection.close(CloseCode.SHUTDOWN if host.is_stopping else code, error.code)
        raise TransportClosed(error.code)
