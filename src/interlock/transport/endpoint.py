"""The listening socket, and one task for each connection. What goes wrong with one ends that one."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Final, TypeAlias

import trio

from interlock.runtime.perform import contain
from interlock.transport.crowd import Crowd
from interlock.transport.handshake import PATHS, Respond, greet, peer_of
from interlock.transport.limits import SocketLimits
from interlock.transport.opening import Opening
from interlock.transport.origin import is_loopback
from interlock.transport.reset import free
from interlock.transport.secure import TlsStream
from interlock.transport.websocket import WebSocketTransport
from interlock.wire.codes import CloseCode

Handler: TypeAlias = Callable[[WebSocketTransport], Awaitable[None]]
"""Serves one connection and returns when it is over; the endpoint then closes it, if nobody has yet."""

DEFAULT_LIMITS: Final = SocketLimits()
_LOG: Final = logging.getLogger("interlock")


async def no_pages(opening: Opening) -> Opening:
    """Answer no plain request, and let every WebSocket open."""
    return opening


async def serve_websockets(
    handler: Handler,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    respond: Respond = no_pages,
    limits: SocketLimits = DEFAULT_LIMITS,
    paths: Collection[str] = PATHS,
    tls: ssl.SSLContext | None = None,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Listen until cancelled; ``task_status`` is told the bound port. Cancelling resets the connections that are left.

    To end them well, end their sessions first, then cancel. With ``tls`` it is wss that is spoken, and https. Raises
    ``OSError`` where the address cannot be bound.
    """
    listeners = await trio.open_tcp_listeners(port, host=host)
    serve = partial(serve_listeners, handler, listeners, respond=respond, limits=limits, paths=paths, tls=tls)
    await serve(task_status=task_status)


async def serve_listeners(
    handler: Handler,
    listeners: Sequence[trio.SocketListener],
    *,
    respond: Respond = no_pages,
    limits: SocketLimits = DEFAULT_LIMITS,
    paths: Collection[str] = PATHS,
    tls: ssl.SSLContext | None = None,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve sockets that are bound already; the rest is as in :func:`serve_websockets`."""
    endpoint = _Endpoint(handler, respond, limits, paths, tls)
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, endpoint.connection, list(listeners))
        task_status.started(listeners[0].socket.getsockname()[1])


class _Endpoint:
    def __init__(
        self,
        handler: Handler,
        respond: Respond,
        limits: SocketLimits,
        paths: Collection[str],
        tls: ssl.SSLContext | None,
    ) -> None:
        self._handler = handler
        self._respond = respond
        self._limits = limits
        self._paths = paths
        self._tls = tls
        self._connections = 0
        self._peers = Crowd(limits.max_per_peer)

    async def connection(self, stream: trio.SocketStream) -> None:
        """Serve one accepted socket; free it in any case."""
        peer = peer_of(stream)
        is_in_bounds = self._peers.enter(peer) or is_loopback(peer)
        self._connections += 1
        try:
            if is_in_bounds and self._connections <= self._limits.max_connections:
                await contain(lambda: self._talk(stream), _report)
        finally:
            self._connections -= 1
            self._peers.leave(peer)
            free(stream, hard=True)

    async def _talk(self, plain: trio.SocketStream) -> None:
        stream = plain if self._tls is None else TlsStream(plain, self._tls)
        transport = await greet(stream, self._limits, self._paths, self._respond)
        if transport is None:
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(transport.keep)
            try:
                await self._handler(transport)
            except BaseException:
                await transport.finish(CloseCode.INTERNAL, "internal error")
                raise
            await transport.finish()
            nursery.cancel_scope.cancel()


def _report(error: Exception) -> None:
    """Whatever a handler raised was about one client; the listening socket is everybody's."""
    _LOG.error("a connection failed", exc_info=error)
