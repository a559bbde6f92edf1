"""The ASGI app under uvicorn, on real sockets: asyncio and uvloop, each WebSocket implementation that it has."""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
from fastapi import Depends, FastAPI, WebSocket
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError

from interlock.embed import EmbedLimits, Runtime
from interlock.workers.echo import EchoPipeline
from tests.embed.scene import Run, scripted
from tests.embed.served import PATH, out_of_reach, plain, say, served, speak, until

IMPLEMENTATIONS = ("websockets-sansio", "wsproto")


@pytest.mark.real_clock
@pytest.mark.parametrize("ws", IMPLEMENTATIONS)
@pytest.mark.parametrize("wrap", [plain, out_of_reach])
def test_a_conversation_from_its_first_word_to_its_close(run: Run, ws: str, wrap: Any) -> None:
    async def main() -> None:
        async with served(ws=ws, wrap=wrap) as door, door.dial() as client:
            await say(client, "session.update", session={})
            (created,) = await until(client, "session.created")
            await speak(client)
            events = await until(client, "response.done")
            numbers = [event["server_event_seq"] for event in events if "server_event_seq" in event]
            assert numbers == list(range(1, len(numbers) + 1))
            assert [event["type"] for event in events].count("response.output_audio.delta") == 5
            await say(client, "session.close")
            assert (await until(client, "session.closed"))[-1]["session_id"] == created["session"]["id"]
            await client.wait_closed()
            assert (client.close_code, client.close_reason) == (1000, "client_close")

    run(main)


@pytest.mark.real_clock
@pytest.mark.parametrize("wrap", [plain, out_of_reach])
def test_a_torn_client_resumes_and_loses_nothing(run: Run, wrap: Any) -> None:
    async def main() -> None:
        async with served(frames=50, wrap=wrap) as door:
            async with door.dial() as client:
                await say(client, "session.update", session={})
                (created,) = await until(client, "session.created")
                await speak(client)
                heard = await until(client, "response.output_audio.delta")
                client.transport.abort()
            await door.until(lambda: door.runtime.limits()["max_connections"]["now"] == 0)
            last = heard[-1]["server_event_seq"]
            async with door.dial() as again:
                where = {"session_id": created["session"]["id"], "resume_token": created["resume_token"]}
                await say(again, "session.resume", **where, last_received_server_event_seq=last)
                (resumed,) = await until(again, "session.resumed")
                rest = await until(again, "response.done")
                assert resumed["attachment_generation"] == 2
                numbers = [event["server_event_seq"] for event in rest]
                assert numbers == list(range(last + 1, last + 1 + len(numbers)))

    run(main)


@pytest.mark.real_clock
@pytest.mark.parametrize("ws", IMPLEMENTATIONS)
def test_a_conversation_over_tls(run: Run, ws: str, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "pem"))
    trusted = ssl.create_default_context()
    authority.configure_trust(trusted)

    async def main() -> None:
        url = f"wss://127.0.0.1:{{}}{PATH}"
        async with (
            served(frames=500, ws=ws, tls=tmp_path / "pem") as door,
            connect(url.format(door.port), ssl=trusted) as client,
        ):
            await say(client, "session.update", session={})
            await until(client, "session.created")
            for _ in range(3):
                await speak(client)
                events = await until(client, "response.done")
                assert [event["type"] for event in events].count("response.output_audio.delta") == 500

    run(main)


@pytest.mark.real_clock
def test_one_connection_too_many_is_told_to_come_back(run: Run) -> None:
    async def main() -> None:
        limits = EmbedLimits(max_connections=2)
        async with served(limits=limits) as door, door.dial(), door.dial():
            async with door.dial() as third:
                await third.wait_closed()
            assert (third.close_code, third.close_reason) == (1013, "max_connections is reached")
            assert door.runtime.limits()["max_connections"] == {"limit": 2, "now": 2, "high_water": 2}

    run(main)


@pytest.mark.real_clock
@pytest.mark.parametrize("wrap", [plain, out_of_reach])
def test_a_client_that_floods_is_told_and_closed_and_nobody_else_notices(run: Run, wrap: Any) -> None:
    async def main() -> None:
        limits = EmbedLimits(messages_per_s=20, burst_s=1)
        async with served(wrap=wrap, limits=limits) as door, door.dial() as good, door.dial() as bad:
            for client in (good, bad):
                await say(client, "session.update", session={})
                await until(client, "session.created")
            for _ in range(100):
                await say(bad, "session.heartbeat")
            events = await until(bad, "error")
            assert events[-1]["error"]["code"] == "rate_limit_exceeded"
            await bad.wait_closed()
            assert (bad.close_code, bad.close_reason) == (1008, "more than 20 messages a second; slow down")
            await speak(good)
            await until(good, "response.done")

    run(main)


@pytest.mark.real_clock
def test_a_path_that_ends_with_duplex_is_that_dialect_wherever_it_is_mounted(run: Run) -> None:
    async def main() -> None:
        async with served() as door, door.dial("/v1/duplex") as client:
            under(door.server.config.loaded_app).mount("/speech/api", door.runtime.asgi())
            async with door.dial("/speech/api/duplex") as other:
                for each in (client, other):
                    await say(each, "session.update", session={})
                    assert (await until(each, "session.created"))[-1]["resume_token"]

    run(main)


@pytest.mark.real_clock
def test_no_secret_reaches_the_log_of_the_server(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    """A strict client resumes by its query, and uvicorn logs the query of what it accepts."""

    async def main() -> None:
        async with served() as door:
            server = logging.getLogger("uvicorn.error")
            server.addHandler(caplog.handler)
            server.setLevel(logging.INFO)
            try:
                async with door.dial("/v1/realtime?session_id=s&resume_token=hush-hush") as client:
                    await until(client, "session.created")
            finally:
                server.removeHandler(caplog.handler)
            assert "[accepted]" in caplog.text
            assert "hush-hush" not in caplog.text

    run(main)


@pytest.mark.real_clock
def test_the_app_serves_inside_a_route_that_has_let_a_client_in(run: Run) -> None:
    async def main() -> None:
        async with served() as door:
            fastapi = under(door.server.config.loaded_app)
            asgi = door.runtime.asgi()

            def user(websocket: WebSocket) -> str:
                return websocket.query_params.get("user", "")

            @fastapi.websocket("/inside")
            async def inside(websocket: WebSocket, name: str = Depends(user)) -> None:
                if not name:
                    await websocket.close()
                    return
                await asgi(websocket.scope, websocket.receive, websocket.send)

            async with door.dial("/inside?duplex=1&user=me") as client:
                await say(client, "session.update", session={})
                await until(client, "session.created")
                await speak(client)
                await until(client, "response.done")
            with pytest.raises(Exception, match="HTTP 403"):
                async with door.dial("/inside?duplex=1"):
                    pass

    run(main)


def under(app: Any) -> FastAPI:
    """Return the app under the middleware that a server wraps around it."""
    while not isinstance(app, FastAPI):
        app = app.app
    return app


@pytest.mark.real_clock
def test_a_server_that_stops_first_tells_its_clients_and_the_runtime_ends_after_it(run: Run) -> None:
    async def main() -> None:
        async with served() as door:
            client = await door.dial()
            await say(client, "session.update", session={})
            await until(client, "session.created")
        await client.wait_closed()
        assert client.close_code == 1012

    run(main)


@pytest.mark.real_clock
def test_a_runtime_that_stops_first_gives_each_client_its_terminal(run: Run) -> None:
    async def main() -> None:
        async with served() as door, door.dial() as client:
            await say(client, "session.update", session={})
            await until(client, "session.created")
            await door.runtime.shutdown()
            await until(client, "session.closed")
            await client.wait_closed()
            assert (client.close_code, client.close_reason) == (1012, "server_shutdown")
            async with door.dial(PATH) as late:
                await late.wait_closed()
            assert late.close_code == 1012
            await door.until(lambda: door.sockets == 0)

    run(main)


@pytest.mark.real_clock
def test_bad_input_costs_its_client_alone(run: Run) -> None:
    async def main() -> None:
        async with served() as door, door.dial() as good, door.dial() as bad:
            await say(good, "session.update", session={})
            await until(good, "session.created")
            for _ in range(4):
                await bad.send("not json")
                await until(bad, "error")
            with pytest.raises(ConnectionClosedError):
                await until(bad, "nothing")
            await good.send(b"\xff\x00 not json either")
            await until(good, "error")
            await speak(good)
            await until(good, "response.done")

    run(main)


async def plain_get(port: int, path: str) -> bytes:
    """Ask for a page."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    data = await reader.read()
    writer.close()
    return data


@pytest.mark.real_clock
def test_a_plain_request_is_told_to_upgrade(run: Run) -> None:
    async def main() -> None:
        async with served() as door:
            assert (await plain_get(door.port, "/v1/realtime")).startswith(b"HTTP/1.1 426")

    run(main)


class Asked:
    """A WebSocket of a slow ASGI server, as its app sees it: nothing is accepted in one step, and nobody says a word.

    ``told`` is what the app has sent, and ``logged`` the query as the server sees it when it logs the accept.
    """

    def __init__(self, query: bytes = b"") -> None:
        self.told: list[dict[str, Any]] = []
        self.logged = b""
        self.scope: dict[str, Any] = {"type": "websocket", "path": "/v1/realtime", "query_string": query, "headers": []}
        self._coming: list[Any] = [{"type": "websocket.connect"}]
        self._left = asyncio.Event()

    async def receive(self) -> Any:
        if self._coming:
            return self._coming.pop()
        await self._left.wait()
        return {"type": "websocket.disconnect", "code": 1001}

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.accept":
            self.logged = self.scope["query_string"]
        await asyncio.sleep(0)
        self.told.append(message)

    def leave(self) -> None:
        self._left.set()


def test_a_crowd_that_is_accepted_at_once_is_held_to_the_limit(run: Run) -> None:
    async def main() -> None:
        fleet = scripted(1)
        async with Runtime(EchoPipeline(), fleet, limits=EmbedLimits(max_connections=2)) as runtime:
            crowd = [Asked() for _ in range(5)]
            serving = [asyncio.ensure_future(runtime.asgi()(each.scope, each.receive, each.send)) for each in crowd]
            while sum(len(each.told) > 1 for each in crowd) < 5:  # noqa: ASYNC110 - each is greeted or turned away
                await asyncio.sleep(0)
            assert sum(each.told[-1].get("code") == 1013 for each in crowd) == 3
            assert runtime.limits()["max_connections"] == {"limit": 2, "now": 2, "high_water": 2}
            for each in crowd:
                each.leave()
            await asyncio.gather(*serving)

    run(main)


def test_no_secret_is_logged_of_a_client_that_comes_when_all_is_over(run: Run) -> None:
    async def main() -> None:
        async with Runtime(EchoPipeline(), scripted(1)) as runtime:
            pass
        late = Asked(b"session_id=s&resume_token=hush-hush")
        await runtime.asgi()(late.scope, late.receive, late.send)
        assert (late.logged, late.told[-1]["code"]) == (b"", 1012)

    run(main)
