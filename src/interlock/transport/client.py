"""The reference client: one session, over as many connections as it takes.

Three rules make it safe to lose a connection at any point, and they are the ones that any client should keep:

* the position moves *before* an event is handed out, and acks follow the position, not the application: a slow reader
  loses its own events, never the session;
* a resume presents the token and the position that were *received*; only ``session.resumed`` brings a new token, and
  it is acked at once with its ``attachment_generation``: the proof that it was read. Until then the token that was
  presented stays good, so a lost answer costs one more attempt and nothing else;
* what arrives on a connection that was given up is ignored, and ``session.replaced`` is final.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

import trio

from interlock.transport.client_errors import ConnectionLost, Refused, ResumeFailed, SessionOver
from interlock.transport.inbox import Event, Inbox
from interlock.transport.introduce import introduce, read_event
from interlock.transport.limits import ClientLimits
from interlock.transport.line import Line
from interlock.transport.websocket import WebSocketTransport

DEFAULT_LIMITS: Final = ClientLimits()
FINAL: Final = {"session.closed": "closed", "session.expired": "expired", "session.replaced": "replaced"}


class Credentials(NamedTuple):
    """What it takes to go on with a session: on this client's next connection, or in another client."""

    session_id: str
    resume_token: str | None
    position: int


@asynccontextmanager
async def open_client(
    url: str,
    session: Mapping[str, Any] | None = None,
    *,
    credentials: Credentials | None = None,
    limits: ClientLimits = DEFAULT_LIMITS,
    jitter: Callable[[], float] = random.random,
) -> AsyncIterator[Client]:
    """Open a session with this configuration, or take over the one that ``credentials`` belong to.

    Leaving the block writes what was said and closes the connection; the session lives on for its grace unless
    :meth:`Client.close` ended it. Raises what :meth:`Client.resume` raises. What the block raises comes out as it is.
    """
    client = Client(url, limits, jitter)
    tasks = trio.open_nursery()
    client.nursery = await tasks.__aenter__()
    try:
        await client.begin(session or {}, credentials)
        yield client
        await client.leave()
    finally:
        client.nursery.cancel_scope.cancel()
        await tasks.__aexit__(None, None, None)


class Client:
    """One session. Iterate over it for its events, each a ``dict``; the rest may be called from any task meanwhile.

    Every method raises :class:`ConnectionLost` when there is no connection, and :class:`SessionOver` when there will
    be none. ``position`` is the last sequence number that was received; ``lost`` says why the connection went, and
    ``close_code`` is what the server closed it with, if it did.
    """

    nursery: trio.Nursery

    def __init__(self, url: str, limits: ClientLimits = DEFAULT_LIMITS, jitter: Callable[[], float] = random.random):
        self.url = url
        self.limits = limits
        self.session: dict[str, Any] = {}
        self.session_id = ""
        self.resume_token: str | None = None
        self.attachment_generation = 0
        self.position = 0
        self.duplicates = 0
        self.ended = ""
        self.lost = ""
        self.close_code: int | None = None
        self._jitter = jitter
        self._line: Line | None = None
        self._inbox = Inbox(limits.buffer_bytes)
        self._resuming = False

    @property
    def credentials(self) -> Credentials:
        """What another client would need to take this session over."""
        return Credentials(self.session_id, self.resume_token, self.position)

    # --- saying

    async def append(self, pcm16: bytes) -> None:
        """Send audio: PCM16 mono, in the session's input rate. Waits while too much is unwritten."""
        await self.say("input_audio_buffer.append", audio=pcm16)

    async def commit(self) -> None:
        """End the user's turn."""
        await self.say("input_audio_buffer.commit")

    async def barge_in(self) -> None:
        """Interrupt whatever is being said."""
        await self.say("barge_in")

    async def cancel_response(self, response_id: str | None = None) -> None:
        """Stop the response, or this one."""
        await self.say("response.cancel", response_id=response_id)

    async def playback_ack(self, played_ms: int, response_id: str | None = None) -> None:
        """Tell how much of a response the user has heard."""
        await self.say("playback.ack", played_ms=played_ms, response_id=response_id)

    async def say(self, kind: str, **fields: Any) -> None:
        """Send any message; fields that are ``None`` are left out. Cancelled, it was not sent."""
        message = {"type": kind} | {name: value for name, value in fields.items() if value is not None}
        await self._connected().say(message)

    async def close(self, reason: str | None = None) -> None:
        """End the session, and wait for its terminal event, whether or not anybody reads it; at most ``close_s``."""
        await self.say("session.close", reason=reason)
        with trio.fail_after(self.limits.close_s):
            while not self.ended:
                self._connected()
                await self._inbox.wait()

    def _connected(self) -> Line:
        if self.ended:
            raise SessionOver(self.ended)
        if self._line is None:
            raise ConnectionLost(self.lost)
        return self._line

    # --- hearing

    def __aiter__(self) -> Client:
        return self

    async def __anext__(self) -> Event:
        """Return the next event; stop after the last one of the session.

        Raises :class:`ConnectionLost` when the connection is gone and everything received was handed out, and
        :class:`BufferOverflow` when what was received had to be dropped; after either, iterating may go on.
        """
        await trio.lowlevel.checkpoint()
        while True:
            if (event := self._inbox.take()) is not None:
                return event
            if self.ended:
                raise StopAsyncIteration
            if self._line is None and not self._resuming:
                raise ConnectionLost(self.lost)
            await self._inbox.wait()

    def _hear(self, line: Line, data: bytes) -> None:
        if line is not self._line:
            return
        try:
            event = read_event(data)
        except ConnectionLost as error:
            line.transport.abort(str(error))
            return
        if self._is_new(line, event.get("server_event_seq")):
            self.ended = self.ended or FINAL.get(event["type"], "")
            self._inbox.put(event, len(data))

    def _is_new(self, line: Line, seq: object) -> bool:
        """Move the position, before anybody sees the event. What has no number is never a repetition."""
        if not isinstance(seq, int):
            return True
        line.received(max(seq, self.position))
        if seq <= self.position:
            self.duplicates += 1
            return False
        self.position = seq
        return True

    # --- coming and going

    async def begin(self, session: Mapping[str, Any], credentials: Credentials | None) -> None:
        """Make the first connection; :func:`open_client` does."""
        if credentials is not None:
            self.session_id, self.resume_token, self.position = credentials
            await self.resume()
            return
        message = {"type": "session.update", "session": session}
        self._adopt(*await introduce(self.url, self.limits, message, "session.created"), 0)

    async def resume(self, position: int | None = None) -> None:
        """Give up the connection, if there is one, and go on with the session on a new one.

        ``position`` accepts a loss: go on from there, as :class:`ResyncRequired` said. Raises :class:`ResumeFailed`
        when no attempt was answered, :class:`Refused` when one was, and :class:`SessionOver`. Cancelled or failed, it
        leaves token and position as they were, and may be called again.
        """
        if self.ended:
            raise SessionOver(self.ended)
        if self._resuming:
            raise trio.BusyResourceError("another task is resuming this session")
        self._give_up()
        self._resuming = True
        try:
            await self._try_often(max(position or 0, self.position))
        finally:
            self._resuming = False
            self._inbox.stir()

    async def _try_often(self, position: int) -> None:
        for attempt in range(self.limits.attempts):
            await trio.sleep(self._pause(attempt))
            try:
                answer = await introduce(self.url, self.limits, self._claim(position), "session.resumed")
            except (ConnectionLost, Refused) as error:
                if isinstance(error, Refused) and not error.retryable:
                    raise
                self.lost = str(error)
            else:
                self._prove(self._adopt(*answer, position))
                return
        raise ResumeFailed(f"{self.limits.attempts} attempts failed, the last: {self.lost}")

    def _pause(self, attempt: int) -> float:
        if attempt == 0:
            return 0.0
        most = min(self.limits.backoff_s * 2.0 ** (attempt - 1), self.limits.backoff_max_s)
        return most * (0.5 + self._jitter() / 2)

    def _claim(self, position: int) -> dict[str, Any]:
        known = {"session_id": self.session_id, "resume_token": self.resume_token or ""}
        return {"type": "session.resume", **known, "last_received_server_event_seq": position}

    def _adopt(self, transport: WebSocketTransport, credentials: Event, position: int) -> Line:
        """Take what the first event brought, and start reading. Nothing here waits: a cancel cannot come between."""
        self.session = credentials.get("session", {})
        self.session_id = credentials.get("session_id") or self.session.get("id", "")
        self.resume_token = credentials.get("resume_token")
        self.attachment_generation = credentials.get("attachment_generation", 0)
        self.position = max(self.position, position)
        self.lost = ""
        self._line = Line(transport, self.limits)
        self.nursery.start_soon(self._run, self._line)
        return self._line

    def _prove(self, line: Line) -> None:
        """Say that ``session.resumed`` was read: from now on only its token counts."""
        proof = {"server_event_seq": self.position, "attachment_generation": self.attachment_generation}
        line.put({"type": "session.event_ack", **proof})

    async def _run(self, line: Line) -> None:
        try:
            await line.run(lambda data: self._hear(line, data))
        finally:
            if line is self._line:
                self._line, self.lost, self.close_code = None, line.transport.ended, line.transport.close_code
            self._inbox.stir()

    def _give_up(self) -> None:
        """Forget the connection: what it still delivers is nothing to us."""
        line, self._line = self._line, None
        if line is not None:
            line.transport.abort("given up")

    def tear(self) -> None:
        """Reset the connection, as a failing network does; what was received before counts."""
        if self._line is not None:
            self._line.transport.abort("torn")

    async def leave(self) -> None:
        """Write what was said, and close the connection, not the session; :func:`open_client` does."""
        if self._line is not None:
            await self._line.leave()
