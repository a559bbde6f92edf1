"""Sockets that do not do as they should, under uvicorn: clients that do not read, or tear, and cancelled handlers."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import pytest

from interlock.embed import EmbedLimits
from interlock.tables import messages as m
from tests.embed.scene import Run
from tests.embed.served import Served, out_of_reach, say, served, speak, until

IMPLEMENTATIONS = ("websockets-sansio", "wsproto")


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
def test_frames_that_are_due_together_are_one_write(run: Run) -> None:
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
