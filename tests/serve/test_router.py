"""One port, many places: pages by path, query and headers, folders, WebSockets, and the guards before each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.exceptions import InvalidStatus
from websockets.trio.client import connect

from interlock.serve.router import Guard, Router
from interlock.transport.opening import Opening, Page
from interlock.transport.websocket import WebSocketTransport
from tests.transport.served import echo, raw, rest, served

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(10)]


def mirror(opening: Opening) -> Page:
    """Say what was asked for."""
    told = f"{opening.path} {dict(opening.query)} {opening.headers['x-mark']} {opening.peer}"
    return Page(200, "text/plain", told.encode(), (("Cache-Control", "no-store"),))


def guard(name: str) -> Guard:
    """Refuse who does not name it."""

    async def refuse(opening: Opening) -> Page | Opening:
        return opening if name in opening.query else Page(401, "text/plain", f"no {name}\n".encode())

    return refuse


async def other(transport: WebSocketTransport) -> None:
    await transport.send([b"the other"])


@asynccontextmanager
async def routed() -> AsyncIterator[int]:
    router = Router()
    router.page("/mirror", mirror)
    router.page("/kept", mirror, guard("first"), guard("second"))
    router.folder("/files/", mirror)
    router.folder("/files/none/", lambda _: None)
    router.socket("/v1/realtime", echo)
    router.socket("/inspect/stream", other, guard("first"))
    async with served(router.handle, respond=router.respond, paths=router.socket_paths) as port:
        yield port


async def get(port: int, target: str) -> tuple[int, str]:
    """Return status, and head and body."""
    line = f"GET {target} HTTP/1.1\r\nHost: x\r\nX-Mark: seen\r\n\r\n"
    answer = (await rest(await raw(port, line.encode()))).decode()
    return int(answer.split()[1]), answer


async def test_a_page_has_the_query_the_headers_and_the_peer_of_its_request() -> None:
    async with routed() as port:
        status, answer = await get(port, "/mirror?a=1&b=two%20words")
        assert status == 200
        assert answer.endswith("/mirror {'a': '1', 'b': 'two words'} seen 127.0.0.1")
        assert "Cache-Control: no-store\r\n" in answer


@pytest.mark.parametrize(
    ("target", "status", "end"),
    [
        ("/kept", 401, "no first\n"),
        ("/kept?first=1", 401, "no second\n"),
        ("/kept?first=1&second=1", 200, "127.0.0.1"),
        ("/files/a/b.js", 200, "127.0.0.1"),
        ("/files/none/b.js", 404, "not found\n"),
        ("/files", 404, "not found\n"),
        ("/mirror/below", 404, "not found\n"),
        ("//[", 404, "not found\n"),
        ("/inspect/stream", 401, "no first\n"),
        ("/v1/realtime", 426, "WebSocket client.\n"),
    ],
)
async def test_each_path_leads_where_it_should(target: str, status: int, end: str) -> None:
    async with routed() as port:
        answer = await get(port, target)
    assert answer[0] == status
    assert answer[1].endswith(end)


async def test_websockets_open_at_every_path_that_has_one_past_its_guards() -> None:
    async with routed() as port:
        async with connect(f"ws://127.0.0.1:{port}/v1/realtime") as client:
            await client.send("hello")
            assert await client.recv() == "hello"
        async with connect(f"ws://127.0.0.1:{port}/inspect/stream?first=1") as client:
            assert await client.recv() == "the other"
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"ws://127.0.0.1:{port}/inspect/stream").__aenter__()
        assert refused.value.response.status_code == 401


def test_an_opening_shows_no_secret() -> None:
    opening = Opening("/v1/realtime", {"resume_token": "geheim"}, {"authorization": "Bearer geheim"})
    assert "geheim" not in repr(opening)
