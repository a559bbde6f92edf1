"""The frames of the journal, which is also the outbox: encoded once, kept until they are trimmed, sent from here.

Numbers are dense in the store; a voided frame keeps its number and loses its bytes, and every reader steps over it.
The positions that decide (head, handed, trimmed) are in the frozen value; this holds the bytes beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast


class Frame(NamedTuple):
    """One frame. ``epoch`` is 0 for a lifecycle event, which is never voided; ``data`` is ``None`` once voided.

    A ``private`` one is an event that strict clients do not know: their writer steps over it.
    """

    seq: int
    epoch: int
    at: float
    data: bytes | None
    private: bool = False


_new = cast("Callable[[type[Frame], tuple[Any, ...]], Frame]", tuple.__new__)


class Batch(NamedTuple):
    """What is due to a writer: whole frames, and the position after them."""

    frames: tuple[bytes, ...]
    cursor: int


class Frames:
    """Frames by number. Lazy: an empty one is three words."""

    __slots__ = ("_first", "_frames", "size")

    def __init__(self) -> None:
        self._frames: list[Frame] = []
        self._first = 1
        self.size = 0
        """Bytes of the frames held."""

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def oldest_at(self) -> float:
        """When the oldest frame was held; infinite when there is none."""
        return self._frames[0].at if self._frames else math.inf

    @property
    def live(self) -> list[Frame]:
        """The frames that still have their bytes."""
        return [frame for frame in self._frames if frame.data is not None]

    def append(self, seq: int, epoch: int, at: float, *frames: bytes, private: bool = False) -> None:
        """Hold frames, numbered from ``seq`` on. Numbers come in order; a frame that could not be made is void."""
        if not self._frames:
            self._first = seq
        elif self._first + len(self._frames) != seq:
            self._frames += [Frame(n, epoch, at, None) for n in range(self._first + len(self._frames), seq)]
        for data in frames:
            self._frames.append(_new(Frame, (seq, epoch, at, data, private)))
            self.size += len(data)
            seq += 1

    def due(self, cursor: int, limit: int, *, strict: bool = False) -> Batch:
        """Return the frames after ``cursor``: at least one if there is any, else at most ``limit`` bytes.

        ``strict`` leaves out what is private.
        """
        found: list[bytes] = []
        size = 0
        frames = self._frames
        for index in range(max(cursor + 1 - self._first, 0), len(frames)):
            seq, _, _, data, private = frames[index]
            if data is not None and not (strict and private):
                size += len(data)
                if found and size > limit:
                    break
                found.append(data)
            cursor = seq
        return Batch(tuple(found), cursor)

    def void(self, through: int) -> tuple[int, ...]:
        """Free every delta of epochs up to ``through``; return the numbers of those that it freed."""
        freed: list[int] = []
        for index, frame in enumerate(self._frames):
            if frame.data is not None and 0 < frame.epoch <= through:
                self.size -= len(frame.data)
                self._frames[index] = frame._replace(data=None)
                freed.append(frame.seq)
        return tuple(freed)

    def trim(self, through: int) -> None:
        """Let go of everything up to ``through``."""
        count = min(max(through + 1 - self._first, 0), len(self._frames))
        self.size -= sum([len(frame.data) for frame in self._frames[:count] if frame.data is not None])
        del self._frames[:count]
        self._first += count

    def mark(self, *, room: int, before: float, through: int) -> int:
        """Return up to where to trim so that ``room`` bytes stay and nothing handed is older than ``before``.

        Never past ``through``: only what a transport was handed is let go for room or age.
        """
        size, mark = self.size, self._first - 1
        for frame in self._frames:
            if frame.seq > through or (size <= room and frame.at >= before):
                break
            size -= len(frame.data) if frame.data is not None else 0
            mark = frame.seq
        return mark

    def clear(self) -> None:
        """Let go of everything."""
        self._frames.clear()
        self.size = 0
