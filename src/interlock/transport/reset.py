"""Free a socket at once, whatever is in its buffers and whoever waits on it."""

from __future__ import annotations

import socket
import struct
from typing import Final

from interlock.transport.secure import ByteStream

_NO_TIME: Final = struct.pack("ii", 1, 0)


def free(stream: ByteStream, *, hard: bool) -> None:
    """Close the socket, once; tasks blocked on it wake with ``ClosedResourceError``.

    ``hard`` sets SO_LINGER to no time: what is unsent is dropped, and the peer reads a reset.
    """
    sock = stream.socket
    if sock.fileno() < 0:
        return
    if hard:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_TIME)
    sock.close()
