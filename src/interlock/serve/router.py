"""Which path of the one port leads where: plain pages, and WebSockets.

A page is a function of the request (:class:`interlock.transport.opening.Opening`: path, query, headers, peer) that
returns at once. Guards are asked before it, in the order of registration; the first page that one returns is the answer
instead. WebSocket paths have guards as well, which are asked before the socket opens.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

from interlock.transport.endpoint import Handler
from interlock.transport.opening import Opening, Page
from interlock.transport.websocket import WebSocketTransport

Answer: TypeAlias = Callable[[Opening], Page | None]
"""Makes a page; ``None`` is not found. Runs in the loop, so it waits for nothing."""

Guard: TypeAlias = Callable[[Opening], Awaitable[Opening | Page]]
"""Returns the request, maybe with more known about it, or the page that refuses it. May wait; nobody else does."""


class Place(NamedTuple):
    """What is at a path, and who stands before it."""

    answer: Answer
    guards: tuple[Guard, ...]


class Router:
    """Routes of one server. Paths are exact; those of a folder have everything below it as well."""

    def __init__(self) -> None:
        self._pages: dict[str, Place] = {}
        self._folders: dict[str, Place] = {}
        self._sockets: dict[str, tuple[Handler, tuple[Guard, ...]]] = {}

    def page(self, path: str, answer: Answer, *guards: Guard) -> None:
        """Answer GET of ``path``."""
        self._pages[path] = Place(answer, guards)

    def folder(self, prefix: str, answer: Answer, *guards: Guard) -> None:
        """Answer GET of every path that begins with ``prefix``, which ends with a slash; the longest one counts."""
        self._folders[prefix] = Place(answer, guards)

    def socket(self, path: str, handler: Handler, *guards: Guard) -> None:
        """Let ``handler`` serve the WebSockets that are opened at ``path``."""
        self._sockets[path] = (handler, guards)

    @property
    def socket_paths(self) -> tuple[str, ...]:
        """Where a WebSocket opens."""
        return tuple(self._sockets)

    async def respond(self, opening: Opening) -> Page | Opening | None:
        """Return the page that answers a request, or the request itself, to let its WebSocket open."""
        if opening.path in self._sockets:
            return await _guarded(self._sockets[opening.path][1], opening)
        place = self._place(opening.path)
        if place is None:
            return None
        passed = await _guarded(place.guards, opening)
        return passed if isinstance(passed, Page) else place.answer(passed)

    async def handle(self, transport: WebSocketTransport) -> None:
        """Serve a WebSocket that was opened at one of ``socket_paths``."""
        handler, _ = self._sockets[transport.opening.path]
        await handler(transport)

    def _place(self, path: str) -> Place | None:
        if path in self._pages:
            return self._pages[path]
        below = [prefix for prefix in self._folders if path.startswith(prefix)]
        return self._folders[max(below, key=len)] if below else None


async def _guarded(guards: tuple[Guard, ...], opening: Opening) -> Opening | Page:
    for guard in guards:
        passed = await guard(opening)
        if isinstance(passed, Page):
            return passed
        opening = passed
    return opening
