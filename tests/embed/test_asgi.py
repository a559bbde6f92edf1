"""The ASGI app under uvicorn, on real sockets: asyncio and uvloop, each WebSocket implementation that it has."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from typing import Any

import pytest
from fastapi import Depends, FastAPI, WebSocket
from websockets.exceptions import ConnectionClosedError

from interlock.embed import EmbedLimits
from interlock.tables import messages as m
from tests.embed.scene import Run
from tests.embed.served import PATH, Served, out_of_reach, plain, say, served, speak, until

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
def test_abort_frees_the_socket_of_a_client_that_does_not_read(run: Run, ws: str) -> None:
    """Without it, uvicorn still held the socket, and what was queued in it, 13 s after the app had returned."""

    async def main() -> None:
        async with served(frames=2500, ws=ws, evict_s=0.2, journal_bytes=64 * 1024 * 1024) as door:
            sock, session_id, token = await door.deaf()
            with sock:
                await door.until(lambda: door.is_stuck)
                async with door.dial() as taker:
                    await take_over(door, taker, session_id, token)
                    await door.until(lambda: door.sockets == 1, within_s=5)
                    assert door.runtime.owed() == []
                    with pytest.raises(ConnectionResetError):
                        await drain(sock)

    run(main)


@pytest.mark.real_clock
def test_where_the_transport_is_out_of_reach_the_attachment_goes_and_the_socket_is_listed(run: Run) -> None:
    async def main() -> None:
        limits = EmbedLimits(max_lingering=1)
        async with served(
            frames=2500, wrap=out_of_reach, evict_s=0.2, journal_bytes=64 * 1024 * 1024, limits=limits
        ) as door:
            sock, session_id, token = await door.deaf()
            with sock:
                await door.until(lambda: door.is_stuck)
                async with door.dial() as taker:
                    await take_over(door, taker, session_id, token)
                    await door.until(lambda: door.runtime.limits()["max_lingering"]["now"] == 1, within_s=5)
                    assert (door.runtime.owed(), door.sockets) == ([], 2)
                    async with door.dial() as refused:
                        await refused.wait_closed()
                        assert (refused.close_code, refused.close_reason) == (1013, "max_lingering is reached")
            await door.until(lambda: door.runtime.limits()["max_lingering"]["now"] == 0)

    run(main)


@pytest.mark.real_clock
def test_a_write_that_makes_no_progress_loses_its_transport_and_frees_the_socket(run: Run) -> None:
    async def main() -> None:
        async with served(frames=2500, write_s=0.2, journal_bytes=64 * 1024 * 1024) as door:
            sock, session_id, _ = await door.deaf()
            with sock:
                await door.until(lambda: door.sockets == 0)
                assert door.runtime.host.drivers[session_id].value.state("lease") == "GRACE"

    run(main)


@pytest.mark.real_clock
def test_an_interrupt_leaves_one_write_in_the_transport_and_no_more(run: Run) -> None:
    """Promise 2, under a server whose transports buffer: nothing that is voided is waiting in one of them."""

    async def main() -> None:
        async with served(frames=2500, journal_bytes=64 * 1024 * 1024) as door:
            sock, session_id, _ = await door.deaf()
            driver = door.runtime.host.drivers[session_id]
            with sock:
                await door.until(lambda: door.is_stuck)
                transport = next(iter(door.server.server_state.connections)).transport
                buffered = transport.get_write_buffer_size()
                assert buffered <= driver.settings.write_bytes + 4096
                assert driver.value.journal.handed < driver.value.journal.head

    run(main)


@pytest.mark.real_clock
def test_frames_that_are_due_together_are_one_write(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with served(frames=400) as door, door.dial(compression=None) as client:
            await say(client, "session.update", session={})
            await until(client, "session.created")
            (connection,) = door.server.server_state.connections
            writes: list[int] = []
            write = connection.transport.write

            class Counted:
                """The transport, with its writes counted."""

                def __getattr__(self, name: str) -> Any:
                    return getattr(transport, name)

                def write(self, data: bytes) -> None:
                    writes.append(len(data))
                    write(data)

            transport, connection.transport = connection.transport, Counted()  # type: ignore[assignment]
            await speak(client)
            events = await until(client, "response.done")
            connection.transport = transport
            assert len(events) > 400
            assert len(writes) < len(events) / 8

    run(main)


@pytest.mark.real_clock
def test_tw_12_a_disconnect_in_mid_send_skips_no_accounting(run: Run) -> None:
    """ray #64077: the clean-up of a generator yielded again after an abrupt disconnect, and the books were wrong."""

    async def main() -> None:
        async with served(frames=2500, journal_bytes=64 * 1024 * 1024) as door:
            for _ in range(5):
                sock, session_id, _ = await door.deaf()
                driver = door.runtime.host.drivers[session_id]
                await door.until(lambda: driver.value.journal.handed > 100)  # noqa: B023
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.close()
                await door.until(lambda: driver.value.state("attachment") == "DETACHED")  # noqa: B023
                await door.until(lambda: door.sockets == 0)
                assert (driver.value.closing, driver.deliveries) == ((), {})
                await ended(door, session_id)

    run(main)


async def drain(sock: socket.socket) -> None:
    """Read what the kernel has of a socket, up to its end."""
    while await asyncio.get_running_loop().sock_recv(sock, 65536):
        pass


async def take_over(door: Served, client: Any, session_id: str, token: str) -> None:
    """Resume a session from its last event on."""
    head = door.runtime.host.drivers[session_id].value.journal.head
    where = {"session_id": session_id, "resume_token": token, "last_received_server_event_seq": head}
    await say(client, "session.resume", **where)
    await until(client, "session.resumed")


async def ended(door: Any, session_id: str) -> None:
    """End a session that nobody is attached to."""
    driver = door.runtime.host.drivers[session_id]
    driver.dispatch(m.EndRequested("internal_error"))
    await door.until(lambda: session_id not in door.runtime.host.drivers)


@pytest.mark.real_clock
def test_a_handler_that_is_cancelled_three_times_during_replay_leaves_right_books_at_the_line_after(run: Run) -> None:
    """DESIGN section 10, point 9: a bridge that only works under its own test loop is none."""

    async def main() -> None:
        async with served(frames=2500, journal_bytes=64 * 1024 * 1024, max_evicting=1) as door:
            async with door.dial() as client:
                await say(client, "session.update", session={})
                (created,) = await until(client, "session.created")
                await speak(client)
                await until(client, "response.created")
            session_id, token = created["session"]["id"], created["resume_token"]
            driver = door.runtime.host.drivers[session_id]
            await door.until(lambda: driver.value.state("attachment") == "DETACHED")
            for _ in range(3):
                sock = await door.deaf_resume(session_id, token)
                with sock:
                    await door.until(lambda: driver.value.state("attachment") == "REPLAYING" and door.is_stuck)
                    (handler,) = door.server.server_state.tasks
                    for _ in range(3):
                        handler.cancel()
                        assert driver.value.state("attachment") == "ROLLED_BACK"
                        assert (door.runtime.owed(), driver.deliveries) == ([], {})
                    await door.until(lambda: door.sockets == 0)
            async with door.dial() as again:
                await take_over(door, again, session_id, token)

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
            with pytest.raises(Exception, match="HTTP 403"):
                await door.dial(PATH)
            assert door.sockets == 0

    run(main)


@pytest.mark.real_clock
def test_a_connection_of_which_nothing_is_heard_again_is_left_after_our_goodbye(run: Run) -> None:
    """A peer that neither reads nor answers our close frame holds its socket for ``close_s``, and no longer."""

    async def main() -> None:
        async with served(limits=EmbedLimits(close_s=0.2)) as door:
            sock, session_id, _ = await door.deaf()
            with sock:
                driver = door.runtime.host.drivers[session_id]
                await door.until(lambda: any(entry.ended for entry in driver.value.playback))
                await ended(door, session_id)
                await door.until(lambda: door.sockets == 0, within_s=5)

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
