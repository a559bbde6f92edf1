"""One connection's conversation: it arrives at a session, and every message after that is a command to it.

The reader lives here; the writer lives in the host, and is the only one that writes from the first claim on. Whatever a
client gets wrong is answered with an error to it alone, and changes nothing. Nothing here knows which loop it runs on.
"""

from __future__ import annotations

from interlock.runtime.acts import ClaimLost
from interlock.runtime.ports import TransportClosed
from interlock.runtime.talk import Session
from interlock.transport.arrival import arrive
from interlock.transport.commands import heed
from interlock.transport.connection import Connection, Sessions


async def converse(host: Sessions, connection: Connection) -> None:
    """Serve one connection until it is over; whatever ends it, its session is told."""
    try:
        session = await arrive(host, connection)
        if session is not None:
            await _listen(session, connection)
    except (TransportClosed, ClaimLost):
        return


async def _listen(session: Session, connection: Connection) -> None:
    """Run each message as it comes. A superseded connection is read to its end, and its words change nothing."""
    try:
        while (data := await connection.receive()) is not None:
            if session.is_current:
                heed(session, data)
        await connection.farewell(session.settings.farewell_s)
    finally:
        session.detach(connection.ended or "cancelled")
