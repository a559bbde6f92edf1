"""A puppet as a test holds it: the process of one client SDK, what it saw so far, and the verbs that move it."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from tests.serve.server import Lines

ROOT: Final = Path(__file__).resolve().parents[2]
ENVIRONMENTS: Final = ROOT / ".venv-clients"

PATIENCE_S: Final = 30.0
"""How long a test waits for anything before it tells what came instead."""

Event = dict[str, Any]


def python(environment: str) -> list[str]:
    """Return the Python of an environment of clients; skip where nobody made it."""
    if not (ENVIRONMENTS / f".{environment}").exists():
        target = "test-doors" if environment == "openai" else "test-clients"
        pytest.skip(f"no {ENVIRONMENTS.name}/{environment}: `make {target}` installs its clients")
    return [str(ENVIRONMENTS / environment / "bin" / "python"), "-m"]


def node() -> list[str]:
    """Return node; skip where it is missing, or the clients are."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("no node on this machine, so no JavaScript client can be tried")
    if not (ENVIRONMENTS / ".node").exists():
        pytest.skip("the JavaScript clients are not installed: `make test-doors` does it")
    return [found]


class Puppet:
    """One client. ``events`` has all that it saw, the server's events and its own."""

    def __init__(self, name: str, process: trio.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.name = name
        self.process = process
        self.events: list[Event] = []
        self._lines = Lines(process.stdout)
        self._stdin = process.stdin

    async def do(self, verb: str, **fields: Any) -> None:
        """Pull one string."""
        await self._stdin.send_all(json.dumps({"do": verb, **fields}).encode() + b"\n")

    async def append(self, pcm: bytes) -> None:
        """Have it speak: PCM16 mono at 24 kHz."""
        await self.do("append", audio=base64.b64encode(pcm).decode())

    async def next(self) -> Event:
        """Wait for what it sees next."""
        line = await self._lines.next()
        event: Event = json.loads(line)
        self.events.append(event)
        return event

    async def until(self, kind: str, holds: Callable[[Event], bool] = lambda event: True) -> Event:
        """Wait for an event of this type of which something holds, past all others."""
        with trio.move_on_after(PATIENCE_S):
            while True:
                event = await self.next()
                if event["type"] == kind and holds(event):
                    return event
                assert event["type"] != "puppet.ended", f"it ended before {kind}; {self._story()}"
        pytest.fail(f"no {kind} in {PATIENCE_S:g} s; {self._story()}")

    async def until_all(self, *kinds: str) -> None:
        """Wait until it has seen an event of each of these types since now, in whatever order."""
        left = set(kinds)
        while left:
            left -= {(await self.next())["type"]}

    async def leave(self) -> Event:
        """Have it close its connection, and take its end."""
        await self.do("close")
        ended = await self.until("puppet.ended")
        code = await self.process.wait()
        assert code == 0, f"it exited with {code}; {self._story()}"
        return ended

    def seen(self, *kinds: str) -> list[Event]:
        """Return the events of these types."""
        return [event for event in self.events if event["type"] in kinds]

    def _story(self) -> str:
        """Tell what it saw, shortly: equal types once, errors whole."""
        told = [event if "error" in event["type"] else event["type"] for event in self.events]
        seen = " ".join(str(what) for what, last in zip(told, [None, *told], strict=False) if what != last)
        return f"{self.name} saw {seen}"

    @property
    def numbers(self) -> list[int]:
        """The sequence numbers, in the order in which they came."""
        return [event["server_event_seq"] for event in self.events if "server_event_seq" in event]


@asynccontextmanager
async def puppet(name: str, *command: str, environment: Mapping[str, str] | None = None) -> AsyncIterator[Puppet]:
    """Run a puppet for the block; what it complains of on stderr is shown when the test fails."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
    process = await trio.lowlevel.open_process(
        command, cwd=ROOT, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        yield Puppet(name, process)
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
