"""The opening handshake of a client: a URL becomes an open WebSocket."""

from __future__ import annotations

from collections.abc import Sequence

import trio
from websockets.client import ClientProtocol
from websockets.exceptions import InvalidURI
from websockets.protocol import OPEN, Event
from websockets.typing import Subprotocol
from websockets.uri import WebSocketURI, parse_uri

from interlock.runtime.ports import TransportClosed
from interlock.transport.limits import SocketLimits
from interlock.transport.quiet import QUIET
from interlock.transport.reset import free
from interlock.transport.websocket import READ_BYTES, WebSocketTransport


async def dial(url: str, limits: SocketLimits) -> WebSocketTransport:
    """Open a WebSocket within ``handshake_s``. Its ``keep`` is for the caller to run.

    Raises :class:`TransportClosed` where the server cannot be reached or refuses, ``ValueError`` where the URL is not
    ``ws://``.
    """
    uri = _target(url)
    with trio.move_on_after(limits.handshake_s):
        try:
            stream = await trio.open_tcp_stream(uri.host, uri.port)
        except OSError as error:
            raise TransportClosed(f"cannot connect: {error}") from error
        return await _shake(stream, uri, limits)
    raise TransportClosed("handshake timed out")


def _target(url: str) -> WebSocketURI:
    try:
        uri = parse_uri(url)
    except InvalidURI as error:
        raise ValueError(str(error)) from error
    if uri.secure:
        raise ValueError("the reference client speaks ws:// only; put TLS in front of it, or use another client")
    return uri


async def _shake(stream: trio.SocketStream, uri: WebSocketURI, limits: SocketLimits) -> WebSocketTransport:
    subprotocols = [Subprotocol("realtime")]
    protocol = ClientProtocol(uri, subprotocols=subprotocols, max_size=limits.frame_bytes, logger=QUIET)
    protocol.send_request(protocol.connect())
    try:
        await stream.send_all(b"".join(protocol.data_to_send()))
        events = await _answer(stream, protocol)
    except BaseException as error:
        free(stream, hard=True)
        if isinstance(error, trio.BrokenResourceError):
            raise TransportClosed("reset in the handshake") from error
        raise
    return WebSocketTransport(stream, protocol, limits, events=events)


async def _answer(stream: trio.SocketStream, protocol: ClientProtocol) -> Sequence[Event]:
    """Read the response; what came in the same breath belongs to the connection."""
    while protocol.state is not OPEN:
        data = await stream.receive_some(READ_BYTES)
        if data:
            protocol.receive_data(data)
        else:
            protocol.receive_eof()
        if protocol.handshake_exc is not None:
            raise TransportClosed(f"refused: {protocol.handshake_exc}") from protocol.handshake_exc
    return protocol.events_received()[1:]
