"""A flood from one client, and abuse of the handshake, while another client's audio goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from tests.serve.server import Server, server
from tests.serve.wire import Wire
from tests.transport.served import UPGRADE, frame, raw, rest

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(90)]

FRAMES = 75
"""Of 40 ms: three seconds of audio."""
LOUD = "AQABAAEAAQABAAEA"
OPTIONS = ("--scripted", str(FRAMES), "--ahead", "1", "--set", "access.hosts=x", "--set", "messages_per_s=50")
MESSAGES = frame(1, b'{"type":"session.heartbeat"}') * 400 + frame(9, b"") * 400


async def listen(running: Server, over: trio.CancelScope) -> list[float]:
    """Let a session speak, and return when each frame of audio came; then the others may stop."""
    wire = Wire(await running.dial())
    await wire.say("session.update", session={})
    await wire.until("session.created")
    await wire.say("input_audio_buffer.append", audio=LOUD)
    await wire.say("input_audio_buffer.commit")
    times: list[float] = []
    while (event := await wire.next()) is not None and event["type"] != "response.done":
        if event["type"] == "response.output_audio.delta":
            times.append(trio.current_time())
    over.cancel()
    assert wire.numbers == sorted(set(wire.numbers))
    return times


async def test_a_flood_costs_the_one_who_floods(tmp_path: Path) -> None:
    answers: list[bytes] = []
    async with server(tmp_path, *OPTIONS) as running, trio.open_nursery() as nursery:

        async def flood() -> None:
            while True:
                stream = await raw(running.port, UPGRADE + MESSAGES)
                answers.append(await rest(stream))

        for _ in range(3):
            nursery.start_soon(flood)
        times = await listen(running, nursery.cancel_scope)
        assert len(times) == FRAMES
    assert running.process.returncode == 0
    assert running.report["defects"] == []
    told = [b'"code":"rate_limit_exceeded"' in answer for answer in answers]
    assert all(told)
    assert len(told) >= 3
    assert times[-1] - times[0] < 2 * FRAMES * 0.04


async def test_handshakes_that_never_end_keep_nobody_out(tmp_path: Path) -> None:
    async with server(tmp_path, *OPTIONS, "--set", "handshake_s=1") as running, trio.open_nursery() as nursery:

        async def abuse(data: bytes) -> None:
            while True:
                await rest(await raw(running.port, data))

        for data in (b"", b"GET /", UPGRADE[:-2], b"\x16\x03\x01", b"\xff" * 9000, UPGRADE.replace(b"13", b"1")):
            for _ in range(20):
                nursery.start_soon(abuse, data)
        assert len(await listen(running, nursery.cancel_scope)) == FRAMES
    assert running.process.returncode == 0


async def test_a_key_opens_the_metrics_where_there_are_keys(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("prometheus:0123456789abcdef\n")
    keyed = ("--scripted", "1", "--keys-file", str(tmp_path / "keys"))
    async with server(tmp_path / "a", *keyed) as running:
        status, body = await running.get("/metrics")
        assert (status, json.loads(body)["error"]["code"]) == (401, "invalid_api_key")
        assert (await running.get("/readyz"))[0] == 200
    async with server(tmp_path / "b", *keyed, "--set", "metrics_open=true") as running:
        status, body = await running.get("/metrics")
        assert (status, b'interlock_sessions{state="OPEN"} 0.0' in body) == (200, True)
