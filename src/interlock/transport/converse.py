"""One connection's conversation: its first message opens or resumes a session, the others are commands to it.

The reader lives here; the writer lives in the host, and is the only one that writes from the first claim on. Whatever a
client gets wrong is answered with an error to it alone, and changes nothing. Nothing here knows which loop it runs on.
"""

from __future__ import annotations

from typing import Final

from interlock.errors import ClientError
from interlock.runtime.acts import ClaimLost, ResyncRequired
from interlock.runtime.ports import TransportClosed
from interlock.runtime.talk import Session
from interlock.transport.commands import command
from interlock.transport.connection import Connection, Sessions
from interlock.wire import outbound
from interlock.wire.codes import CloseCode
from interlock.wire.inbound import parse
from interlock.wire.messages import ClientMessage, SessionResume, SessionUpdate

NO: Final = frozenset({"0", "false", "off", "no"})
"""How a client says that it wants no duplex session; it is refused, and not given one all the same (TW-04)."""


async def converse(host: Sessions, transport: Connection) -> None:
    """Serve one connection until it is over; whatever ends it, its session is told."""
    try:
        session = await _begin(host, transport)
        if session is not None:
            await _listen(session, transport)
    except (TransportClosed, ClaimLost):
        return


async def _begin(host: Sessions, transport: Connection) -> Session | None:
    """Open or resume; refuse what is wrong, a few times; give up on silence."""
    if transport.opening.query.get("duplex", "1").lower() in NO:
        text = "this server speaks duplex sessions only: connect without duplex=0"
        await _refuse(transport, ClientError("invalid_duplex_runtime_config", text), 0, last=True)
    settings = host.settings
    for number in range(1, settings.max_refusals + 1):
        data = None
        try:
            data = await transport.receive_within(settings.first_s)
        except TimeoutError:
            text = f"no message for {settings.first_s} s"
            await _refuse(transport, ClientError("config_timeout", text), number, last=True)
        if data is None:
            return None
        try:
            return await _first(host, transport, parse(data, settings.frame_bytes))
        except ResyncRequired as gap:
            await transport.send((resync_of(gap, f"first_{number}"),))
        except ClientError as error:
            await _refuse(transport, error, number, last=error.code == "resource_exhausted" or host.is_stopping)
    text = f"max_refusals = {settings.max_refusals} first messages were refused"
    await _refuse(transport, ClientError("bad_event", text), settings.max_refusals + 1, last=True)
    return None


async def _first(host: Sessions, transport: Connection, message: ClientMessage) -> Session:
    if isinstance(message, SessionResume):
        position = message.last_received_server_event_seq
        return await host.resume(message.session_id, message.resume_token, position, transport)
    config = message.session.mapping() if isinstance(message, SessionUpdate) else {}
    session = await host.open(transport, config)
    run(session, message)
    return session


async def _listen(session: Session, transport: Connection) -> None:
    """Run each message as it comes. A superseded connection is read to its end, and its words change nothing."""
    try:
        while (data := await transport.receive()) is not None:
            if session.is_current:
                _take(session, data)
        await transport.farewell(session.settings.farewell_s)
    finally:
        session.detach(transport.ended or "cancelled")


def _take(session: Session, data: bytes) -> None:
    try:
        message = parse(data, session.settings.frame_bytes)
    except ClientError as error:
        tell(session, error, getattr(error, "event_id", None))
    else:
        run(session, message)


def run(session: Session, message: ClientMessage) -> None:
    """Run one command; a refusal is told to this connection."""
    try:
        command(session, message)
    except ClientError as error:
        tell(session, error, message.event_id)


def tell(session: Session, error: ClientError, event_id: str | None) -> None:
    """Tell this connection what was wrong with one of its messages."""
    session.notify(lambda n: error_of(error, event_id, n))


def error_of(error: ClientError, event_id: str | None, n: str) -> bytes:
    """Encode what a client did wrong: ``event_id`` is its own, ``n`` our number of the answer."""
    return outbound.error(error.code, str(error), event_id, error.param, error.retryable, n=n)


def resync_of(gap: ResyncRequired, n: str) -> bytes:
    """Encode that history was lost, and from where the client may go on, with the same token."""
    return outbound.resync_required(gap.session_id, "journal_gap", gap.resumable_from, gap.head, n=n)


async def _refuse(transport: Connection, error: ClientError, number: int, *, last: bool) -> None:
    await transport.send((error_of(error, getattr(error, "event_id", None), f"first_{number}"),))
    if last:
        code = CloseCode.FULL if error.retryable else CloseCode.BAD_HANDSHAKE
        await transport.close(code, error.code)
        raise TransportClosed(error.code)
