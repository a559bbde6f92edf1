"""The pages' part of a server, in this process, with scripted stages: for tests of who gets what."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

import trio
from pydantic import SecretStr
from websockets.exceptions import ConnectionClosed
from websockets.trio.client import ClientConnection, connect
from websockets.typing import Origin

from interlock.runtime.host import Host
from interlock.runtime.ports import Recorder
from interlock.serve.access import Access
from interlock.serve.config import AccessSettings, PageSettings, SocketSettings
from interlock.serve.router import Router
from interlock.serve.shown import Pages
from interlock.session.settings import Settings
from interlock.transport.converse import converse
from interlock.transport.handshake import PATHS
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from interlock.workers.scripted import Script, ScriptedFleet
from tests.transport.served import served

TOKEN = "correct horse battery"


class Shown(NamedTuple):
    """A server: its host, and where it listens."""

    host: Host
    port: int

    def at(self, path: str, origin: str | None = None) -> connect:
        """Return a WebSocket to be opened, as if by a page of ``origin``."""
        return connect(f"ws://127.0.0.1:{self.port}{path}", origin=Origin(origin) if origin else None)

    async def session(self, socket: ClientConnection) -> dict[str, Any]:
        """Open a session on a socket; return its credentials."""
        await say(socket, {"type": "session.update", "session": {}})
        return await hear(socket, "session.created")


@asynccontextmanager
async def shown(record: Recorder | None = None, **settings: Any) -> AsyncIterator[Shown]:
    """Serve sessions and the pages about them; ``settings`` are those of the pages."""
    if "inspect_token" in settings:
        settings["inspect_token"] = SecretStr(settings["inspect_token"])
    pages, router = Pages(PageSettings(**settings)), Router()
    fleet = ScriptedFleet(EARS, MIND, VOICE)
    fleet[EARS].script = Script(transcript="hello")
    fleet[MIND].script = Script(texts=("You said: ", "hello."))
    fleet[VOICE].script = Script(frames=5, ahead=5, begins="input")
    host = Host(EchoPipeline(), fleet, Settings(), pages.record(record))
    async with trio.open_nursery() as nursery:
        await nursery.start(host.run)
        for path in PATHS:
            router.socket(path, partial(converse, host))
        access = Access(AccessSettings(), SocketSettings(), "127.0.0.1")
        pages.show(router, host, nursery, access.bounded, access.check_place)
        async with served(router.handle, respond=router.respond, paths=router.socket_paths) as port:
            yield Shown(host, port)
            await host.shutdown()
        nursery.cancel_scope.cancel()


async def say(socket: ClientConnection, message: dict[str, Any]) -> None:
    """Send a message."""
    await socket.send(json.dumps(message))


async def hear(socket: ClientConnection, kind: str) -> dict[str, Any]:
    """Return the next message of a type."""
    while True:
        message: dict[str, Any] = json.loads(await socket.recv())
        if message.get("type") == kind:
            return message


async def records(socket: ClientConnection, until: str) -> list[dict[str, Any]]:
    """Return records up to the first one whose event has this name."""
    found: list[dict[str, Any]] = []
    while True:
        for line in str(await socket.recv()).splitlines():
            record = json.loads(line)
            if "n" in record:
                found.append(record)
            if record.get("event", {}).get("type") == until:
                return found


async def end_of(socket: ClientConnection) -> tuple[int | None, str]:
    """Read to the end; return the close code, ``None`` for a reset, and the reason."""
    try:
        while True:
            await socket.recv()
    except ConnectionClosed as closed:
        return (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd is not None else (None, "")
