"""TLS on a listening socket: trio's TLS stream, with the few manners that a WebSocket needs of a stream.

The TLS handshake happens in the first read, so it is inside ``handshake_s``, and what does not speak TLS is hung up on.
The end of the stream may come without TLS's own goodbye: a WebSocket says goodbye itself, in a close frame, so that a
connection that was cut off is told apart from one that ended.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Protocol

import trio

from interlock.errors import WorldError


class ByteStream(Protocol):
    """A connected socket, plain or under TLS."""

    @property
    def socket(self) -> trio.socket.SocketType:
        """The socket itself, to be freed."""

    async def send_all(self, data: bytes) -> None:
        """Write all of it; one task at a time. Raises ``trio.BrokenResourceError``, ``trio.ClosedResourceError``."""

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Read something; nothing at the end of the stream. Raises like ``send_all``."""

    async def send_eof(self) -> None:
        """Say that nothing more follows."""


class TlsStream:
    """The server's side of TLS on an accepted socket."""

    def __init__(self, stream: trio.SocketStream, context: ssl.SSLContext) -> None:
        self._plain = stream
        self._tls = trio.SSLStream(stream, context, server_side=True, https_compatible=True)

    @property
    def socket(self) -> trio.socket.SocketType:
        """The socket under the encryption."""
        return self._plain.socket

    async def send_all(self, data: bytes) -> None:
        """Encrypt and write."""
        await self._tls.send_all(data)

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Read and decrypt."""
        return bytes(await self._tls.receive_some(max_bytes))

    async def send_eof(self) -> None:
        """End the socket's own direction: TLS has no half that stays open."""
        await self._plain.send_eof()


def server_context(cert: Path, key: Path | None) -> ssl.SSLContext:
    """Return what a server needs to speak TLS: a certificate with its chain, and its key where that is apart.

    Raises :class:`WorldError` that names the file.
    """
    for path in (cert, *([key] if key is not None else [])):
        if not path.is_file():
            raise WorldError(f"{path}: there is no such file; a certificate and its key are wanted, in PEM")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(cert, key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        beside = f" with the key {key}" if key is not None else ""
        raise WorldError(f"{cert}{beside}: cannot be used for TLS: {error}") from error
    except OSError as error:
        raise WorldError(f"{cert}: cannot be read: {error.strerror}") from error
    return context


def _no_password() -> str:
    """Refuse to ask anybody for the password of a key: a server has nobody to ask."""
    raise ValueError("the key is encrypted; write it without a password")
