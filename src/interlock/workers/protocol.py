"""What travels between a host and a worker process: orders there, reports back, each in a frame of its own.

A frame is a length of four bytes, big-endian, and so many bytes of MessagePack: a map with the name of its type under
``type``. The worker speaks first: :class:`Hello` with its version, then :class:`Ready` when its model is loaded, then
:class:`Beat` and replies. Whatever else arrives is not the protocol, and raises :class:`interlock.errors.WorldError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from interlock.errors import WorldError
from interlock.runtime.ports import Reply

VERSION = 2
"""Host and worker agree on it, or do not talk."""

FRAME_BYTES = 32 * 1024 * 1024
"""The longest body of a frame, twice what the longest client message can carry."""

HEAD = 4

Bytes: TypeAlias = bytes | bytearray | memoryview


class Submit(msgspec.Struct, frozen=True, tag=True):
    """Take a request. Answered by ``Accepted`` or ``Refused``."""

    request_id: str
    epoch: int
    params: dict[str, Any] = {}


class Append(msgspec.Struct, frozen=True, tag=True):
    """Input for a request. Answered by ``Consumed``, whatever becomes of it."""

    request_id: str
    payload: bytes


class Finish(msgspec.Struct, frozen=True, tag=True):
    """No more input follows; for a listening stage, the turn ends here."""

    request_id: str


class Abort(msgspec.Struct, frozen=True, tag=True):
    """Clean requests up. Each is answered by ``Aborted`` or ``AbortRefused``."""

    request_ids: list[str]


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Take nothing new, and end when everything is given back."""


Order: TypeAlias = Submit | Append | Finish | Abort | Stop


class Hello(msgspec.Struct, frozen=True, tag=True):
    """A worker process is up, and loads its model."""

    version: int
    stage: str
    pid: int


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The model is loaded; orders are taken."""


class Beat(msgspec.Struct, frozen=True, tag=True):
    """A sign of life, from the loop itself: a loop that hangs gives none. ``held`` is what its model counts."""

    held: dict[str, int] = {}


Report: TypeAlias = Hello | Ready | Beat | Reply

_encoder = msgspec.msgpack.Encoder()
_orders = msgspec.msgpack.Decoder(Order)
_reports: msgspec.msgpack.Decoder[Report] = msgspec.msgpack.Decoder(Report)


def encode(message: Order | Report) -> bytearray:
    """Return ``message`` as a whole frame. Raises :class:`WorldError` when it is over ``FRAME_BYTES``.

    The body is written behind room for its length: payloads are copied once, from the message into the frame.
    """
    frame = bytearray(HEAD)
    _encoder.encode_into(message, frame, HEAD)
    size = len(frame) - HEAD
    if size > FRAME_BYTES:
        raise WorldError(f"{type(message).__name__}: {size} bytes; a frame has at most {FRAME_BYTES}")
    frame[:HEAD] = size.to_bytes(HEAD, "big")
    return frame


def decode_order(body: Bytes) -> Order:
    """Return the order in the body of a frame. Raises :class:`WorldError`."""
    try:
        return _orders.decode(body)
    except msgspec.MsgspecError as wrong:
        raise WorldError(f"not an order: {wrong}") from wrong


def decode_report(body: Bytes) -> Report:
    """Return the report in the body of a frame. Raises :class:`WorldError`."""
    try:
        return _reports.decode(body)
    except msgspec.MsgspecError as wrong:
        raise WorldError(f"not a report: {wrong}") from wrong


class Cutter:
    """Cuts a stream of bytes into the bodies of its frames, however the bytes arrive.

    Bodies are views of what was fed: a frame that arrives whole is never copied, one that arrives in pieces is joined
    once, when its last piece is there.
    """

    __slots__ = ("_have", "_need", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[Bytes] = []
        self._have = 0
        self._need = HEAD

    def feed(self, data: Bytes) -> Iterator[memoryview]:
        """Yield every body that ``data`` completes. Raises :class:`WorldError` for a length that no frame has."""
        self._pieces.append(data)
        self._have += len(data)
        if self._have < self._need:
            return
        whole = memoryview(data if len(self._pieces) == 1 else b"".join(self._pieces))
        start = 0
        while (end := self._end(whole, start)) <= len(whole):
            yield whole[start + HEAD : end]
            start = end
        self._keep(whole[start:], end - start)

    def _end(self, whole: memoryview, start: int) -> int:
        """Return where the frame at ``start`` ends; of one whose head is not there, where its head does."""
        if len(whole) < start + HEAD:
            return start + HEAD
        size = int.from_bytes(whole[start : start + HEAD], "big")
        if not 0 < size <= FRAME_BYTES:
            raise WorldError(f"a frame of {size} bytes; one has 1 to {FRAME_BYTES}")
        return start + HEAD + size

    def _keep(self, rest: memoryview, need: int) -> None:
        self._pieces = [bytes(rest)] if rest else []
        self._have, self._need = len(rest), need

    @property
    def is_between(self) -> bool:
        """Whether the stream may end here: no frame has begun."""
        return not self._have


class Greeting:
    """Holds a worker process to its first words: one Hello of our version and stage, one Ready, then the rest."""

    __slots__ = ("_stage", "_step")

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._step = 0

    def check(self, report: Report) -> None:
        """Raise :class:`WorldError` when ``report`` does not belong here."""
        match report:
            case Hello(version, stage) if self._step == 0:
                if (version, stage) != (VERSION, self._stage):
                    raise WorldError(
                        f"the worker speaks version {version} for {stage!r}; we speak {VERSION} for {self._stage!r}"
                    )
                self._step = 1
            case Ready() if self._step == 1:
                self._step = 2
            case Hello() | Ready():
                raise WorldError(f"{type(report).__name__} is out of place")
            case _ if self._step < 2:
                raise WorldError(f"{type(report).__name__} before Ready")
