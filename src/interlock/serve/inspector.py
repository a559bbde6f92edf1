"""``/inspect``: every session of the host as it is now, for whoever knows the inspector's token.

The page says the token in the first message of its WebSocket, so that no URL and no log has it. From then on it gets
the rows of all sessions, and every quarter of a second those that have changed; one session at a time it follows record
by record. What is encoded is encoded once for all pages, and a page that is slow gets everything anew when it can.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import trio

from interlock.observe.board import Board, Changes
from interlock.observe.follower import Follower
from interlock.observe.history import History
from interlock.runtime.host import Host
from interlock.runtime.ledger import look_at
from interlock.runtime.ports import TransportClosed
from interlock.serve.feed import DENIED, Feed, encode, read, read_first
from interlock.serve.router import Guard, Router
from interlock.serve.talk import file_page
from interlock.session.credential import digest_of
from interlock.transport.endpoint import Handler
from interlock.transport.opening import Opening, Page
from interlock.transport.origin import is_loopback
from interlock.transport.websocket import WebSocketTransport

PAGE: Final = "/inspect"
LIVE: Final = "/inspect/live"
EVERY_S: Final = 0.25


class Hello(msgspec.Struct, tag="hello"):
    """The first message."""

    token: str


class Follow(msgspec.Struct, tag="follow"):
    """Show one session, record by record; an empty id shows none."""

    session: str


class Download(msgspec.Struct, tag="download"):
    """Send what is kept of a session as a trace file."""

    session: str


Asked: TypeAlias = Follow | Download

HELLO: Final = msgspec.json.Decoder(Hello)
ASKED: Final[msgspec.json.Decoder[Asked]] = msgspec.json.Decoder(Asked)


class Inspector:
    """All pages that look, and the one task that tells them what has changed."""

    def __init__(self, host: Host, history: History, token: str) -> None:
        self.host = host
        self.history = history
        self.board = Board(host, history)
        self._digest = digest_of(token)
        self._pages: set[Looking] = set()

    def knows(self, token: str) -> bool:
        """Say whether somebody may look. Takes the same time whatever the token is."""
        return hmac.compare_digest(self._digest, digest_of(token))

    async def run(self, every_s: float = EVERY_S) -> None:
        """Tell the pages what has changed, again and again."""
        while True:
            await trio.sleep(every_s)
            if self._pages:
                self._tell(self.board.changes())
            else:
                self.history.touched.clear()

    def _tell(self, changes: Changes) -> None:
        if changes.rows or changes.gone:
            frame = encode({"type": "changed", "at": trio.current_time(), **changes._asdict()})
            changed = {row.session for row in changes.rows}
            for page in self._pages:
                page.put(frame, changed)

    def everything(self) -> bytes:
        """Encode every row."""
        return encode({"type": "sessions", "at": trio.current_time(), "rows": self.board.rows()})

    def open(self, transport: WebSocketTransport) -> Looking:
        """Let a page look, from now on."""
        page = Looking(self, transport)
        self._pages.add(page)
        return page

    async def serve(self, transport: WebSocketTransport) -> None:
        """Serve one page until it leaves."""
        first = await read_first(transport, HELLO)
        try:
            if first is None or not self.knows(first.token):
                await transport.close(DENIED, "the inspector's token is needed")
                return
            page = self.open(transport)
            try:
                await page.run()
            finally:
                self._pages.discard(page)
                page.leave()
        except TransportClosed:
            return


class Looking:
    """One page: what waits for it is one frame of changes, what it follows, and what it asked for."""

    def __init__(self, inspector: Inspector, transport: WebSocketTransport) -> None:
        self._inspector = inspector
        self._transport = transport
        self._feed = Feed(transport, self.take)
        self._follower: Follower | None = None
        self._changes: bytes = b""
        self._is_behind = True
        self._look = False
        self._answers: list[bytes] = []

    async def run(self) -> None:
        """Write what waits, and hear what the page wants to see."""
        self._feed.wake()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._feed.run)
            while (asked := await read(self._transport, ASKED)) is not None:
                self._hear(asked)
            nursery.cancel_scope.cancel()

    def put(self, frame: bytes, changed: set[str]) -> None:
        """Take what has changed. If the last changes still wait, the page gets everything anew."""
        self._is_behind = self._is_behind or bool(self._changes)
        self._changes = frame
        self._look = self._look or (self._follower is not None and self._follower.session_id in changed)
        self._feed.wake()

    def leave(self) -> None:
        """Follow nothing."""
        if self._follower is not None:
            self._inspector.history.leave(self._follower)
            self._follower = None

    def _hear(self, asked: Asked) -> None:
        match asked:
            case Follow(session):
                self._follow(session)
            case Download(session):
                self._download(session)
        self._feed.wake()

    def _follow(self, session: str) -> None:
        self.leave()
        history = self._inspector.history
        book = history.books.get(session)
        if book is not None:
            self._follower = history.follow(book.value, trio.current_time(), self._feed.wake)
            self._look = True
        elif session:
            self._answer({"type": "unknown", "session": session})

    def _download(self, session: str) -> None:
        book = self._inspector.history.books.get(session)
        if book is None:
            self._answer({"type": "unknown", "session": session})
        else:
            self._answer({"type": "trace", "session": session, "text": book.trace().decode()})

    def _answer(self, told: dict[str, Any]) -> None:
        """Put an answer behind those that wait. One that asks faster than it reads is not answered twice."""
        if len(self._answers) < 4:
            self._answers.append(encode(told))

    def take(self) -> Sequence[bytes]:
        """Return what waits to be written."""
        frames = [*self._answers, self._inspector.everything() if self._is_behind else self._changes]
        self._answers, self._changes, self._is_behind = [], b"", False
        if self._follower is not None:
            frames.append(self._follower.take())
            if self._look and (driver := self._inspector.host.drivers.get(self._follower.session_id)) is not None:
                frames.append(encode({"type": "look", **look_at(driver)}))
            self._look = False
        return [frame for frame in frames if frame]


def show_inspector(
    router: Router,
    inspector: Inspector,
    bound: Callable[[Handler], Handler],
    *guards: Guard,
    anywhere: bool = False,
) -> None:
    """Serve the page and its WebSocket; to this machine alone, unless ``anywhere``."""
    if not anywhere:
        guards = (only_here, *guards)

    def page(_: Opening) -> Page | None:
        return file_page("inspect.html")

    router.page(PAGE, page, *guards)
    router.socket(LIVE, bound(inspector.serve), *guards)


async def only_here(opening: Opening) -> Opening | Page:
    """Refuse who comes from another machine."""
    if is_loopback(opening.peer):
        return opening
    return Page(403, "text/plain", b"the inspector answers this machine only; see pages.inspect_anywhere\n")
