"""One WebSocket connection on trio: whole messages out in one write, whole messages in, and an end that always comes.

The protocol itself (frames, masks, the closing handshake) is the sans-IO core of ``websockets``; this file moves its
bytes. Three tasks meet here, and none waits for another longer than it must:

* whoever calls ``send`` writes all that is due in one system call, without a turn of the loop if the socket takes it;
  what it does not take goes out in one ``send_all``, under one lock;
* whoever calls ``receive`` reads. It never writes: a pong or a close that the core wants to send is left to the keeper,
  so that a peer that does not read cannot keep us from hearing it;
* the keeper (``keep``) writes those, pings, and gives up a peer that is silent or does not let go.

A write that was cut in the middle leaves half a frame on the wire. From then on the connection is ``torn``: nothing
more is written, and what is left to do is ``abort``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

import trio
from websockets.exceptions import InvalidState, ProtocolError
from websockets.frames import DATA_OPCODES, Frame, Opcode
from websockets.protocol import OPEN, SEND_EOF, SERVER, Event, Protocol

from interlock.runtime.ports import TransportClosed
from interlock.transport.limits import SocketLimits
from interlock.transport.meter import Meter
from interlock.transport.opening import NOWHERE, Opening
from interlock.transport.outgoing import write_some
from interlock.transport.pulse import Pulse, Verdict
from interlock.transport.reset import free
from interlock.transport.secure import ByteStream
from interlock.wire import outbound
from interlock.wire.codes import CloseCode, fit

READ_BYTES: Final = 8 * 1024
"""Small enough that what one read may hold, two hundred of the smallest frames, is parsed in a few milliseconds: with
64 KB a client that floods made everybody else's audio late (`benchmarks/flood.py`)."""


class WebSocketTransport:
    """A connection after its opening handshake, as :class:`interlock.runtime.ports.Transport` and as its reader.

    ``opening`` is what the client asked for, ``events`` what the core read with the handshake. ``ended`` says why the
    connection ended, and is empty before; ``close_code`` is what the peer closed with, if it did.
    """

    def __init__(
        self,
        stream: ByteStream,
        protocol: Protocol,
        limits: SocketLimits,
        opening: Opening = NOWHERE,
        events: Iterable[Event] = (),
    ) -> None:
        self.limits = limits
        self.opening = opening
        self.ended = ""
        self.close_code: int | None = None
        self.close_reason = ""
        self._stream = stream
        self._protocol = protocol
        is_plain = isinstance(stream, trio.SocketStream) and protocol.side is SERVER
        self._plain = stream.socket if is_plain else None  # what can be written to directly
        self._unsent = b""
        self._lock = trio.Lock()
        self._inbox: deque[bytes] = deque()
        self._pieces: bytearray | None = None
        self._freed = False
        self._torn = False
        self._deaf = False
        self._reading = False
        self._wake = trio.Event()
        self._gone = trio.Event()
        self._pulse = Pulse(limits, trio.current_time())
        self._bytes = Meter(limits.bytes_per_s, limits.burst_s, trio.current_time())
        self._frames = Meter(limits.messages_per_s, limits.burst_s, trio.current_time())
        self._settle(events)

    # --- writing

    async def send(self, frames: Sequence[bytes]) -> None:
        """Write whole text messages, in order, as one write. Raises :class:`TransportClosed`.

        While the peer is still to answer a goodbye, that is said when the socket is free: whoever hears it may abort,
        and would cut the goodbye off.
        """
        if self.write_now(frames):
            await trio.lowlevel.checkpoint()
        else:
            await self.drain()

    def write_now(self, frames: Sequence[bytes]) -> bool:
        """Write whole text messages as far as the socket takes them at once; say whether that was all of them.

        If not, :meth:`drain` is to be awaited before anything else is sent. Raises :class:`TransportClosed`.
        """
        self._refuse_if_over()
        protocol = self._protocol
        if protocol.state is not OPEN:
            return False
        if self._plain is None or self._unsent or self._lock.locked():
            for frame in frames:
                protocol.send_text(frame)
            return False
        try:
            self._unsent = write_some(self._plain.fileno(), protocol.data_to_send(), frames)
        except OSError as error:
            self.abort("reset")
            raise TransportClosed(self.ended) from error
        return not self._unsent

    async def drain(self) -> None:
        """Write what :meth:`write_now` did not. Raises :class:`TransportClosed`."""
        if self._protocol.state is OPEN or self._unsent:
            await self.flush()
            return
        if not self._protocol.reader.eof:
            await self._gone.wait()
        raise TransportClosed(self.ended)

    async def close(self, code: int, reason: str) -> None:
        """Send a close frame. The peer answers it, or the keeper frees the socket ``close_s`` later.

        Raises :class:`TransportClosed`.
        """
        self._refuse_if_over()
        try:
            self._protocol.send_close(code, fit(reason))
        except (InvalidState, ProtocolError) as error:
            raise TransportClosed(self.ended) from error
        self._end(f"closed with {code:d}")
        self._pulse.close(trio.current_time())
        self._wake.set()
        await self.flush()

    def abort(self, reason: str) -> None:
        """Free the socket now: what is unsent is dropped, the peer reads a reset. Idempotent, from any state."""
        self._end(reason)
        self._free(hard=True)

    async def farewell(self, within_s: float) -> None:
        """End a connection that the peer closes, or broke, in words, before somebody aborts it; never for long."""
        if self._protocol.state is not OPEN and not self._protocol.reader.eof and not self._freed:
            with trio.move_on_after(within_s):
                try:
                    await self._part(CloseCode.ENDED, "")
                except TransportClosed:
                    return

    def _refuse_if_over(self) -> None:
        if self._freed or self._torn:
            raise TransportClosed(self.ended or "torn")

    async def flush(self) -> None:
        """Write what is queued, whoever queued it; return when it is written, also if another task does it.

        Raises :class:`TransportClosed`.
        """
        try:
            self._lock.acquire_nowait()
        except trio.WouldBlock:
            await self._lock.acquire()
        try:
            unsent, self._unsent = self._unsent, b""
            await self._write([unsent, *self._protocol.data_to_send()] if unsent else self._protocol.data_to_send())
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self.abort("reset")
            raise TransportClosed(self.ended) from error
        finally:
            self._lock.release()

    async def _write(self, writes: list[bytes]) -> None:
        self._refuse_if_over()
        try:
            if data := b"".join(writes):
                await self._stream.send_all(data)
            if writes and writes[-1] == SEND_EOF:
                await self._stream.send_eof()
        except BaseException:
            self._torn = True
            raise

    # --- reading

    async def receive(self) -> bytes | None:
        """Return the next whole message, or ``None`` when none will come; ``ended`` then says why."""
        if self._inbox:
            await trio.lowlevel.checkpoint()
        while not self._inbox:
            if self._deaf or self._freed:
                await trio.lowlevel.checkpoint()
                return None
            self._feed(await self._read())
        return self._inbox.popleft()

    async def receive_within(self, seconds: float) -> bytes | None:
        """Return what :meth:`receive` does. Raises ``TimeoutError`` when nothing has come in time."""
        with trio.move_on_after(seconds):
            return await self.receive()
        raise TimeoutError

    async def _read(self) -> bytes:
        """Read something. An empty result is the end of the stream, however it came."""
        self._reading = True
        try:
            return bytes(await self._stream.receive_some(READ_BYTES))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._end("reset")
            return b""
        finally:
            self._reading = False

    def _feed(self, data: bytes) -> None:
        if data and not self._deaf and not self._bytes.take(len(data), trio.current_time()):
            self._flooded(f"more than {self._bytes.per_s:g} bytes a second")
        elif data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
            self._deaf = True
            self._end("end of stream")
        self._settle(self._protocol.events_received())

    def _settle(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, Frame):
                self._take(event)
        if self._protocol.parser_exc is not None and not self._deaf:
            self._fail()
        if self._protocol.writes:
            self._wake.set()

    def _take(self, frame: Frame) -> None:
        self._pulse.heard(now := trio.current_time())
        if frame.opcode is Opcode.CLOSE:
            self._hear_close()
        elif not self._frames.take(1, now):
            self._flooded(f"more than {self._frames.per_s:g} messages a second")
        elif frame.opcode in DATA_OPCODES and not self._pulse.closing:
            self._join(frame)

    def _join(self, frame: Frame) -> None:
        """Put the fragments of a message together, in one buffer: an empty fragment costs nothing."""
        if self._pieces is None and frame.fin:
            self._inbox.append(bytes(frame.data))
            return
        pieces = self._pieces = bytearray() if self._pieces is None else self._pieces
        pieces += frame.data
        if frame.fin:
            self._inbox.append(bytes(pieces))
            self._pieces = None

    def _hear_close(self) -> None:
        heard = self._protocol.close_rcvd
        if heard is not None:
            self.close_code, self.close_reason = heard.code, heard.reason
        self._end("closed by peer")
        self._let_go()

    def _fail(self) -> None:
        """The peer broke the protocol: the core has queued the close frame that says how."""
        sent = self._protocol.close_sent
        too_big = sent is not None and sent.code == CloseCode.TOO_BIG
        self._end("message too big" if too_big else f"protocol error: {self._protocol.parser_exc}")
        self._let_go()

    def _flooded(self, what: str) -> None:
        """The peer sends more than it may: it is told so, and not heard any more. What it had said before counts."""
        if self._protocol.state is OPEN and not self._deaf:
            self._protocol.send_text(outbound.error("rate_limit_exceeded", f"{what}; slow down", n="flood"))
            self._protocol.send_close(CloseCode.POLICY, fit(f"{what}; slow down"))
        self._end("rate limit exceeded")
        self._let_go()

    def _let_go(self) -> None:
        """No message follows. What the core still wants to say is written by the keeper, for at most ``close_s``."""
        self._deaf = True
        self._pulse.close(trio.current_time())

    # --- keeping

    async def keep(self) -> None:
        """Run beside the reader for the life of the connection. Returns when the socket is freed."""
        while not self._freed:
            with trio.move_on_at(self._pulse.due()):
                await self._wake.wait()
            if self._wake.is_set():
                self._wake = trio.Event()
                await self._flush_in_time()
            self._heed(self._pulse.judge(trio.current_time(), reading=self._reading))

    def _heed(self, verdict: Verdict) -> None:
        if verdict == "ping" and self._protocol.state is OPEN:
            self._protocol.send_ping(b"")
            self._wake.set()
        elif verdict not in ("wait", "ping"):
            self.abort(verdict)

    async def _flush_in_time(self) -> None:
        with trio.move_on_after(self.limits.pong_s) as scope:
            try:
                await self.flush()
            except TransportClosed:
                return
        if scope.cancelled_caught:
            self.abort("keepalive timed out")

    # --- ending

    async def finish(self, code: int = CloseCode.ENDED, reason: str = "") -> None:
        """End well if the peer lets us, within ``close_s``, and free the socket in any case. No reader may be left."""
        try:
            with trio.move_on_after(self.limits.close_s):
                await self._part(code, reason)
        except TransportClosed:
            pass
        finally:
            self._end("close timed out")
            self._free(hard=not self._protocol.reader.eof)

    async def _part(self, code: int, reason: str) -> None:
        if self._protocol.state is OPEN:
            await self.close(code, reason)
        else:
            await self.flush()
        while not self._protocol.reader.eof and not self._freed:
            self._feed(await self._read())
            self._inbox.clear()
        await self.flush()

    def _end(self, reason: str) -> None:
        self.ended = self.ended or reason

    def _free(self, *, hard: bool) -> None:
        self._freed = True
        free(self._stream, hard=hard)
        self._gone.set()
        self._wake.set()
