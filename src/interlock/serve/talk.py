"""``/talk``: the page to speak with a session, and beside it what the server decided, as it was committed.

The page holds its conversation on ``/v1/duplex`` like any client. On ``/talk/live`` it follows its own session's
records, and asks for the plug to be pulled; both only with the session's own token, the one that would resume it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Final

import msgspec
import trio

from interlock.observe.history import History
from interlock.pages.assets import HEADERS, asset
from interlock.runtime.driver import Driver
from interlock.runtime.host import Host
from interlock.runtime.ports import TransportClosed
from interlock.serve.feed import DENIED, Feed, read, read_first
from interlock.serve.router import Guard, Router
from interlock.session.credential import digest_of, opens
from interlock.transport.endpoint import Handler
from interlock.transport.opening import Opening, Page
from interlock.transport.websocket import WebSocketTransport

ASSETS: Final = "/pages/"
PAGE: Final = "/talk"
LIVE: Final = "/talk/live"
PULLED: Final = "plug_pulled"


class Watch(msgspec.Struct, tag="watch"):
    """The first message: which session, and the token that opens it."""

    session_id: str
    resume_token: str


class PullPlug(msgspec.Struct, tag="pull_plug"):
    """Reset the connection of this generation, as a cut line would: no goodbye, what is unsent is lost."""

    resume_token: str
    attachment_generation: int


WATCH: Final = msgspec.json.Decoder(Watch)
PULL: Final = msgspec.json.Decoder(PullPlug)


def show_assets(router: Router) -> None:
    """Serve the files of the pages: they are the same for everybody, and know nothing."""
    router.folder(ASSETS, lambda opening: file_page(opening.path.removeprefix(ASSETS)))


def show_talk(
    router: Router, host: Host, history: History, bound: Callable[[Handler], Handler], *guards: Guard
) -> None:
    """Serve the page, and what it follows; ``bound`` limits the connections of one client."""

    def page(_: Opening) -> Page | None:
        return file_page("talk.html")

    def front(_: Opening) -> Page:
        return Page(HTTPStatus.FOUND, "text/plain", b"", (("Location", PAGE),))

    router.page("/", front, *guards)
    router.page(PAGE, page, *guards)
    router.socket(LIVE, bound(partial(watch, host, history)), *guards)


def file_page(name: str) -> Page | None:
    """Return a file of the pages, under their policy."""
    found = asset(name)
    return Page(200, found.content_type, found.body, HEADERS) if found is not None else None


async def watch(host: Host, history: History, transport: WebSocketTransport) -> None:
    """Serve one page that follows its own session, until it leaves."""
    first = await read_first(transport, WATCH)
    driver = authorised(host, first.session_id, first.resume_token) if first is not None else None
    try:
        if driver is None:
            await transport.close(DENIED, "this session's own token is needed")
        else:
            await _follow(history, driver, transport)
    except TransportClosed:
        return


def authorised(host: Host, session_id: str, token: str) -> Driver | None:
    """Return the driver of a session that ``token`` would resume now; takes the same time whatever the token is."""
    driver = host.drivers.get(session_id)
    if driver is None or not opens(driver.value.credential, digest_of(token)):
        return None
    return driver


async def _follow(history: History, driver: Driver, transport: WebSocketTransport) -> None:
    feed = Feed(transport, lambda: (lines,) if (lines := follower.take()) else ())
    follower = history.follow(driver.value, trio.current_time(), feed.wake)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(feed.run)
            while (asked := await read(transport, PULL)) is not None:
                pull_plug(driver, asked)
            nursery.cancel_scope.cancel()
    finally:
        history.leave(follower)


def pull_plug(driver: Driver, asked: PullPlug) -> bool:
    """Reset the session's connection, if the token is still this session's and the connection is the one that is meant.

    A page that was superseded holds neither, so that it cannot cut off its successor.
    """
    delivery = driver.delivery
    is_ours = opens(driver.value.credential, digest_of(asked.resume_token))
    if not is_ours or delivery is None or delivery.generation != asked.attachment_generation:
        return False
    delivery.transport.abort(PULLED)
    return True
