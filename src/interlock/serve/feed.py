"""A WebSocket that one task writes to whenever somebody says that there is something to say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec
import trio

from interlock.runtime.ports import TransportClosed
from interlock.transport.websocket import WebSocketTransport

FIRST_S: Final = 10.0
"""How long a connection may take to say who it is."""

DENIED: Final = 4401
"""The close code of a page that may not see what it asks for."""

encode: Final = msgspec.json.Encoder().encode

T = TypeVar("T")


class Feed:
    """Writes what ``take`` returns, each time that it is woken. A reader that is slow delays only this."""

    def __init__(self, transport: WebSocketTransport, take: Callable[[], Sequence[bytes]]) -> None:
        self._transport = transport
        self._take = take
        self._due = trio.Event()

    def wake(self) -> None:
        """There may be something to write."""
        self._due.set()

    async def run(self) -> None:
        """Write until cancelled, or until the page is gone; whoever reads from it hears of that as well."""
        try:
            while True:
                await self._due.wait()
                self._due = trio.Event()
                if frames := self._take():
                    await self._transport.send(frames)
        except TransportClosed:
            return


async def read(transport: WebSocketTransport, decoder: msgspec.json.Decoder[T]) -> T | None:
    """Return the next message of a page; ``None`` when none comes, or what comes is no such message."""
    data = await transport.receive()
    if data is None:
        return None
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None


async def read_first(transport: WebSocketTransport, decoder: msgspec.json.Decoder[T]) -> T | None:
    """Return the first message, within ``FIRST_S``."""
    with trio.move_on_after(FIRST_S):
        return await read(transport, decoder)
    return None
