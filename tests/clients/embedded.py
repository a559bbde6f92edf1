"""The other door, as a process that starts and stops like ``interlock serve``: a runtime under FastAPI, on uvicorn.

``python -m tests.clients.embedded`` takes the options of ``interlock serve`` that the tests of clients use.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from interlock.embed import Runtime
from interlock.observe.trace import Trace
from interlock.serve.config import Config
from interlock.serve.run import fleet_of, say
from interlock.workers.echo import EARS, MIND, VOICE, EchoPipeline


class Server(uvicorn.Server):
    """One that lets the runtime say goodbye before it closes the sockets (docs/embed.md, "The end")."""

    def __init__(self, config: uvicorn.Config, runtime: Runtime) -> None:
        super().__init__(config)
        self._runtime = runtime
        self._loop = asyncio.get_running_loop()

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Listen, and say where."""
        await super().startup(None)
        say({"event": "listening", "port": self.servers[0].sockets[0].getsockname()[1]})

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at a signal, the runtime first; and do not die of it in the end, as uvicorn would."""
        self._loop.call_soon_threadsafe(self._runtime.stop)
        self.should_exit = True


async def serve(asked: argparse.Namespace) -> None:
    """Serve until a signal comes; the last line is what is still owed."""
    config = Config(scripted=asked.scripted, ahead=asked.ahead)
    runtime = Runtime(EchoPipeline(), fleet_of(config), config.session, record=Trace(asked.trace))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with runtime:
            await runtime.wait_ready(EARS, MIND, VOICE)
            yield
        say({"event": "stopped", "owed": runtime.owed()})

    app = FastAPI(lifespan=lifespan)
    app.mount("/v1", runtime.asgi())
    tls = {"ssl_certfile": asked.tls_cert, "ssl_keyfile": asked.tls_key} if asked.tls_cert else {}
    await Server(uvicorn.Config(app, port=asked.port, log_level="warning", **tls), runtime).serve()


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--debug", action="store_true", help="taken, and without a meaning here")
    parser.add_argument("--scripted", type=int, default=0)
    parser.add_argument("--ahead", type=int, default=12)
    parser.add_argument("--tls-cert", type=Path)
    parser.add_argument("--tls-key", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(serve(options()))
