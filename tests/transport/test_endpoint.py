"""The listening socket: who gets a WebSocket, who gets a page, and that one connection's end is its own."""

from __future__ import annotations

import logging

import pytest
import trio
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.trio.client import connect
from websockets.typing import Subprotocol

from interlock.transport.limits import SocketLimits
from interlock.transport.opening import Opening, Page
from interlock.transport.websocket import WebSocketTransport
from tests.transport.served import UPGRADE, echo, raw, reset, rest, served

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(10)]


async def pages(opening: Opening) -> Page | Opening:
    return Page(503, "text/plain", b"draining\n") if opening.path == "/healthz" else opening


@pytest.mark.parametrize(
    ("request_line", "status", "body"),
    [
        (b"GET /healthz HTTP/1.1", b"503 Service Unavailable", b"draining\n"),
        (b"GET /healthz?verbose HTTP/1.0", b"503 Service Unavailable", b"draining\n"),
        (b"GET /elsewhere HTTP/1.1", b"404 Not Found", b"not found\n"),
        (b"POST /healthz HTTP/1.1", b"405 Method Not Allowed", b"GET only\n"),
        (b"GET /v1/realtime HTTP/1.1", b"426 Upgrade Required", b"WebSocket client.\n"),
    ],
)
async def test_plain_requests_are_answered_on_the_same_port(request_line: bytes, status: bytes, body: bytes) -> None:
    async with served(echo, respond=pages) as port:
        answer = await rest(await raw(port, request_line + b"\r\nHost: x\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert answer.endswith(body)


async def test_only_the_realtime_paths_open_a_websocket() -> None:
    async with served(echo) as port:
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"ws://127.0.0.1:{port}/v2").__aenter__()
    assert refused.value.response.status_code == 404


@pytest.mark.parametrize(
    ("offered", "taken"),
    [(None, None), (["realtime", "openai-insecure-api-key.k"], "realtime"), (["other"], None)],
)
async def test_the_handler_knows_what_was_asked_for(offered: list[Subprotocol] | None, taken: str | None) -> None:
    seen = []

    async def handler(transport: WebSocketTransport) -> None:
        seen.append(transport.opening)

    url = "/v1/duplex?model=m&resume=0&resume=1"
    async with served(handler) as port, connect(f"ws://127.0.0.1:{port}{url}", subprotocols=offered) as client:
        assert client.subprotocol == taken
        with pytest.raises(ConnectionClosed):
            await client.recv()
        assert client.close_code == 1000
    opening = seen[0]
    assert (opening.path, opening.query, opening.subprotocol) == ("/v1/duplex", {"model": "m", "resume": "1"}, taken)
    assert opening.headers["host"] == f"127.0.0.1:{port}"


async def test_a_handler_that_fails_closes_its_connection_and_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(transport: WebSocketTransport) -> None:
        if "fail" in transport.opening.query:
            raise ZeroDivisionError("mine")
        await echo(transport)

    async with served(handler) as port, connect(f"ws://127.0.0.1:{port}/v1/realtime") as other:
        async with connect(f"ws://127.0.0.1:{port}/v1/realtime?fail=1") as client:
            with pytest.raises(ConnectionClosed):
                await client.recv()
            assert client.close_code == 1011
        await other.send("alive")
        assert await other.recv() == "alive"
    assert [record.levelno for record in caplog.records if record.name.startswith("interlock")] == [logging.ERROR]


ABUSE = [
    b"",
    b"\x00\xff" * 5000,
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /" + b"x" * 20_000,
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 500,
    UPGRADE[:40],
    UPGRADE[:-2],
    UPGRADE.replace(b"dGhl", b"!!!!"),
    UPGRADE.replace(b"13\r\n", b"12\r\n"),
    UPGRADE + b"\xff" * 100,
    UPGRADE + UPGRADE,
]


@pytest.mark.parametrize("leave", [reset, None])
async def test_abuse_ends_its_own_connection_in_time(leave: object) -> None:
    limits = SocketLimits(handshake_s=0.2, close_s=0.2)
    async with served(echo, limits=limits) as port:
        async with trio.open_nursery() as nursery:
            for data in ABUSE:
                stream = await raw(port, data)
                if leave is reset:
                    reset(stream)
                else:
                    nursery.start_soon(rest, stream)
            with trio.fail_after(2):
                await trio.lowlevel.checkpoint()
        async with connect(f"ws://127.0.0.1:{port}/v1/realtime") as client:
            await client.send("alive")
            assert await client.recv() == "alive"


async def drip(stream: trio.SocketStream, data: bytes) -> None:
    for byte in data:
        await stream.send_all(bytes([byte]))
        await trio.sleep(0.02)


async def test_a_handshake_a_byte_at_a_time_has_one_deadline() -> None:
    async with served(echo, limits=SocketLimits(handshake_s=0.2)) as port:
        stream = await raw(port)
        before = trio.current_time()
        with pytest.raises(trio.BrokenResourceError):
            await drip(stream, UPGRADE)
        await stream.aclose()
        assert trio.current_time() - before < 1


async def test_one_connection_too_many_is_reset() -> None:
    async with served(echo, limits=SocketLimits(max_connections=1)) as port:
        async with connect(f"ws://127.0.0.1:{port}/v1/realtime"):
            assert await rest(await raw(port)) == b"<reset>"
        await trio.sleep(0.05)
        async with connect(f"ws://127.0.0.1:{port}/v1/realtime") as client:
            await client.send("room again")
            assert await client.recv() == "room again"


async def test_cancelling_the_endpoint_resets_what_is_left() -> None:
    async with trio.open_nursery() as nursery:
        async with served(echo) as port:
            stream = await raw(port, UPGRADE)
            await stream.receive_some()
        assert (await rest(stream))[-7:] in (b"", b"<reset>")
        nursery.cancel_scope.cancel()
