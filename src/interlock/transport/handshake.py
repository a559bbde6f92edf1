"""The opening handshake of a server: one HTTP request becomes a WebSocket, a small page, or a refusal.

A peer that sends nothing, or a byte a second, has ``handshake_s`` for all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from http import HTTPStatus
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, urlsplit

import trio
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.protocol import Event
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from interlock.runtime.ports import TransportClosed
from interlock.transport.limits import SocketLimits
from interlock.transport.opening import NOWHERE, Opening
from interlock.transport.websocket import READ_BYTES, WebSocketTransport

Page: TypeAlias = tuple[int, str, bytes]
"""Status, content type, body."""
Respond: TypeAlias = Callable[[str], Page | None]
"""Answers a plain GET by its path (no query); ``None`` is not found. Called in the loop: it returns at once."""

PATHS: Final = ("/v1/realtime", "/v1/duplex")
SUBPROTOCOL: Final = Subprotocol("realtime")


async def greet(
    stream: trio.SocketStream, limits: SocketLimits, paths: Collection[str], respond: Respond
) -> WebSocketTransport | None:
    """Return the transport of a client that opened a WebSocket; answer and hang up on anybody else."""
    protocol = ServerProtocol(max_size=limits.frame_bytes, select_subprotocol=_select)
    transport: WebSocketTransport | None = None
    with trio.move_on_after(limits.handshake_s):
        transport = await _answer(stream, protocol, limits, paths, respond)
    if transport is None:
        return None
    if protocol.eof_sent:
        await transport.finish()
        return None
    return transport


async def _answer(
    stream: trio.SocketStream,
    protocol: ServerProtocol,
    limits: SocketLimits,
    paths: Collection[str],
    respond: Respond,
) -> WebSocketTransport | None:
    events = await _read_request(stream, protocol)
    if not events and not protocol.eof_sent:
        return None
    opening = NOWHERE
    if not protocol.eof_sent and isinstance(request := events[0], Request):
        protocol.send_response(_response(protocol, request, paths, respond))
        opening = _opening(protocol, request)
    transport = WebSocketTransport(stream, protocol, limits, opening, events[1:])
    try:
        await transport.flush()
    except TransportClosed:
        return None
    return transport


async def _read_request(stream: trio.SocketStream, protocol: ServerProtocol) -> Sequence[Event]:
    """Read until the request is whole; nothing, where the peer sends anything else."""
    while not protocol.eof_sent:
        try:
            data = await stream.receive_some(READ_BYTES)
        except trio.BrokenResourceError:
            data = b""
        if not data:
            return ()
        protocol.receive_data(data)
        if events := protocol.events_received():
            return events
    return ()


def _response(protocol: ServerProtocol, request: Request, paths: Collection[str], respond: Respond) -> Response:
    path = urlsplit(request.path).path
    if path in paths:
        return protocol.accept(request)
    if request.method != "GET":
        return _page(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", b"GET only\n")
    return _page(*(respond(path) or (HTTPStatus.NOT_FOUND, "text/plain", b"not found\n")))


def _page(status: int, content_type: str, body: bytes) -> Response:
    headers = Headers([("Connection", "close"), ("Content-Length", str(len(body))), ("Content-Type", content_type)])
    return Response(status, HTTPStatus(status).phrase, headers, body)


def _opening(protocol: ServerProtocol, request: Request) -> Opening:
    target = urlsplit(request.path)
    headers = {name.lower(): value for name, value in request.headers.raw_items()}
    return Opening(target.path, dict(parse_qsl(target.query)), headers, protocol.subprotocol)


def _select(protocol: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """Take ``realtime`` where it is offered; a browser offers its key beside it, and most clients offer nothing."""
    return SUBPROTOCOL if SUBPROTOCOL in offered else None
