"""Messages on their way out of a server: a header before each, and one write of all of it, as far as the socket takes.

The sans-IO core serializes one frame at a time, with a copy of each; here the frames stay where they are, and the
kernel gathers them. It is for a server's text alone: unmasked, unfragmented, without extensions (RFC 6455, section 5).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final

FIN_TEXT: Final = 0x81
GATHER: Final = 512
"""Buffers in one system call; the kernel takes 1,024 (IOV_MAX), and many small ones are cheaper joined."""

_SHORT: Final = Struct("!BB").pack
_MIDDLE: Final = Struct("!BBH").pack
_LONG: Final = Struct("!BBQ").pack


def headed(frames: Iterable[bytes]) -> list[bytes]:
    """Return each frame after its header."""
    found: list[bytes] = []
    for frame in frames:
        size = len(frame)
        if size < 126:
            found.append(_SHORT(FIN_TEXT, size))
        elif size < 65536:
            found.append(_MIDDLE(FIN_TEXT, 126, size))
        else:
            found.append(_LONG(FIN_TEXT, 127, size))
        found.append(frame)
    return found


def write_some(fd: int, first: Sequence[bytes], frames: Sequence[bytes]) -> bytes:
    """Write ``first`` as it is and then ``frames``, to a socket that does not block; return what it did not take.

    Raises ``OSError`` where the socket is broken.
    """
    buffers = [*first, *headed(frames)]
    try:
        sent = os.writev(fd, buffers) if len(buffers) <= GATHER else os.write(fd, b"".join(buffers))
    except BlockingIOError:
        sent = 0
    if sent == sum(map(len, buffers)):
        return b""
    return b"".join(buffers)[sent:]
