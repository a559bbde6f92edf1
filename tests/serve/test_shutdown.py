"""SIGTERM in mid-speech of 100 sessions: every client that reads hears how it ends, in time, and nothing is left."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
import trio

from interlock.transport.dial import dial
from interlock.transport.limits import SocketLimits
from tests.serve.server import Server, server
from tests.serve.wire import Wire, resume
from tests.transport.served import frame, upgraded

pytestmark = [pytest.mark.real_clock, pytest.mark.slow, pytest.mark.timeout_s(120)]

SESSIONS = 100
SHUTDOWN_S, CLOSE_S = 6.0, 2.0
LOUD = "AQABAAEAAQABAAEA"
SETTINGS = {
    "max_sessions": SESSIONS,
    "shutdown_s": SHUTDOWN_S,
    "cleanup_s": 1.5,
    "abort_s": 0.5,
    "drain_s": 2.0,
    "journal_bytes": 64 * 1024 * 1024,
    "access.hosts": "x",
}
OPTIONS = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
HANGING = ("tests.serve.hanging",)


async def begin(running: Server, path: str) -> Wire:
    """Open a session and let it speak; return when its first frame of audio is there."""
    wire = Wire(await dial(f"ws://127.0.0.1:{running.port}{path}", SocketLimits()))
    running.dialled.append(wire.transport)
    if path == "/v1/duplex":
        await wire.say("session.update", session={})
    await wire.until("session.created")
    await wire.say("input_audio_buffer.append", audio=LOUD)
    await wire.say("input_audio_buffer.commit")
    await wire.until("response.output_audio.delta")
    return wire


async def begin_deaf(running: Server) -> trio.SocketStream:
    """Open a session whose client says what there is to say and never reads; return when its writer is stuck."""
    sock = trio.socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    await sock.connect(("127.0.0.1", running.port))
    stream = await upgraded(trio.SocketStream(sock))
    await stream.send_all(frame(1, b'{"type":"input_audio_buffer.append","audio":"%s"}' % LOUD.encode()))
    await stream.send_all(frame(1, b'{"type":"input_audio_buffer.commit"}'))
    await running.books_when(lambda books: books["journal_bytes"] > 4_000_000)
    return stream


def is_alive(pid: int) -> bool:
    """Say whether a process is there, and no zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:1]


def descendants(pid: int) -> list[int]:
    """Return every process under one."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    children = [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    return [*children, *(below for child in children for below in descendants(child))]


async def speakers(running: Server) -> list[Wire]:
    """Let all but one session speak, half of them in each dialect."""
    wires: list[Wire] = []
    async with trio.open_nursery() as nursery:

        async def speak(path: str) -> None:
            wires.append(await begin(running, path))

        for number in range(SESSIONS - 1):
            nursery.start_soon(speak, "/v1/duplex" if number % 2 else "/v1/realtime")
    return wires


async def terminated(running: Server, wires: list[Wire]) -> float:
    """Send SIGTERM, let every client read to its end, and return the seconds until the process was gone."""
    began = trio.current_time()
    running.process.send_signal(signal.SIGTERM)
    async with trio.open_nursery() as nursery:
        for wire in wires:
            nursery.start_soon(wire.to_the_end)
        await running.process.wait()
    return trio.current_time() - began


def last_words(wire: Wire) -> tuple[int | None, str, list[str]]:
    """Return how a connection ended: its close code and reason, and its terminal events."""
    ends = [e for e in wire.events if e["type"] in ("session.closed", "response.done")]
    told = [e["response"]["status"] if e["type"] == "response.done" else e["reason"] for e in ends]
    return wire.transport.close_code, wire.transport.close_reason, told


async def test_sigterm_in_mid_speech_of_a_hundred_sessions(tmp_path: Path) -> None:
    async with server(tmp_path, *OPTIONS, program=HANGING) as running:
        deaf = await begin_deaf(running)
        wires = await speakers(running)
        assert (await running.books())["slots"] == SESSIONS
        workers = descendants(running.process.pid)
        assert len(workers) == 2
        took_s = await terminated(running, wires)
        running.report = await running.last_line()
        await deaf.aclose()
    assert took_s < SHUTDOWN_S + CLOSE_S + 1
    assert running.process.returncode == 0
    assert (running.report["owed"], running.report["slots"], running.report["defects"]) == ([], 0, [])
    assert [pid for pid in workers if is_alive(pid)] == []
    duplex = [last_words(wire) for wire in wires if "session.closed" in {e["type"] for e in wire.events}]
    strict = [last_words(wire) for wire in wires if "session.closed" not in {e["type"] for e in wire.events}]
    assert duplex == [(1012, "server_shutdown", ["cancelled", "server_shutdown"])] * 49
    assert strict == [(1012, "server_shutdown", ["cancelled"])] * 50


async def test_what_is_left_owed_is_told_by_the_exit_code_and_the_last_line(tmp_path: Path) -> None:
    """The voice is a thread of the server's own: nobody can kill it, so what it holds stays owed."""
    async with server(tmp_path, *OPTIONS, "--workers", "thread", program=HANGING) as running:
        wires = [await begin(running, "/v1/duplex") for _ in range(3)]
        took_s = await terminated(running, wires)
        running.report = await running.last_line()
    assert took_s < SHUTDOWN_S + CLOSE_S + 1
    assert running.process.returncode == 1
    owed = [entry for entry in running.report["owed"] if entry["kind"] == "request"]
    assert {entry["stage"] for entry in owed} == {"voice"}
    assert running.report["slots"] == len({entry["session"] for entry in owed}) > 0
    for wire in wires:
        assert last_words(wire) == (1012, "server_shutdown", ["cancelled", "server_shutdown"])


async def test_a_stopping_server_is_not_ready_and_takes_no_new_session(tmp_path: Path) -> None:
    async with server(tmp_path, *OPTIONS, "--workers", "thread", program=HANGING) as running:
        wires = [await begin(running, "/v1/duplex") for _ in range(2)]
        late = Wire(await dial(f"ws://127.0.0.1:{running.port}/v1/duplex", SocketLimits()))
        running.dialled.append(late.transport)
        assert (await running.get("/readyz"))[0] == 200
        running.process.send_signal(signal.SIGTERM)
        await wires[0].until("session.closed")
        status, body = await running.get("/readyz")
        assert (status, b"the server is stopping" in body) == (503, True)
        assert (await running.get("/healthz"))[0] == 200
        await late.say("session.update", session={})
        await late.to_the_end()
        assert [event["error"]["code"] for event in late.events] == ["session_closed"]
        assert late.transport.close_code == 1012
        await running.process.wait()
        running.report = await running.last_line()
    assert running.process.returncode == 1


async def test_a_session_of_the_process_before_is_expired_and_a_fresh_one_opens(tmp_path: Path) -> None:
    async with server(tmp_path / "before", "--scripted", "5") as running:
        wire = await begin(running, "/v1/duplex")
        created: dict[str, Any] = wire.events[0]
    assert running.process.returncode == 0
    async with server(tmp_path / "after", "--scripted", "5") as running:
        again = Wire(await dial(f"ws://127.0.0.1:{running.port}/v1/duplex", SocketLimits()))
        running.dialled.append(again.transport)
        await resume(again, created["session"]["id"], created["resume_token"], 0)
        assert (await again.until("error"))["error"]["code"] == "session_resume_expired"
        await again.say("session.update", session={})
        await again.until("session.created")
        query = f"session_id={created['session']['id']}&resume_token={created['resume_token']}"
        strict = Wire(await dial(f"ws://127.0.0.1:{running.port}/v1/realtime?{query}", SocketLimits()))
        running.dialled.append(strict.transport)
        fresh = await strict.until("session.created")
        assert (fresh["resumed"], fresh["session"]["id"] == created["session"]["id"]) == (False, False)
