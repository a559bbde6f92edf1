"""The opening handshake of a server: one HTTP request becomes a WebSocket, a small page, or a refusal.

A peer that sends nothing, or a byte a second, has ``handshake_s`` for all of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
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
from interlock.transport.opening import NOWHERE, REALTIME, Opening, Page
from interlock.transport.quiet import QUIET
from interlock.transport.secure import ByteStream
from interlock.transport.websocket import READ_BYTES, WebSocketTransport

Respond: TypeAlias = Callable[[Opening], Awaitable[Page | Opening | None]]
"""Answers a request with a page; on the path of a WebSocket, with the request itself to let it open, or with more that
is known of it; ``None`` is not found.

It has what is left of ``handshake_s``; a task of its own connection runs it, so waiting costs nobody else.
"""

PATHS: Final = ("/v1/realtime", "/v1/duplex")
SUBPROTOCOL: Final = Subprotocol(REALTIME)


async def greet(
    stream: ByteStream, limits: SocketLimits, paths: Collection[str], respond: Respond
) -> WebSocketTransport | None:
    """Return the transport of a client that opened a WebSocket; answer and hang up on anybody else."""
    protocol = ServerProtocol(max_size=limits.frame_bytes, select_subprotocol=_select, logger=QUIET)
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
    stream: ByteStream,
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
        response, opening = await _response(protocol, request, _opening(stream, request), paths, respond)
        protocol.send_response(response)
    transport = WebSocketTransport(stream, protocol, limits, opening, events[1:])
    try:
        await transport.flush()
    except TransportClosed:
        return None
    return transport


async def _read_request(stream: ByteStream, protocol: ServerProtocol) -> Sequence[Event]:
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


async def _response(
    protocol: ServerProtocol, request: Request, opening: Opening, paths: Collection[str], respond: Respond
) -> tuple[Response, Opening]:
    is_socket = opening.path in paths
    if not is_socket and request.method != "GET":
        return _written(Page(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", b"GET only\n")), opening
    answer = await respond(opening)
    if is_socket and isinstance(answer, Opening):
        response = protocol.accept(request)
        return response, replace(answer, subprotocol=protocol.subprotocol)
    found = answer if isinstance(answer, Page) else Page(HTTPStatus.NOT_FOUND, "text/plain", b"not found\n")
    return _written(found), opening


def _written(page: Page) -> Response:
    length = str(len(page.body))
    fixed = [("Connection", "close"), ("Content-Length", length), ("Content-Type", page.content_type)]
    return Response(page.status, HTTPStatus(page.status).phrase, Headers([*fixed, *page.headers]), page.body)


def _opening(stream: ByteStream, request: Request) -> Opening:
    headers = {name.lower(): value for name, value in request.headers.raw_items()}
    try:
        target = urlsplit(request.path)
    except ValueError:  # half an IPv6 address; nothing is found there
        return Opening(request.path, {}, headers, peer=peer_of(stream))
    return Opening(target.path, dict(parse_qsl(target.query)), headers, peer=peer_of(stream))


def peer_of(stream: ByteStream) -> str:
    """Return the address of the other end; nothing, where it is gone already."""
    try:
        return str(stream.socket.getpeername()[0])
    except OSError:
        return ""


def _select(protocol: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """Take ``realtime`` where it is offered; a browser offers its key beside it, and most clients offer nothing."""
    return SUBPROTOCOL if SUBPROTOCOL in offered else None
