"""One connection: writes that are one write, an abort that frees at once, and ends that always come."""

from __future__ import annotations

import os
from collections.abc import Sequence
from struct import pack

import pytest
import trio
import trio.testing
from websockets.exceptions import ConnectionClosed
from websockets.trio.client import connect

from interlock.runtime.ports import Transport, TransportClosed
from interlock.transport.limits import SocketLimits
from interlock.transport.websocket import WebSocketTransport
from interlock.wire.codes import MAX_REASON, fit
from tests.transport.served import deaf, echo, frame, opened, reset, rest, served

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(10)]


class Held:
    """A handler that shows its transport and waits."""

    def __init__(self) -> None:
        self.open = trio.Event()
        self.over = trio.Event()
        self.transport: WebSocketTransport | None = None

    async def __call__(self, transport: WebSocketTransport) -> None:
        self.transport = transport
        self.open.set()
        await self.over.wait()

    async def get(self) -> WebSocketTransport:
        await self.open.wait()
        assert self.transport is not None
        return self.transport


def as_port(transport: WebSocketTransport) -> Transport:
    return transport


async def test_frames_arrive_whole_in_order_and_as_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    held, writes = Held(), []
    writev = os.writev

    def spy(fd: int, buffers: Sequence[bytes]) -> int:
        writes.append(sum(map(len, buffers)))
        return writev(fd, buffers)

    async with served(held) as port, connect(f"ws://127.0.0.1:{port}/v1/realtime") as client:
        transport = await held.get()
        monkeypatch.setattr(os, "writev", spy)
        frames = [b"a" * size for size in (1, 200, 70_000)]
        await as_port(transport).send(frames)
        assert [(await client.recv(decode=False)) for _ in frames] == frames
        assert writes == [sum(map(len, frames)) + 2 + 4 + 10]
        held.over.set()


async def test_an_echo_of_text_binary_fragments_and_pings() -> None:
    async with served(echo) as port, connect(f"ws://127.0.0.1:{port}/v1/duplex") as client:
        await client.send("text")
        await client.send(b"binary")
        await client.send(iter(["in ", "", "pieces"]))
        await (await client.ping()).wait()
        assert [await client.recv() for _ in range(3)] == ["text", "binary", "in pieces"]


async def test_a_close_says_its_code_and_reason_and_a_late_word_waits_for_its_end() -> None:
    ended: list[str] = []

    async def say_late(transport: WebSocketTransport) -> None:
        with pytest.raises(TransportClosed):
            await transport.close(1000, "twice")
        with pytest.raises(TransportClosed, match="closed with 4001"):
            await transport.send([b"late"])
        ended.append("late")

    held = Held()
    async with (
        served(held) as port,
        connect(f"ws://127.0.0.1:{port}/v1/realtime") as client,
        trio.open_nursery() as late,
    ):
        transport = await held.get()
        await transport.close(4001, "ä" * 100)
        late.start_soon(say_late, transport)
        assert await transport.receive() is None
        assert (transport.ended, transport.close_code, ended) == ("closed with 4001", 4001, [])
        held.over.set()
        with pytest.raises(ConnectionClosed):
            await client.recv()
        assert (client.close_code, client.close_reason) == (4001, "ä" * 61)
    assert (len(fit("ä" * 100).encode()), ended) == (MAX_REASON - 1, ["late"])


async def test_what_was_sent_before_the_goodbye_is_received_first() -> None:
    held = Held()
    async with served(held) as port:
        stream = await opened(port)
        await stream.send_all(frame(1, b"one") + frame(1, b"two") + frame(8, b"\x03\xe8bye"))
        transport = await held.get()
        assert [await transport.receive() for _ in range(3)] == [b"one", b"two", None]
        assert (transport.ended, transport.close_code, transport.close_reason) == ("closed by peer", 1000, "bye")
        held.over.set()
        assert (await rest(stream)).endswith(b"\x88\x05\x03\xe8bye")


@pytest.mark.parametrize("times", [1, 3])
async def test_abort_frees_at_once_a_send_that_is_blocked(times: int) -> None:
    held = Held()
    async with served(held) as port:
        stream = await deaf(port)
        transport = await held.get()
        failed = trio.Event()

        async def send() -> None:
            with pytest.raises(TransportClosed, match="evicted"):
                await transport.send([bytes(8 << 20)])
            failed.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            await trio.sleep(0.05)
            assert not failed.is_set()
            before = trio.current_time()
            for _ in range(times):
                transport.abort("evicted")
            with trio.fail_after(1):
                await failed.wait()
            assert trio.current_time() - before < 0.05
        assert (await rest(stream))[-7:] == b"<reset>"
        assert await transport.receive() is None
        held.over.set()


async def test_abort_wakes_a_reader_and_later_calls_fail() -> None:
    held = Held()
    async with served(held) as port, trio.open_nursery() as nursery:
        stream = await opened(port)
        transport = await held.get()
        got: list[bytes | None] = []

        async def read() -> None:
            got.append(await transport.receive())

        nursery.start_soon(read)
        await trio.sleep(0.02)
        transport.abort("gone")
        with pytest.raises(TransportClosed, match="gone"):
            await transport.send([b"x"])
        with pytest.raises(TransportClosed, match="gone"):
            await transport.close(1000, "")
        await rest(stream)
        held.over.set()
    assert (got, transport.ended) == ([None], "gone")


async def test_a_cancelled_send_leaves_half_a_frame_and_nothing_follows_it() -> None:
    held = Held()
    async with served(held) as port:
        stream = await deaf(port)
        transport = await held.get()
        with trio.move_on_after(0.05) as scope:
            await transport.send([bytes(8 << 20)])
        assert scope.cancelled_caught
        for order in (transport.send([b"x"]), transport.close(1000, "")):
            with pytest.raises(TransportClosed, match="torn"):
                await order
        held.over.set()
        assert (await rest(stream))[-7:] == b"<reset>"


async def test_words_said_while_another_write_is_under_way_follow_it() -> None:
    held = Held()
    async with served(held) as port:
        stream = await deaf(port)
        transport = await held.get()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(transport.send, [b"a" * (8 << 20)])
            await trio.sleep(0.02)
            nursery.start_soon(transport.send, [b"b" * 5])
            await trio.sleep(0.02)
            nursery.start_soon(transport.close, 1000, "")
            while not (read := await stream.receive_some(1 << 20)).endswith(b"\x81\x05bbbbb\x88\x02\x03\xe8"):
                assert read
        held.over.set()
        await stream.aclose()


async def test_a_peer_that_resets_ends_the_reader_and_fails_the_writer() -> None:
    held = Held()
    async with served(held) as port:
        stream = await opened(port)
        transport = await held.get()
        reset(stream)
        assert await transport.receive() is None
        with pytest.raises(TransportClosed):
            await transport.send([b"x"])
        assert transport.ended == "reset"
        held.over.set()


BROKEN: list[tuple[bytes, bytes, str]] = [
    (frame(1, b"x" * 101), b"\x03\xf1", "message too big"),
    (frame(1, b"x" * 60, fin=False) + frame(0, b"x" * 60), b"\x03\xf1", "message too big"),
    (frame(3, b""), b"\x03\xea", "protocol error"),
    (b"\x81\x01x", b"\x03\xea", "protocol error"),
    (frame(0, b"x"), b"\x03\xea", "protocol error"),
    (frame(8, b"x"), b"\x03\xea", "protocol error"),
]


@pytest.mark.parametrize(("data", "code", "ended"), BROKEN)
async def test_a_peer_that_breaks_the_rules_is_told_by_code(data: bytes, code: bytes, ended: str) -> None:
    over: list[str] = []

    async def handler(transport: WebSocketTransport) -> None:
        assert await transport.receive() is None
        over.append(transport.ended)

    async with served(handler, limits=SocketLimits(frame_bytes=100, close_s=0.2)) as port:
        stream = await opened(port)
        await stream.send_all(data)
        assert (await rest(stream))[2:4] == code
    assert over[0].startswith(ended)


async def test_empty_fragments_cost_nothing() -> None:
    async with served(echo, limits=SocketLimits(frame_bytes=100)) as port:
        stream = await opened(port)
        await stream.send_all(frame(1, b"a", fin=False) + frame(0, b"", fin=False) * 10_000 + frame(0, b"b"))
        answer = b""
        while not answer.endswith(b"\x81\x02ab"):
            answer += await stream.receive_some()
        await stream.aclose()


@pytest.mark.parametrize(
    ("limits", "ended"),
    [(SocketLimits(ping_s=0.05, pong_s=0.05), "keepalive timed out"), (SocketLimits(ping_s=9, close_s=0.1), "")],
)
async def test_a_silent_peer_is_pinged_and_given_up(limits: SocketLimits, ended: str) -> None:
    over: list[str] = []
    done = trio.Event()

    async def handler(transport: WebSocketTransport) -> None:
        with trio.move_on_after(0.4):
            assert await transport.receive() is None
        over.append(transport.ended)
        done.set()

    async with served(handler, limits=limits) as port:
        stream = await opened(port)
        await done.wait()
        await rest(stream)
    assert over == [ended]


async def test_a_peer_that_answers_pings_stays_and_one_that_nobody_listens_to_is_not_judged() -> None:
    held = Held()
    limits = SocketLimits(ping_s=0.03, pong_s=0.03)
    async with served(held, limits=limits) as port, served(echo, limits=limits) as other:
        stream = await opened(port)
        async with connect(f"ws://127.0.0.1:{other}/v1/realtime") as client:
            await trio.sleep(0.3)
            await client.send("still here")
            assert await client.recv() == "still here"
        assert (await held.get()).ended == ""
        await stream.aclose()
        held.over.set()


async def test_a_peer_that_ignores_our_close_is_freed_in_time() -> None:
    async def handler(transport: WebSocketTransport) -> None:
        await transport.close(1000, "done")
        assert await transport.receive() is None

    async with served(handler, limits=SocketLimits(close_s=0.1)) as port:
        stream = await opened(port)
        with trio.fail_after(1):
            assert b"\x88\x06\x03\xe8done" in await rest(stream)


async def test_what_the_socket_does_not_take_at_once_is_drained_in_order() -> None:
    held, frames = Held(), [bytes([65 + n]) * 300_000 for n in range(20)]
    async with served(held) as port:
        stream = await deaf(port)
        transport = await held.get()
        assert transport.write_now([b"small"])
        assert not transport.write_now(frames)
        read = bytearray()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(transport.drain)
            while len(read) < 7 + sum(map(len, frames)) + 10 * len(frames):
                read += await stream.receive_some()
        assert bytes(read) == b"\x81\x05small" + b"".join(b"\x81\x7f" + pack("!Q", len(f)) + f for f in frames)
        assert transport.write_now([b"after"])
        assert await stream.receive_some() == b"\x81\x05after"
        await stream.aclose()
        held.over.set()


async def test_what_is_written_while_a_write_is_under_way_follows_it() -> None:
    held, size = Held(), 8_000_000
    async with served(held) as port:
        stream = await deaf(port)
        transport = await held.get()
        read = bytearray()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(transport.send, [b"a" * size])
            await trio.testing.wait_all_tasks_blocked()
            assert not transport.write_now([b"b"])
            nursery.start_soon(transport.drain)
            while len(read) < 10 + size + 3:
                read += await stream.receive_some()
        assert read.endswith(b"a\x81\x01b")
        await stream.aclose()
        held.over.set()


async def test_a_socket_that_was_reset_is_said_to_be_closed() -> None:
    held = Held()
    async with served(held) as port:
        stream = await opened(port)
        transport = await held.get()
        reset(stream)
        assert await transport.receive() is None
        for attempt in (transport.send([b"late"]), transport.drain()):
            with pytest.raises(TransportClosed):
                await attempt
        held.over.set()
