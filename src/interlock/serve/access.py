"""Who may come in: guards for the paths of the router, and how many connections one client may hold.

Asked before a WebSocket opens, so that a refusal is an HTTP status; a browser sees no status, so what has to be told
to a page comes as an ``error`` event and a close code. docs/security.md says what this defends against.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Final

import trio

from interlock.errors import WorldError
from interlock.runtime.ports import TransportClosed
from interlock.serve.config import AccessSettings, SocketSettings
from interlock.serve.hook import Hook, HookFailed
from interlock.transport.crowd import Crowd
from interlock.transport.endpoint import Handler
from interlock.transport.keys import Keys, offered_key, read_keys
from interlock.transport.opening import Opening, Page
from interlock.transport.origin import is_host_known, is_loopback, is_origin_allowed
from interlock.transport.websocket import WebSocketTransport
from interlock.wire import outbound
from interlock.wire.codes import CloseCode

ASK_FOR_KEY: Final = (("WWW-Authenticate", "Bearer"),)
_LOG: Final = logging.getLogger("interlock")


class Access:
    """The rules of one server. Raises :class:`WorldError` for keys or a hook that cannot be read."""

    def __init__(self, settings: AccessSettings, socket: SocketSettings, host: str) -> None:
        self._settings = settings
        self._keys = keys_of(settings)
        self._hook = Hook(settings.hook, settings.hook_s) if settings.hook else None
        self._checks_host = bool(settings.hosts) or is_loopback(host)
        self._peers = Crowd(socket.max_per_peer)
        self._callers = Crowd(socket.max_per_key)

    @property
    def asks(self) -> bool:
        """Whether a client has to say who it is."""
        return len(self._keys) > 0 or self._hook is not None

    async def check_place(self, opening: Opening) -> Opening | Page:
        """Refuse a page of another origin, and who calls us by a name that is not ours."""
        if self._checks_host and not is_host_known(opening, self._settings.hosts):
            return refusal(403, "unknown_host", "this server is not called by that name; name it in access.hosts")
        if not is_origin_allowed(opening, self._settings.origins):
            return refusal(403, "origin_not_allowed", "pages of that origin may not connect; see access.origins")
        return opening

    async def check_key(self, opening: Opening) -> Opening | Page:
        """Refuse who brings no key that is known, where keys are asked for; tell later handlers who came."""
        if not self.asks:
            return opening
        name = self._keys.name_of(offered_key(opening))
        if name is None and self._hook is not None:
            try:
                name = await self._hook.ask(opening)
            except HookFailed as error:
                _LOG.error("the auth hook has failed: %s", error)
                return refusal(503, "auth_unavailable", "nobody can say now who you are; try again later")
        if name is None:
            return refusal(401, "invalid_api_key", "no valid API key: send Authorization: Bearer KEY", ASK_FOR_KEY)
        return opening.of(name)

    async def check_scraper(self, opening: Opening) -> Opening | Page:
        """Let in who may read the metrics: nobody's page, and where there are keys, who has one."""
        placed = await self.check_place(opening)
        if isinstance(placed, Page) or self._settings.metrics_open:
            return placed
        return await self.check_key(placed)

    def bounded(self, handler: Handler) -> Handler:
        """Return a handler that serves so many connections of one address, and of one key, and refuses more."""

        async def serve(transport: WebSocketTransport) -> None:
            peer, caller = transport.opening.peer, transport.opening.caller
            in_bounds = self._peers.enter(peer), self._callers.enter(caller)
            try:
                if not (in_bounds[0] or is_loopback(peer)):
                    await _turn_away(transport, f"max_per_peer = {self._peers.limit} connections of one address")
                elif caller and not in_bounds[1]:
                    await _turn_away(transport, f"max_per_key = {self._callers.limit} connections of one key")
                else:
                    await handler(transport)
            finally:
                self._peers.leave(peer)
                self._callers.leave(caller)

        return serve


def keys_of(settings: AccessSettings) -> Keys:
    """Read the keys of the settings and of their file. Raises :class:`WorldError` that shows none."""
    lines = settings.keys.get_secret_value().split(",")
    where = "access.keys"
    try:
        if settings.keys_file is not None:
            lines = [*_lines_of(settings.keys_file), *lines]
            where = str(settings.keys_file)
        return read_keys(lines)
    except (ValueError, OSError) as error:
        raise WorldError(f"{where}: {error}") from error


def _lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def refusal(status: int, code: str, message: str, headers: tuple[tuple[str, str], ...] = ()) -> Page:
    """Return a page that says why, in the shape of an error event."""
    body = {"error": {"type": "invalid_request_error" if status < 500 else "server_error", "code": code}}
    body["error"]["message"] = message
    return Page(status, "application/json", json.dumps(body).encode(), headers)


async def _turn_away(transport: WebSocketTransport, limit: str) -> None:
    """Tell a client that it has too many connections, and close with 1013."""
    text = f"{limit} are open; close one first"
    _LOG.warning("turned away %s %s: %s", transport.opening.peer, transport.opening.caller, text)
    try:
        await transport.send([outbound.error("resource_exhausted", text, n="crowd")])
        await transport.close(CloseCode.FULL, "resource_exhausted")
    except (TransportClosed, trio.BrokenResourceError):
        return
