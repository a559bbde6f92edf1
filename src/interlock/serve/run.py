"""The life of a server: one host, its stages, its door, until a signal comes and everything has ended."""

from __future__ import annotations

import json
import signal
import ssl
from functools import partial
from typing import Any

import trio

from interlock.errors import WorldError
from interlock.observe.exposition import Exposition
from interlock.runtime.host import Host
from interlock.runtime.ledger import books_of
from interlock.runtime.ports import Fleet
from interlock.serve.access import Access
from interlock.serve.config import Config
from interlock.serve.pages import STAGES, show_books, show_health, show_metrics
from interlock.serve.router import Router
from interlock.serve.shown import Pages
from interlock.serve.watch import Watch
from interlock.transport.converse import converse
from interlock.transport.endpoint import serve_listeners
from interlock.transport.handshake import PATHS
from interlock.transport.secure import server_context
from interlock.transport.websocket import WebSocketTransport
from interlock.workers.echo import EARS, MIND, VOICE, Carrier, EchoPipeline, echo_stages
from interlock.workers.fleet import StageFleet
from interlock.workers.scripted import Script, ScriptedFleet


def say(line: dict[str, Any]) -> None:
    """Print one JSON line, at once."""
    print(json.dumps(line), flush=True)  # noqa: T201 - this is the interface


async def serve(served: Config) -> dict[str, Any]:
    """Serve until a signal comes; return the books as they are when everything has stopped.

    Raises :class:`WorldError` where the address, a certificate or a key cannot be had; nothing has started then.
    """
    tls = server_context(served.tls_cert, served.tls_key) if served.tls_cert is not None else None
    access = Access(served.access, served.socket, served.host)
    pages = Pages(served.pages)
    listeners = await _bind(served)
    watch = Watch(served)
    host = Host(EchoPipeline(), fleet_of(served), served.session, pages.record(watch.record))
    talks = Talks(host, watch.of(host))
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(host.run)
            nursery.start_soon(_heed_signals, host)
            watch.start(nursery)
            router = router_of(talks, access, watch)
            pages.show(router, host, nursery, access.bounded, access.check_place)
            port = await _listen(nursery, router, listeners, served, tls)
            await host.wait_ready(*STAGES)
            say({"event": "listening", "url": url_of(served, port), "port": port} | pages.told(url_of(served, port)))
            await host.wait_stopped()
            await talks.wait_over(within_s=served.socket.close_s)
            nursery.cancel_scope.cancel()
    finally:
        watch.close()
    return books_of(host)


def url_of(served: Config, port: int) -> str:
    """Return where a client connects."""
    name = f"[{served.host}]" if ":" in served.host else served.host
    return f"{'ws' if served.tls_cert is None else 'wss'}://{name}:{port}/v1/realtime"


async def _bind(served: Config) -> list[trio.SocketListener]:
    try:
        return await trio.open_tcp_listeners(served.port, host=served.host)
    except OSError as error:
        raise WorldError(f"cannot listen on {served.host}:{served.port}: {error.strerror or error}") from error


def fleet_of(served: Config) -> Fleet:
    """Make the stages: real models, or a script."""
    if not served.scripted:
        carrier: Carrier = "thread" if served.workers == "thread" else "process"
        return StageFleet(echo_stages(carrier, speakers=served.session.max_sessions, mind=served.mind))
    fleet = ScriptedFleet(EARS, MIND, VOICE, record=False)
    fleet[EARS].script = Script(transcript="as the script says")
    fleet[MIND].script = Script(texts=("You said: ", "as the script says."))
    fleet[VOICE].script = Script(
        frames=served.scripted,
        ahead=served.ahead,
        begins="input",
        pace_s=served.pace_ms / 1000,
        samples=served.frame_ms * 24,
        together=served.together,
    )
    return fleet


class Talks:
    """The conversations that are under way. A stopped host has said its goodbyes; they have to be heard as well."""

    def __init__(self, host: Host, exposition: Exposition) -> None:
        self.host = host
        self.exposition = exposition
        self._over = trio.Event()

    async def converse(self, transport: WebSocketTransport) -> None:
        """Hold one."""
        self.exposition.connections += 1
        try:
            await converse(self.host, transport)
        finally:
            self.exposition.connections -= 1
            self._over.set()

    async def wait_over(self, within_s: float) -> None:
        """Return when the last one is over, or the time is."""
        with trio.move_on_after(within_s):
            while self.exposition.connections:
                self._over = trio.Event()
                await self._over.wait()


def router_of(talks: Talks, access: Access, watch: Watch) -> Router:
    """Return what the port has: the sessions, and the pages about them."""
    router = Router()
    for path in PATHS:
        router.socket(path, access.bounded(talks.converse), access.check_place, access.check_key)
    show_health(router, talks.host)
    show_metrics(router, talks.exposition, access.check_scraper)
    if watch.stall is not None:
        show_books(router, talks.host, watch.stall, access.check_place)
    return router


async def _listen(
    nursery: trio.Nursery,
    router: Router,
    listeners: list[trio.SocketListener],
    served: Config,
    tls: ssl.SSLContext | None,
) -> int:
    limits = served.socket.limits(served.session.frame_bytes)
    listen = partial(serve_listeners, respond=router.respond, limits=limits, paths=router.socket_paths, tls=tls)
    port: int = await nursery.start(partial(listen, router.handle, listeners))
    return port


async def _heed_signals(host: Host) -> None:
    """The first signal begins the shutdown; the ones that follow change nothing, and its deadline holds."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            host.log.info("%s: every session ends now", signal.Signals(number).name)
            host.stop()
