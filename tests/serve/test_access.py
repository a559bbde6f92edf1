"""Who comes in to a server with keys, origins and limits; and what a flood is told."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from pydantic import SecretStr
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.trio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from interlock.errors import WorldError
from interlock.runtime.ports import TransportClosed
from interlock.serve.access import Access
from interlock.serve.config import AccessSettings, SocketSettings
from interlock.serve.router import Router
from interlock.transport.keys import offered_key
from interlock.transport.limits import SocketLimits
from interlock.transport.opening import Opening
from interlock.transport.websocket import WebSocketTransport
from tests.transport.served import echo, frame, opened, rest, served

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(20)]

ALICE, BOB = "alice-key-0123456789", "bob-key-9876543210"
SOCKET = SocketSettings()
KEYS = AccessSettings(keys=SecretStr(f"alice:{ALICE},bob:{BOB}"))


async def greeting(transport: WebSocketTransport) -> None:
    """Say who has come, then echo."""
    try:
        await transport.send([f"hello {transport.opening.caller}".encode()])
        await echo(transport)
    except TransportClosed:
        return


@asynccontextmanager
async def guarded(
    settings: AccessSettings, socket: SocketSettings = SOCKET, host: str = "127.0.0.1"
) -> AsyncIterator[int]:
    access, router = Access(settings, socket, host), Router()
    router.socket("/v1/realtime", access.bounded(greeting), access.check_place, access.check_key)
    limits = socket.limits(frame_bytes=100_000)
    async with served(router.handle, respond=router.respond, paths=router.socket_paths, limits=limits) as port:
        yield port


def join(port: int, key: str = "", name: str = "127.0.0.1", **options: Any) -> connect:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return connect(f"ws://{name}:{port}/v1/realtime", additional_headers=headers, **options)


async def refused(port: int, key: str = "", **options: Any) -> tuple[int, str]:
    """Return the status and the code of a refusal."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        with pytest.raises(InvalidStatus) as wrong:
            await join(port, key, stream=stream, **options).__aenter__()
    response = wrong.value.response
    return response.status_code, json.loads(response.body)["error"]["code"]


async def test_a_key_opens_and_its_name_is_known() -> None:
    async with guarded(KEYS) as port:
        async with join(port, BOB) as client:
            assert await client.recv() == "hello bob"
        offered = [Subprotocol("realtime"), Subprotocol(f"openai-insecure-api-key.{ALICE}")]
        async with join(port, subprotocols=offered) as client:
            assert client.subprotocol == "realtime"
            assert await client.recv() == "hello alice"
        assert await refused(port) == (401, "invalid_api_key")
        assert await refused(port, "alice-key-0123456780") == (401, "invalid_api_key")


async def test_without_keys_everybody_is_nobody() -> None:
    async with guarded(AccessSettings()) as port, join(port) as client:
        assert await client.recv() == "hello "


async def test_a_page_of_another_origin_is_refused_and_a_name_that_is_not_ours() -> None:
    async with guarded(AccessSettings(origins=("https://friend.example",))) as port:
        assert await refused(port, origin="https://evil.example") == (403, "origin_not_allowed")
        for origin in ("https://friend.example", f"http://127.0.0.1:{port}"):
            async with join(port, origin=origin) as client:
                assert await client.recv() == "hello "
        assert await refused(port, name="rebound.example") == (403, "unknown_host")


async def closed(client: ClientConnection) -> tuple[str, int | None, str | None]:
    """Read to the close: the code of the last error, and the close code and reason."""
    code = ""
    try:
        while True:
            told = await client.recv()
            code = json.loads(told)["error"]["code"] if told.startswith("{") else code  # type: ignore[arg-type]
    except ConnectionClosed:
        return code, client.close_code, client.close_reason


async def test_one_connection_of_a_key_too_many_is_told_and_costs_no_other_key() -> None:
    async with guarded(KEYS, SocketSettings(max_per_key=1)) as port, join(port, ALICE) as first:
        assert await first.recv() == "hello alice"
        async with join(port, ALICE) as second:
            assert await closed(second) == ("resource_exhausted", 1013, "resource_exhausted")
        async with join(port, BOB) as other:
            assert await other.recv() == "hello bob"
        await first.aclose()
        async with join(port, ALICE) as third:
            assert await third.recv() == "hello alice"


FEW = SocketSettings(messages_per_s=10, close_s=0.2)
SMALL = SocketSettings(bytes_per_s=1000, close_s=0.2)
FLOODS: list[tuple[SocketSettings, bytes, str]] = [
    (FEW, frame(1, b"{}") * 150, "more than 10 messages a second; slow down"),
    (FEW, frame(9, b"") * 150, "more than 10 messages a second; slow down"),
    (FEW, frame(1, b"", fin=False) + frame(0, b"", fin=False) * 150, "more than 10 messages a second; slow down"),
    (SMALL, frame(1, b"x" * 100) * 150, "more than 1000 bytes a second; slow down"),
]


@pytest.mark.parametrize(("socket", "flood", "told"), FLOODS, ids=["messages", "pings", "fragments", "bytes"])
async def test_a_flood_is_told_why_it_is_closed(socket: SocketSettings, flood: bytes, told: str) -> None:
    async with guarded(AccessSettings(hosts=("x",)), socket) as port, join(port) as quiet:
        assert await quiet.recv() == "hello "
        stream = await opened(port)
        await stream.send_all(flood)
        with trio.fail_after(5):
            read = (await rest(stream)).removesuffix(b"<reset>")
        assert b'"code":"rate_limit_exceeded"' in read
        assert read.endswith((1008).to_bytes(2, "big") + told.encode())
        await quiet.send("as ever")
        assert await quiet.recv() == "as ever"


async def test_a_peer_that_is_not_of_this_machine_holds_so_many_connections() -> None:
    seen: list[str] = []

    async def handler(transport: Any) -> None:
        seen.append("served")

    class Told:
        opening = Opening("/v1/realtime", peer="192.0.2.7")

        async def send(self, frames: list[bytes]) -> None:
            seen.append(json.loads(frames[0])["error"]["code"])

        async def close(self, code: int, reason: str) -> None:
            seen.append(str(int(code)))

    access = Access(AccessSettings(), SocketSettings(max_per_peer=1), "0.0.0.0")
    bounded = access.bounded(handler)
    transport: Any = Told()

    async def nested(_: Any) -> None:
        await bounded(transport)

    await access.bounded(nested)(transport)
    await bounded(transport)
    assert seen == ["resource_exhausted", "1013", "served"]


# --- the hook


async def tell_by_header(opening: Opening) -> str | None:
    """An async hook."""
    await trio.lowlevel.checkpoint()
    return opening.headers.get("x-user")


blocking = threading.Event()


def block(opening: Opening) -> str:
    """A plain hook that blocks until the test says otherwise."""
    blocking.wait()
    return "late"


def fail(opening: Opening) -> str:
    raise ZeroDivisionError(opening.headers.get("x-user"))


KNOWN: dict[str, str] = {}


def look_up(opening: Opening) -> str:
    """The hook that everybody writes first: what it raises has the key in it."""
    return KNOWN[offered_key(opening)]


def give_a_number(opening: Opening) -> int:
    return 7


def hooked(function: str, hook_s: float = 5.0) -> AccessSettings:
    return AccessSettings(hook=f"{__name__}:{function}", hook_s=hook_s)


async def test_a_hook_says_who_a_client_is() -> None:
    async with guarded(hooked("tell_by_header")) as port:
        url = f"ws://127.0.0.1:{port}/v1/realtime"
        async with connect(url, additional_headers={"X-User": "carol"}) as client:
            assert await client.recv() == "hello carol"
        assert await refused(port) == (401, "invalid_api_key")


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("block", "block took more than access.hook_s = 0.1 s"),
        ("fail", "fail raised ZeroDivisionError"),
        ("give_a_number", "give_a_number returned int"),
    ],
)
async def test_a_hook_that_fails_or_blocks_refuses_its_own_client(
    function: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    blocking.clear()
    try:
        async with guarded(hooked(function, hook_s=0.1)) as port:
            assert await refused(port) == (503, "auth_unavailable")
    finally:
        blocking.set()
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert told in record.getMessage()


async def test_what_a_hook_raises_is_named_by_its_kind_and_its_place_and_never_in_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The words of a ``KeyError`` are the key."""
    async with guarded(hooked("look_up")) as port:
        key = "sk-a-key-of-somewhere-else"
        assert await refused(port, key) == (503, "auth_unavailable")
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert key not in caplog.text
    assert re.search(r"look_up raised KeyError in test_access\.py, line \d+", record.getMessage())


@pytest.mark.parametrize("name", ["nowhere.at_all:f", "json:no_such", "json", "json:__name__"])
def test_a_hook_that_is_none_is_told_before_anything_starts(name: str) -> None:
    with pytest.raises(WorldError, match=f"access.hook = {name}"):
        Access(AccessSettings(hook=name), SocketSettings(), "127.0.0.1")


def test_a_file_of_keys_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    wrong = tmp_path / "keys"
    with pytest.raises(WorldError, match=r"keys: .*No such file"):
        Access(AccessSettings(keys_file=wrong), SocketSettings(), "127.0.0.1")
    wrong.write_text("geheim")
    with pytest.raises(WorldError, match="keys: line 1: a key has at least 16 characters") as told:
        Access(AccessSettings(keys_file=wrong), SocketSettings(), "127.0.0.1")
    assert "geheim" not in str(told.value)


def test_the_sockets_of_one_address_are_twice_its_websockets() -> None:
    limits = SocketSettings(max_per_peer=3).limits(1000)
    assert (limits.max_per_peer, SocketLimits().messages_per_s) == (6, float("inf"))
