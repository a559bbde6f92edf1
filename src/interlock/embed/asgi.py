"""The ASGI app: each WebSocket that reaches it is a client of the wire protocol. It mounts under FastAPI or Starlette.

Served by itself (``uvicorn module:app``), it owns its runtime: the server's lifespan enters and leaves it. Mounted, the
lifespan of the app around it has to, since that is the only one that a server calls.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from interlock.embed.connection import AsgiConnection, Receive, Scope, Send, connection_of, opening_of
from interlock.embed.limits import EmbedLimits
from interlock.embed.misuse import Misuse
from interlock.runtime.perform import contain
from interlock.transport.converse import converse
from interlock.transport.opening import REALTIME
from interlock.wire.codes import CloseCode

if TYPE_CHECKING:
    from interlock.embed.runtime import Runtime

log = logging.getLogger("interlock")


class App:
    """An ASGI 3 application. Any path is its own: mount it where clients look for it."""

    def __init__(self, runtime: Runtime, limits: EmbedLimits) -> None:
        self._runtime = runtime
        self._limits = limits
        self._connections: set[AsgiConnection] = set()
        self._high_water = {"max_connections": 0, "max_lingering": 0}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, or the lifespan."""
        match scope["type"]:
            case "websocket":
                await self._websocket(scope, receive, send)
            case "http":
                await _upgrade_required(send)
            case "lifespan":
                await self._lifespan(receive, send)
            case kind:
                raise Misuse(f"an ASGI scope of type {kind!r} is none that this app knows")

    def limits(self) -> dict[str, dict[str, int]]:
        """Return the limits of the door, as :meth:`interlock.runtime.host.Host.limits` does those of sessions."""
        now = self._used()
        return {
            name: {"limit": getattr(self._limits, name), "now": now[name], "high_water": max(now[name], mark)}
            for name, mark in self._high_water.items()
        }

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        subprotocol = REALTIME if REALTIME in scope.get("subprotocols", ()) else None
        opening = opening_of(scope, subprotocol)
        scope["query_string"] = b""  # it may hold a token, and uvicorn logs it with the accept
        if self._runtime.is_over:
            await send({"type": "websocket.accept"})  # a refusal would be a 403, after which no client comes back
            await send({"type": "websocket.close", "code": int(CloseCode.SHUTDOWN)})
            return
        self._runtime.check()
        await send({"type": "websocket.accept", "subprotocol": subprotocol})
        full = [name for name, count in self._used().items() if count >= getattr(self._limits, name)]
        if full:
            await send({"type": "websocket.close", "code": int(CloseCode.FULL), "reason": f"{full[0]} is reached"})
            return
        await self._serve(connection_of(opening, receive, send, self._limits))

    async def _serve(self, connection: AsgiConnection) -> None:
        self._connections.add(connection)
        self._note()
        failures: list[Exception] = []
        try:
            await contain(lambda: converse(self._runtime, connection), failures.append)
            for error in failures:
                log.error("a connection has failed", exc_info=error)
            self._note()
            await self._finish(connection, CloseCode.INTERNAL if failures else CloseCode.ENDED)
        finally:
            self._connections.discard(connection)

    async def _finish(self, connection: AsgiConnection, code: CloseCode) -> None:
        """Let a connection end; one that lingers is left to its server when the runtime is closed."""
        ending = asyncio.get_running_loop().create_task(connection.finish(code))
        try:
            await asyncio.wait((ending, self._runtime.over), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ending.cancel()

    def _used(self) -> dict[str, int]:
        lingering = sum(connection.is_lingering for connection in self._connections)
        return {"max_connections": len(self._connections), "max_lingering": lingering}

    def _note(self) -> None:
        for name, now in self._used().items():
            self._high_water[name] = max(now, self._high_water[name])

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()  # lifespan.startup
        if not await _answered(send, "startup", self._runtime.enter):
            return
        await receive()  # lifespan.shutdown
        await _answered(send, "shutdown", self._runtime.leave)


async def _answered(send: Send, phase: str, act: Callable[[], Awaitable[None]]) -> bool:
    """Do one phase of the lifespan, and say how it went."""
    failures: list[Exception] = []
    await contain(act, failures.append)
    outcome = {"type": f"lifespan.{phase}.failed", "message": str(failures[0])} if failures else {}
    await send({"type": f"lifespan.{phase}.complete", **outcome})
    return not failures


async def _upgrade_required(send: Send) -> None:
    headers = [(b"content-type", b"text/plain"), (b"upgrade", b"websocket")]
    await send({"type": "http.response.start", "status": 426, "headers": headers})
    await send({"type": "http.response.body", "body": b"WebSocket only\n"})
