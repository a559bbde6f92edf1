"""A program that closes its loop under a runtime: the thread is lost, and this process with it."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading

import trio

from interlock.embed import Misuse, Runtime
from interlock.workers.echo import EchoPipeline
from tests.embed.scene import Wire, scripted


async def main(runtime: Runtime) -> trio.lowlevel.TrioToken:
    """Enter, and do not leave; return the way into the run from other threads."""
    await runtime.enter()
    tokens: list[trio.lowlevel.TrioToken] = []

    async def ask() -> None:
        tokens.append(trio.lowlevel.current_trio_token())

    await runtime.wait(ask)
    return tokens[0]


told = threading.Event()


class Told(logging.Handler):
    """Writes what is logged, and says that something was."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write it."""
        sys.stdout.write(f"{record.getMessage()}\n")
        told.set()


def made() -> Runtime:
    """Make a runtime that nobody has entered."""
    return Runtime(EchoPipeline(), scripted())


if __name__ == "__main__":
    logging.getLogger("interlock").addHandler(Told())
    runtime, loop = made(), asyncio.new_event_loop()
    token = loop.run_until_complete(main(runtime))
    loop.close()
    token.run_sync_soon(print)
    told.wait()
    for act in (lambda: runtime.open(Wire()), lambda: made().enter()):
        try:
            asyncio.run(act())
        except Misuse as error:
            sys.stdout.write(f"{error}\n")
