"""The far ends of benchmarks/link.py: ``python link_peers.py pipe``, ``... zmq ADDRESS``. Each echoes a frame.

``echo`` is the far end of ours: a stage model that says what it hears, for ``interlock.workers.child``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

HEAD = 4


class Echo:
    """A stage model: each input comes back as an output."""

    capacity = 8

    def __init__(self) -> None:
        from interlock.workers.stage import StageOutput

        self._output = StageOutput
        self._made: list[Any] = []

    def open(self, request: Any) -> None: ...

    def append(self, request_id: str, payload: bytes, now: float) -> None:
        self._made.append(self._output(request_id, "audio", payload))

    def finish(self, request_id: str, now: float) -> None: ...

    def step(self, now: float) -> Sequence[Any]:
        made, self._made = self._made, []
        return made

    def due(self, now: float) -> float | None:
        return 0.0 if self._made else None

    def close(self, request_id: str) -> None: ...

    def held(self) -> Mapping[str, int]:
        return {"slots": 0, "bytes": 0}


def pipe() -> None:
    """Read frames with a length of four bytes from stdin, write them to stdout."""
    rest = b""
    while data := os.read(0, 65536):
        rest += data
        while len(rest) >= HEAD and len(rest) >= (end := HEAD + int.from_bytes(rest[:HEAD], "big")):
            left = memoryview(rest)[:end]
            while left:
                left = left[os.write(1, left) :]
            rest = rest[end:]


def zmq(address: str) -> None:
    """Echo on a DEALER."""
    import zmq as library

    socket = library.Context.instance().socket(library.DEALER)
    socket.connect(address)
    while True:
        socket.send(socket.recv())


if __name__ == "__main__":
    {"pipe": pipe, "zmq": zmq}[sys.argv[1]](*sys.argv[2:])
