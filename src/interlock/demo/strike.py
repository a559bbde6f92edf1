"""``--kill-worker``: the server's own worker process is killed while it speaks, as by a crash or an operator."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import trio

from interlock.demo.server import Server
from interlock.errors import WorldError
from interlock.workers.echo import VOICE

READY_S: Final = 30.0
"""A worker that was killed imports and loads its model again."""
LOOK_S: Final = 0.05


class Worker(NamedTuple):
    """One worker process as the server tells it."""

    stage: str
    state: str
    incarnation: int
    pid: int | None
    """None of a thread, and of a worker that is being started again."""


class Striker:
    """Kills the worker that speaks. ``before`` and ``after`` are that worker, and the one that took its place."""

    def __init__(self, server: Server, stage: str = VOICE) -> None:
        self.stage = stage
        self.before: Worker | None = None
        self.after: Worker | None = None
        self._server = server

    async def kill(self) -> Worker:
        """Send SIGKILL. Raises :class:`WorldError` where there is no such process."""
        self.before = found = worker_of(await self._server.books(), self.stage)
        if found.pid is None:
            raise WorldError(f"the server names no process for {self.stage}: only a process can be killed")
        try:
            os.kill(found.pid, signal.SIGKILL)
        except ProcessLookupError:
            raise WorldError(
                f"the worker of {self.stage}, process {found.pid}, was gone before it was killed"
            ) from None
        return found

    async def until_ready(self) -> Worker:
        """Wait until another process has taken its place. Raises :class:`WorldError` when none does in time."""
        with trio.move_on_after(READY_S):
            while not self._is_back(found := worker_of(await self._server.books(), self.stage)):  # noqa: ASYNC110
                await trio.sleep(LOOK_S)
            self.after = found
            return found
        raise WorldError(f"the worker of {self.stage} was not ready again within {READY_S:g} s")

    def _is_back(self, found: Worker) -> bool:
        return self.before is not None and found.state == "READY" and found.incarnation != self.before.incarnation


def worker_of(books: Mapping[str, Any], stage: str) -> Worker:
    """Find a stage's worker in the books. Raises :class:`WorldError` where the server has none."""
    for told in books.get("workers", ()):
        if told["stage"] == stage:
            return Worker(stage, told["state"], told["incarnation"], told["pid"])
    raise WorldError(f"the server names no worker of {stage}")
