"""The first exchange of a client's connection: what it is here for, and the server's answer."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import msgspec
import trio

from interlock.runtime.ports import TransportClosed
from interlock.transport.client_errors import ConnectionLost, Refused, ResyncRequired
from interlock.transport.dial import dial
from interlock.transport.limits import ClientLimits
from interlock.transport.websocket import WebSocketTransport

_Event = dict[str, Any]
_ENCODER: Final = msgspec.json.Encoder()


async def introduce(
    url: str, limits: ClientLimits, message: _Event, wanted: str
) -> tuple[WebSocketTransport, dict[str, Any]]:
    """Dial, send the first message, and return the connection with its ``wanted`` event, within ``attempt_s``.

    Raises :class:`ConnectionLost`, :class:`Refused` and :class:`ResyncRequired`; the socket is then free.
    """
    with trio.move_on_after(limits.attempt_s):
        try:
            transport = await dial(duplex_url(url), limits.socket)
        except TransportClosed as error:
            raise ConnectionLost(str(error)) from error
        try:
            return transport, await _ask(transport, message, wanted)
        except BaseException:
            transport.abort("not introduced")
            raise
    raise ConnectionLost(f"no {wanted} in time")


def duplex_url(url: str) -> str:
    """Say in the URL which dialect this client speaks, unless it says so already."""
    parts = urlsplit(url)
    if parts.path.endswith("/duplex") or "duplex" in dict(parse_qsl(parts.query)):
        return url
    return parts._replace(query="&".join(filter(None, (parts.query, "duplex=1")))).geturl()


async def _ask(transport: WebSocketTransport, message: _Event, wanted: str) -> _Event:
    try:
        await transport.send([_ENCODER.encode(message)])
    except TransportClosed as error:
        raise ConnectionLost(str(error)) from error
    while (data := await transport.receive()) is not None:
        if (event := read_event(data))["type"] == wanted:
            return event
        _refuse(event)
    raise ConnectionLost(f"{transport.ended} before {wanted}")


def read_event(data: bytes) -> _Event:
    """Decode one event of the server. Raises :class:`ConnectionLost` where it is none."""
    try:
        return {"type": "", **msgspec.json.decode(data, type=_Event)}
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConnectionLost(f"the server sent what is no event: {error}") from error


def _refuse(event: _Event) -> None:
    """Raise what an answer means that is no credentials. Other events are none of the answer."""
    if event["type"] == "session.resync_required":
        raise ResyncRequired(event.get("resumable_from"), event.get("head", 0))
    if event["type"] == "error":
        error = event.get("error", {})
        code, message = str(error.get("code", "")), str(error.get("message", ""))
        raise Refused(code, message, retryable=bool(error.get("retryable")), param=error.get("param"))
