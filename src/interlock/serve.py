"""``interlock serve``: the composition root. One host, its stages, its door, made from the command line.

The one place that knows all layers. It prints one JSON line when it listens and one when it has stopped; the second
has everything that is still owed, and the exit code says whether anything is.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import logging
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import trio

from interlock.errors import WorldError
from interlock.observe.stall import Stall
from interlock.observe.trace import Trace
from interlock.runtime.host import Host
from interlock.runtime.ledger import books_of, look_at
from interlock.runtime.ports import Fleet
from interlock.session.settings import Settings
from interlock.transport.converse import converse
from interlock.transport.endpoint import serve_websockets
from interlock.transport.handshake import Page
from interlock.transport.limits import SocketLimits
from interlock.transport.websocket import WebSocketTransport
from interlock.workers.echo import EARS, MIND, VOICE, Carrier, EchoPipeline, echo_stages
from interlock.workers.fleet import StageFleet
from interlock.workers.scripted import Script, ScriptedFleet

HELD = ("owed", "slots", "requests", "journal_bytes", "input_bytes")
"""What must be empty, or 0, when a server has stopped."""


SESSIONS = "/debug/sessions/"
SPEAKERS = 8
"""Sessions of the echo agent, where nothing else is said: each that speaks holds a decoder of about 93 MB."""


class Served(NamedTuple):
    """What ``serve`` needs to know; :func:`options` makes it from the command line."""

    host: str = "127.0.0.1"
    port: int = 8765
    debug: bool = False
    trace: Path | None = None
    workers: str = "process"
    mind: Path | None = None
    scripted: int = 0
    ahead: int = 12
    settings: Settings = Settings()


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = HELP
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: loopback only)")
    parser.add_argument("--port", type=int, default=8765, help="port; 0 takes a free one (default: 8765)")
    debug = "answer GET /debug/books, which also has the loop's longest stall; on loopback only"
    parser.add_argument("--debug", action="store_true", help=debug)
    parser.add_argument("--trace", metavar="DIR", type=Path, help="write every event, for interlock replay")
    parser.add_argument("--workers", choices=("process", "thread"), default="process", help="where speech models run")
    mind = "answer with the causal language model in this folder (save_pretrained; extra hf) instead of an echo"
    parser.add_argument("--mind", metavar="PATH", type=Path, help=mind)
    scripted = "no models: a scripted stage hears a turn at each commit and answers with N frames of 40 ms, paced"
    parser.add_argument("--scripted", metavar="N", type=int, default=0, help=scripted)
    ahead = "with --scripted: so many frames at once, before the pace (default: 12)"
    parser.add_argument("--ahead", metavar="N", type=int, default=12, help=ahead)
    setting = "override a limit or a duration, e.g. --set grace_s=60; may be given more than once"
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help=setting)


def main(args: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT. Return 0 when nothing was left owed, else 1."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("websockets").setLevel(logging.WARNING)
    books = trio.run(serve, options(args))
    say({"event": "stopped", **books})
    return 1 if any(books[name] for name in HELD) else 0


def options(args: argparse.Namespace) -> Served:
    """Read the command line. Raises :class:`WorldError` for what cannot be served."""
    defaults = {} if args.scripted else {"max_sessions": str(SPEAKERS)}
    settings = settings_of(args.set, defaults)
    served = Served(
        args.host, args.port, args.debug, args.trace, args.workers, args.mind, args.scripted, args.ahead, settings
    )
    if served.debug and not is_loopback(served.host):
        raise WorldError(f"--debug shows every session, so it needs a loopback --host; {served.host} is none")
    if served.mind is not None and not (served.mind / "config.json").is_file():
        raise WorldError(f"--mind {served.mind}: has no config.json; a folder written by save_pretrained is wanted")
    if served.mind is not None and find_spec("transformers") is None:
        raise WorldError("--mind needs transformers; pip install 'interlock[hf]'")
    if not 0 <= served.port <= 65535:
        raise WorldError(f"--port {served.port}: a port is 0 to 65535")
    return served


def settings_of(assignments: Sequence[str], defaults: Mapping[str, str]) -> Settings:
    """Return the settings with ``NAME=VALUE`` overrides. Raises :class:`WorldError` that names what is wrong."""
    given = dict(defaults)
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        field = Settings.model_fields.get(name)
        if field is None or not equals:
            known = ", ".join(Settings.model_fields)
            raise WorldError(f"--set {assignment}: is not NAME=VALUE with a NAME of {known}")
        given[name] = value
    try:
        return Settings.model_validate_strings(given)
    except ValueError as error:
        raise WorldError(f"--set: {error}") from error


def is_loopback(host: str) -> bool:
    """Say whether an address is reachable from this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def say(line: dict[str, Any]) -> None:
    """Print one JSON line, at once."""
    print(json.dumps(line), flush=True)  # noqa: T201 - this is the interface


async def serve(served: Served) -> dict[str, Any]:
    """Serve until a signal comes; return the books as they are when everything has stopped."""
    trace, stall = Trace(served.trace) if served.trace is not None else None, Stall()
    host = Host(EchoPipeline(), fleet_of(served), served.settings, trace)
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(host.run)
            nursery.start_soon(_heed_signals, host)
            if trace is not None:
                nursery.start_soon(trace.run)
            if served.debug:
                nursery.start_soon(stall.run)
            talks = Talks(host)
            await _listen(nursery, talks, served, stall)
            await host.wait_stopped()
            await talks.wait_over(within_s=SocketLimits().close_s)
            nursery.cancel_scope.cancel()
    finally:
        if trace is not None:
            trace.close()
    return books_of(host)


def fleet_of(served: Served) -> Fleet:
    """Make the stages: real models, or a script."""
    if not served.scripted:
        carrier: Carrier = "thread" if served.workers == "thread" else "process"
        return StageFleet(echo_stages(carrier, speakers=served.settings.max_sessions, mind=served.mind))
    fleet = ScriptedFleet(EARS, MIND, VOICE, record=False)
    fleet[EARS].script = Script(transcript="as the script says")
    fleet[MIND].script = Script(texts=("You said: ", "as the script says."))
    fleet[VOICE].script = Script(frames=served.scripted, ahead=served.ahead, begins="input")
    return fleet


class Talks:
    """The conversations that are under way. A stopped host has said its goodbyes; they have to be heard as well."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._count = 0
        self._over = trio.Event()

    async def converse(self, transport: WebSocketTransport) -> None:
        """Hold one."""
        self._count += 1
        try:
            await converse(self.host, transport)
        finally:
            self._count -= 1
            self._over.set()

    async def wait_over(self, within_s: float) -> None:
        """Return when the last one is over, or the time is."""
        with trio.move_on_after(within_s):
            while self._count:
                self._over = trio.Event()
                await self._over.wait()


async def _listen(nursery: trio.Nursery, talks: Talks, served: Served, stall: Stall) -> None:
    host = talks.host
    limits = SocketLimits(frame_bytes=served.settings.frame_bytes)
    respond = partial(_page, host, stall if served.debug else None)
    try:
        port = await nursery.start(
            partial(serve_websockets, talks.converse, served.host, served.port, respond=respond, limits=limits)
        )
    except OSError as error:
        raise WorldError(f"cannot listen on {served.host}:{served.port}: {error.strerror or error}") from error
    await host.wait_ready(EchoPipeline.listen, *EchoPipeline.answer)
    say({"event": "listening", "url": f"ws://{served.host}:{port}/v1/realtime", "port": port})


async def _heed_signals(host: Host) -> None:
    """The first signal begins the shutdown; the ones that follow change nothing, and its deadline holds."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            host.log.info("%s: every session ends now", signal.Signals(number).name)
            host.stop()


def _page(host: Host, stall: Stall | None, path: str) -> Page | None:
    if path == "/healthz":
        state = "stopping" if host.is_stopping else "ok"
        return 200, "application/json", json.dumps({"status": state, "slots": host.slots}).encode()
    if path == "/debug/books" and stall is not None:
        workers = host.fleet.workers() if isinstance(host.fleet, StageFleet) else ()
        books = books_of(host) | {"longest_stall_ms": stall.take_ms(), "workers": workers}
        return 200, "application/json", json.dumps(books).encode()
    if path.startswith(SESSIONS) and stall is not None:
        driver = host.drivers.get(path.removeprefix(SESSIONS))
        return (200, "application/json", json.dumps(look_at(driver)).encode()) if driver is not None else None
    return None


HELP = """\
Serves spoken sessions on one port: WebSocket at /v1/realtime (docs/wire.md), and GET /healthz.

  interlock serve                         the echo agent on ws://127.0.0.1:8765/v1/realtime, for 8 speakers
  interlock serve --debug --trace out     with GET /debug/books, and every event of every session under out/
  interlock serve --mind PATH             with a language model of your own between recognition and speech
  interlock serve --scripted 50           without any model, for load tests and client development

It prints one JSON line when it listens. On SIGTERM or Ctrl-C no new session is taken, every session gets its terminal
event, and a second JSON line says what is still owed (nothing, as a rule) and how near every limit came. The exit code
is 1 if anything is still held.
"""
