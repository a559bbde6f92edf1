"""Stages of an agent without weights, for faults of real workers: ears that hear what is committed, a mind that talks.

A request of the mind does what its parameters say: ``words``, one each ``pace_s``; ``hangs`` in these methods;
``half_frame`` writes half a frame to the host at its first word and ends the process; ``exits`` only ends it.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from interlock.workers.stage import StageOutput, StageRequest

FOREVER = threading.Event()

HEARD = b"hello"


class Listener:
    """Hears ``hello`` in every turn that is committed."""

    capacity = 1_000

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._made: list[StageOutput] = []

    def open(self, request: StageRequest) -> None:
        self._open.add(request.request_id)

    def append(self, request_id: str, payload: bytes, now: float) -> None:
        """Take audio."""

    def finish(self, request_id: str, now: float) -> None:
        self._made.append(StageOutput(request_id, "transcript", HEARD, reason="commit"))

    def step(self, now: float) -> Sequence[StageOutput]:
        made, self._made = self._made, []
        return made

    def due(self, now: float) -> float | None:
        return 0.0 if self._made else None

    def close(self, request_id: str) -> None:
        self._open.discard(request_id)

    def held(self) -> Mapping[str, int]:
        return {"slots": len(self._open), "bytes": 0}


class Talker:
    """Says numbers. ``starts`` names a file: the first worker that finds it takes it away, and never becomes ready."""

    capacity = 1_000

    def __init__(self, starts: str = "") -> None:
        if starts and Path(starts).exists():
            Path(starts).unlink()
            FOREVER.wait()
        self._open: dict[str, Mapping[str, Any]] = {}
        self._said: dict[str, int] = {}
        self._next: dict[str, float] = {}

    def open(self, request: StageRequest) -> None:
        self._open[request.request_id] = request.params
        self._hang("open", request.request_id)
        self._said[request.request_id] = 0
        self._next[request.request_id] = 0.0

    def append(self, request_id: str, payload: bytes, now: float) -> None:
        """Take text."""

    def finish(self, request_id: str, now: float) -> None:
        """Say on."""

    def step(self, now: float) -> Sequence[StageOutput]:
        made: list[StageOutput] = []
        for request_id in [each for each, at in self._next.items() if at <= now]:
            made += self._say(request_id, now)
        return made

    def _say(self, request_id: str, now: float) -> list[StageOutput]:
        params = self._open[request_id]
        self._hang("step", request_id)
        if self._said[request_id] >= int(params.get("words", 3)):
            del self._next[request_id]
            return [StageOutput(request_id, "finished")]
        if self._said[request_id]:
            self._leave(params)
        self._said[request_id] += 1
        self._next[request_id] = now + float(params.get("pace_s", 0.0))
        return [StageOutput(request_id, "text", f"{self._said[request_id]} ".encode())]

    def _leave(self, params: Mapping[str, Any]) -> None:
        if params.get("half_frame"):
            os.write(wire(), (1000).to_bytes(4, "big") + b"half of it")
        if params.get("half_frame") or params.get("exits"):
            os._exit(9)

    def _hang(self, method: str, request_id: str) -> None:
        if method in self._open.get(request_id, {}).get("hangs", ()):
            FOREVER.wait()

    def due(self, now: float) -> float | None:
        return max(0.0, min(self._next.values()) - now) if self._next else None

    def close(self, request_id: str) -> None:
        self._hang("close", request_id)
        for kept in (self._open, self._said, self._next):
            kept.pop(request_id, None)

    def held(self) -> Mapping[str, int]:
        return {"slots": len(self._open), "bytes": 0}


def wire() -> int:
    """Find the pipe that a worker writes its frames to."""
    for number in range(3, 64):
        try:
            is_pipe = stat.S_ISFIFO(os.fstat(number).st_mode)
        except OSError:
            continue
        if is_pipe and fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
            return number
    raise AssertionError("this is no worker process")
