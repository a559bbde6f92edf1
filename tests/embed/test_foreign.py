"""The ASGI app under a server whose transports are out of reach: hypercorn, on asyncio."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypercorn.asyncio import serve
from hypercorn.config import Config
from websockets.asyncio.client import connect

from interlock.embed import Runtime
from interlock.session.settings import Settings
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline
from tests.embed.scene import Run, scripted
from tests.embed.served import say, speak, until

PATH = "/v1/realtime?duplex=1"


@asynccontextmanager
async def hypercorn(runtime: Runtime) -> AsyncIterator[str]:
    """Serve a runtime that owns itself by the lifespan; give the address."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    port, config = listening.getsockname()[1], Config()
    config.bind = [f"fd://{listening.detach()}"]
    config.errorlog = logging.getLogger("hypercorn.test")
    stop = asyncio.Event()
    serving = asyncio.ensure_future(serve(runtime.asgi(), config, shutdown_trigger=stop.wait))  # type: ignore[arg-type]
    try:
        yield f"ws://127.0.0.1:{port}{PATH}"
    finally:
        stop.set()
        await serving


@pytest.mark.real_clock
def test_a_runtime_that_is_an_app_by_itself_lives_as_long_as_its_server(run: Run) -> None:
    async def main() -> None:
        runtime = Runtime(EchoPipeline(), scripted())
        async with hypercorn(runtime) as url, connect(url) as client:
            await runtime.wait_ready(EARS, MIND, VOICE)
            await say(client, "session.update", session={})
            await until(client, "session.created")
            await speak(client)
            events = await until(client, "response.done")
            assert [event["type"] for event in events].count("response.output_audio.delta") == 10
            await say(client, "session.close")
            await until(client, "session.closed")
            await client.wait_closed()
            assert (client.close_code, client.close_reason) == (1000, "client_close")
        assert (runtime.is_over, runtime.owed(), runtime.host.slots) == (True, [], 0)

    run(main)


@pytest.mark.real_clock
def test_a_superseded_client_is_told_and_closed(run: Run) -> None:
    async def main() -> None:
        runtime = Runtime(EchoPipeline(), scripted(), Settings(evict_s=0.3))
        async with hypercorn(runtime) as url, connect(url) as first, connect(url) as second:
            await say(first, "session.update", session={})
            (created,) = await until(first, "session.created")
            where = {"session_id": created["session"]["id"], "resume_token": created["resume_token"]}
            await say(second, "session.resume", **where, last_received_server_event_seq=0)
            await until(second, "session.resumed")
            await until(first, "session.replaced")
            await first.wait_closed()
            assert first.close_code == 4001
        assert (runtime.owed(), runtime.host.slots, runtime.host.defects) == ([], 0, [])

    run(main)
