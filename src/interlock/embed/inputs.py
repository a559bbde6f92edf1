"""What is appended to a request of an :class:`interlock.embed.stage.AsyncStage`, as its generator reads it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Self


class Inputs:
    """Pieces of input in order: UTF-8 text, or PCM16 mono audio. ``None`` ends a turn, or all input of a request.

    Iterated by the generator of the request, and by nobody else; it never ends by itself.
    """

    def __init__(self, taken: Callable[[int], None]) -> None:
        self.bytes = 0
        """What waits to be read."""
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._taken = taken

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes | None:
        piece = await self._pieces.get()
        if piece is not None:
            self.bytes -= len(piece)
            self._taken(len(piece))
        return piece

    async def text(self) -> str:
        """Return everything up to the end of the turn, as text."""
        pieces: list[bytes] = []
        async for piece in self:
            if piece is None:
                break
            pieces.append(piece)
        return b"".join(pieces).decode("utf-8", "replace")

    def put(self, piece: bytes | None) -> None:
        """Hand over a piece, or the end of a turn."""
        self.bytes += len(piece or b"")
        self._pieces.put_nowait(piece)
