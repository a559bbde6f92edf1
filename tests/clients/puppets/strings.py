"""The strings of a puppet: one JSON line on stdin is a verb to obey, one on stdout is something it saw.

A puppet is one client SDK, used as its documentation says, in a process and an environment of its own. It decides
nothing and waits for nothing: the test pulls the strings, and judges.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any


def tell(kind: str, **fields: Any) -> None:
    """Say what was seen."""
    tell_event({"type": kind, **fields})


def tell_event(event: Mapping[str, Any]) -> None:
    """Say which event of the server the SDK handed over."""
    print(json.dumps(event), flush=True)  # noqa: T201 - this is the interface


async def verbs() -> AsyncIterator[dict[str, Any]]:
    """Yield the verbs of the test as they come; the end of stdin is the last."""
    lines = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async for line in lines:
        yield json.loads(line)
    yield {"do": "close"}


@asynccontextmanager
async def pulled(obeying: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Obey for the block; what goes wrong in a verb ends the block."""
    async with asyncio.TaskGroup() as group:
        strings = group.create_task(obeying)
        yield
        strings.cancel()


def close_code(lost: BaseExceptionGroup[Any]) -> int:
    """Return what the server closed with, by what ``websockets`` has raised; 1006 where it did not."""
    error = lost.exceptions[0]
    if isinstance(error, BaseExceptionGroup):
        return close_code(error)
    return int(error.rcvd.code) if error.rcvd else 1006


@dataclass
class Place:
    """Where a client is in its session: what a resume needs, taken from the events as they come."""

    session: str = ""
    token: str = ""
    last_seq: int = 0

    def note(self, event: Mapping[str, Any]) -> None:
        """Take in one event, before anything else is done with it."""
        if "resume_token" in event:
            if event["session"]["id"] != self.session:
                self.last_seq = 0
            self.session, self.token = event["session"]["id"], event["resume_token"]
        self.last_seq = event.get("server_event_seq", self.last_seq)

    def query(self) -> dict[str, str]:
        """Return what the next connection's URL is to say."""
        if not self.token:
            return {}
        last = str(self.last_seq)
        return {"session_id": self.session, "resume_token": self.token, "last_received_server_event_seq": last}
