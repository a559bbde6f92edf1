"""Models without a model: they count, and fail, hang or dawdle where a request's parameters say so.

``params = {"raises": ["step"], "hangs": ["open"], "blames": True}``: lists of method names; ``blames`` makes the
exception name its request. ``count`` says how often a method raises before it works.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from interlock.workers.stage import StageOutput, StageRequest

RELEASE = threading.Event()
"""Lets everything go on that hangs in this process."""

HANGS = threading.Event()
"""Is set once something hangs in this process."""


class Blamed(RuntimeError):
    """An exception that says whose fault it is."""

    def __init__(self, method: str, request_id: str | None) -> None:
        super().__init__(f"{method} was told to raise")
        self.request_id = request_id


class Counting:
    """Answers each append with the count of bytes so far, and a finish with ``finished``."""

    def __init__(self, capacity: int = 64, speaks: bool = False) -> None:
        self.capacity = capacity
        self.requests: dict[str, StageRequest] = {}
        self.counts: dict[str, int] = {}
        self.raised: dict[tuple[str, str], int] = {}
        self.made: list[StageOutput] = []
        self.speaks = speaks

    def open(self, request: StageRequest) -> None:
        self.requests[request.request_id] = request
        self.counts[request.request_id] = 0
        self._misbehave("open", request.request_id)

    def append(self, request_id: str, payload: bytes, now: float) -> None:
        self._misbehave("append", request_id)
        if self.speaks:
            sys.stdout.write(payload.decode())
            sys.stdout.flush()
        self.counts[request_id] += len(payload)
        self.made.append(StageOutput(request_id, "text", str(self.counts[request_id]).encode()))

    def finish(self, request_id: str, now: float) -> None:
        self._misbehave("finish", request_id)
        self.made.append(StageOutput(request_id, "finished"))

    def step(self, now: float) -> Sequence[StageOutput]:
        for request_id in list(self.requests):
            self._misbehave("step", request_id)
        made, self.made = self.made, []
        return made

    def due(self, now: float) -> float | None:
        stirring = any(
            "step" in _listed(request, key) for request in self.requests.values() for key in ("raises", "hangs")
        )
        return 0.0 if self.made or stirring else None

    def close(self, request_id: str) -> None:
        self._misbehave("close", request_id)
        self.requests.pop(request_id, None)
        self.counts.pop(request_id, None)

    def held(self) -> Mapping[str, int]:
        return {"slots": len(self.requests), "bytes": sum(self.counts.values())}

    def _misbehave(self, method: str, request_id: str) -> None:
        request = self.requests.get(request_id)
        if request is None:
            return
        if method in _listed(request, "hangs"):
            HANGS.set()
            RELEASE.wait()
        raised = self.raised.get((method, request_id), 0)
        if method in _listed(request, "raises") and raised < request.params.get("count", 1_000):
            self.raised[method, request_id] = raised + 1
            raise Blamed(method, request_id if request.params.get("blames") else None)


def _listed(request: StageRequest, *keys: str) -> list[str]:
    return [method for key in keys for method in request.params.get(key, ())]


MADE: list[Counting] = []
"""Every model that was made in this process."""


def counting(**args: Any) -> Counting:
    """Make a model, and let tests of threads look into it."""
    MADE.append(Counting(**args))
    return MADE[-1]


def noisy(**args: Any) -> Counting:
    """Make a model that writes to what it takes for stdout, in every way there is."""
    sys.stdout.write("loading")
    sys.stdout.flush()
    os.write(1, b"from C, as it were\n")
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    return counting(speaks=True, **args)


def breeding(path: str) -> Counting:
    """Make a model that has started a process of its own, which would live on, and says its id in a file."""
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    Path(path).write_text(str(child.pid))
    return counting()


def impossible() -> Counting:
    """Make no model."""
    raise RuntimeError("the weights are not there")


def endless() -> Counting:
    """Load for ever."""
    HANGS.set()
    RELEASE.wait()
    return counting()
