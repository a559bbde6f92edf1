"""Promises 1, 3 and 4 over real sockets, with the server in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.serve.server import Server, server
from tests.serve.wire import Wire, resume

pytestmark = pytest.mark.real_clock

FRAMES = 4000
"""Of about 2.7 kB as JSON: more than 10 MB, well over what two socket buffers hold."""
BIG = ("--scripted", str(FRAMES), "--ahead", str(FRAMES), "--set", "journal_bytes=67108864")
LOUD = "AQABAAEAAQABAAEA"


async def opened(running: Server) -> tuple[Wire, dict[str, Any]]:
    wire = Wire(await running.dial())
    await wire.say("session.update", session={})
    return wire, await wire.until("session.created")


async def test_at_01_a_reset_in_mid_replay_rolls_back_and_the_next_resume_gets_everything(tmp_path: Path) -> None:
    """The cancel is a reset, sent after session.resumed, while a replay of over 8 MB is blocked in its write."""
    async with server(tmp_path, *BIG) as running:
        wire, created = await opened(running)
        session_id, token = created["session"]["id"], created["resume_token"]
        await wire.say("input_audio_buffer.append", audio=LOUD)
        await wire.say("input_audio_buffer.commit")
        await wire.until("response.done")
        everything = wire.numbers
        wire.tear()
        assert (await running.books())["journal_bytes"] > 8 * 1024 * 1024

        for generation in (2, 3, 4):
            stalled = Wire(await running.dial())
            await resume(stalled, session_id, token, 0)
            assert (await stalled.until("session.resumed"))["attachment_generation"] == generation
            await blocked_in_replay(running, session_id)
            stalled.tear()
        last = Wire(await running.dial())
        await resume(last, session_id, token, 0)
        assert (await last.until("session.resumed"))["attachment_generation"] == 5
        await last.until("response.done")
        assert last.numbers == everything == sorted(set(everything))
        await last.say("session.close")
        assert (await last.to_the_end())[-1]["type"] == "session.closed"
    assert running.process.returncode == 0
    moves = [
        (row["from"], row["to"])
        for record in running.records()
        for row in record.get("rows", ())
        if row["machine"] == "attachment" and row["from"] != row["to"]
    ]
    assert moves.count(("REPLAYING", "ROLLED_BACK")) == 3


async def blocked_in_replay(running: Server, session_id: str) -> None:
    """Return when the server's writer has made no progress between two looks: it is blocked in its write."""
    before = 0
    while True:
        look = json.loads((await running.get(f"/debug/sessions/{session_id}"))[1])
        assert look["states"]["attachment"] in {"ACTIVATING", "REPLAYING"}
        if look["writer_cursor"] == before > 0:
            assert look["states"]["attachment"] == "REPLAYING"
            return
        before = look["writer_cursor"]


async def test_sigterm_gives_every_client_its_terminal_and_leaves_nothing(tmp_path: Path) -> None:
    async with server(tmp_path, "--scripted", "200") as running:
        wires = [(await opened(running))[0] for _ in range(5)]
        for wire in wires:
            await wire.say("input_audio_buffer.append", audio=LOUD)
            await wire.say("input_audio_buffer.commit")
            await wire.until("response.output_audio.delta")
        async with trio.open_nursery() as nursery:
            for wire in wires:
                nursery.start_soon(wire.to_the_end)
            await running.stop()
    assert running.process.returncode == 0
    assert [running.report[name] for name in ("owed", "slots", "requests", "journal_bytes")] == [[], 0, 0, 0]
    assert running.report["limits"]["max_sessions"]["high_water"] == 5
    for wire in wires:
        kinds = [event["type"] for event in wire.events]
        assert kinds.count("response.done") == 1
        assert (kinds[-1], wire.events[-1]["reason"]) == ("session.closed", "server_shutdown")
        assert wire.transport.close_code == 1012


async def test_at_15_a_client_that_does_not_read_is_evicted_in_time(tmp_path: Path) -> None:
    """The half-dead socket does not block its own remedy, and is aborted within evict_s."""
    async with server(tmp_path, *BIG, "--set", "evict_s=0.5") as running:
        wire, created = await opened(running)
        session_id, token = created["session"]["id"], created["resume_token"]
        await wire.say("input_audio_buffer.append", audio=LOUD)
        await wire.say("input_audio_buffer.commit")
        await running.books_when(lambda books: books["journal_bytes"] > 8 * 1024 * 1024)
        taker = Wire(await running.dial())
        began = trio.current_time()
        await resume(taker, session_id, token, 0)
        await taker.until("session.resumed")
        assert trio.current_time() - began < 0.5
        await running.books_when(lambda books: not books["owed"])
        assert trio.current_time() - began < 2.0
        await taker.until("response.done")
        await taker.say("session.close")
        await taker.to_the_end()
    assert running.process.returncode == 0


async def test_health_is_answered_and_other_paths_are_not(tmp_path: Path) -> None:
    async with server(tmp_path, "--scripted", "1") as running:
        status, body = await running.get("/healthz")
        assert (status, json.loads(body)) == (200, {"status": "ok", "slots": 0})
        assert (await running.get("/nothing"))[0] == 404
    assert running.process.returncode == 0
