"""The transport of the server that serves us, where it can be seen: what ASGI has no word for.

ASGI can neither abort a socket nor hand over many frames at once. But the ``receive`` that uvicorn gives an app is a
method of its protocol object, which has the asyncio transport, and middleware that wraps ``send`` usually leaves
``receive`` alone. Nothing is patched. What is not where it is expected is left alone, and ASGI's own words have to do.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, Protocol, runtime_checkable

from interlock.runtime.ports import TransportClosed
from interlock.transport.outgoing import headed

_NO_TIME: Final = struct.pack("ii", 1, 0)
_SANSIO: Final = "uvicorn.protocols.websockets.websockets_sansio_impl"


@runtime_checkable
class Abortable(Protocol):
    """What asyncio's and uvloop's transports have in common, and we need."""

    def abort(self) -> None:
        """Close, and lose what was not written."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return a thing behind the transport by its name."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Say when writing is paused."""


class Reached:
    """A server's transport, of which nothing but its end can be ordered."""

    def __init__(self, transport: Abortable) -> None:
        self._transport = transport

    def abort(self) -> None:
        """Free the socket now: what is unsent is dropped, the peer reads a reset. Idempotent."""
        sock = self._transport.get_extra_info("socket")
        if sock is not None:
            with suppress(OSError, ValueError):  # what asyncio and uvloop say of a socket that is closed already
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_TIME)
        self._transport.abort()


class Sansio(Reached):
    """The protocol of uvicorn around the core of ``websockets``, to which frames can be handed many at a time.

    The transport keeps nothing for later: it says that writing is paused while the kernel has not taken everything, so
    that one write at most is inside it (promise 2).
    """

    def __init__(self, owner: Any, transport: Abortable) -> None:
        super().__init__(transport)
        self._owner = owner
        transport.set_write_buffer_limits(high=1)  # at 0, that of TLS pauses when it is empty, and for good

    def write(self, frames: Sequence[bytes]) -> bool:
        """Write whole text messages, in order, as one write; say whether the kernel has them all.

        Raises :class:`TransportClosed`.
        """
        owner = self._owner
        if owner.close_sent or owner.disconnected or owner.transport.is_closing():
            raise TransportClosed("the server has closed the connection")
        if owner.conn.extensions:
            for frame in frames:
                owner.conn.send_text(frame)
            owner.transport.write(b"".join(owner.conn.data_to_send()))
        else:
            owner.transport.write(b"".join(headed(frames)))
        return bool(owner.writable.is_set())

    async def drain(self) -> None:
        """Return when the kernel has everything, or the connection is lost."""
        await self._owner.writable.wait()


def reach(receive: object) -> Reached | None:
    """Return the transport behind an ASGI ``receive``, also one of Starlette's ``WebSocket``; or that there is none."""
    owner = getattr(receive, "__self__", None)
    inner = getattr(owner, "_receive", None)
    if inner is not None:
        return reach(inner)
    transport = getattr(owner, "transport", None)
    if not isinstance(transport, Abortable):
        return None
    return Sansio(owner, transport) if _is_sansio(owner) else Reached(transport)


def _is_sansio(owner: object) -> bool:
    """Whether this is the protocol of uvicorn around the core of ``websockets``, with all that :class:`Sansio` uses."""
    kind = getattr(sys.modules.get(_SANSIO), "WebSocketsSansIOProtocol", None)
    return (
        kind is not None
        and isinstance(owner, kind)
        and isinstance(getattr(owner, "writable", None), asyncio.Event)
        and callable(getattr(getattr(owner, "conn", None), "send_text", None))
        and hasattr(owner.conn, "extensions")
        and hasattr(owner, "close_sent")
        and hasattr(owner, "disconnected")
    )
