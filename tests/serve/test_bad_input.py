"""Bad input gets its code from docs/wire.md, and alters nothing but, at most, its own connection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.serve.server import Server, server
from tests.serve.wire import Wire, resume

pytestmark = pytest.mark.real_clock

BAD: list[tuple[bytes, str]] = [
    (b"not json", "invalid_json"),
    (b"[1, 2]", "bad_event"),
    (b"{}", "bad_event"),
    (b'{"type": "no.such.event"}', "unknown_event"),
    (b'{"type": "session.event_ack"}', "bad_event"),
    (b'{"type": "session.event_ack", "server_event_seq": "one"}', "bad_event"),
    (b'{"type": "session.event_ack", "server_event_seq": -1}', "bad_event"),
    (b'{"type": "session.event_ack", "server_event_seq": 999999}', "invalid_event_ack"),
    (b'{"type": "input_audio_buffer.append", "audio": "***"}', "bad_audio"),
    (b'{"type": "input_audio_buffer.append"}', "bad_event"),
    (b'{"type": "playback.ack", "played_ms": 5, "response_id": "resp_x"}', "playback_item_not_found"),
    (b'{"type": "response.cancel"}', "response_not_active"),
    (b'{"type": "response.create"}', "response_create_without_input"),
    (b'{"type": "session.resume", "session_id": "s", "resume_token": "t"}', "unsupported_session_resume"),
    (b'{"type": "session.update", "session": {"turn_detection": {"type": "none"}}}', "unsupported_turn_detection"),
    (b"[" * 100_000, "bad_event"),
]

BAD_FIRST: list[tuple[bytes, str]] = [
    (b"not json", "invalid_json"),
    (b'{"type": "session.resume", "session_id": "nobody", "resume_token": "t"}', "session_resume_expired"),
    (b'{"type": "session.resume"}', "bad_event"),
    (b'{"type": "session.update", "session": {"input_audio_format": "mp3"}}', "unsupported_audio_format"),
]


async def opened(running: Server) -> tuple[Wire, dict[str, Any]]:
    wire = Wire(await running.dial())
    await wire.say("session.update", session={})
    return wire, await wire.until("session.created")


async def test_bad_input_is_answered_with_its_code_and_alters_no_session(tmp_path: Path) -> None:
    async with server(tmp_path, "--scripted", "10") as running:
        bystander, _ = await opened(running)
        wire, created = await opened(running)
        before = await running.books()
        for data, code in BAD:
            await wire.raw(data)
            error = await wire.until("error")
            assert (data[:80], error["error"]["code"]) == (data[:80], code)
        after = await running.books()
        for same in ("slots", "sessions", "requests", "journal_bytes", "input_bytes", "owed", "defects"):
            assert (same, before[same]) == (same, after[same])

        for each in (bystander, wire):
            await each.say("session.heartbeat")
            await each.until("session.heartbeat_ack")
        await bad_resumes(running, created)
        for each in (bystander, wire):
            await each.say("session.close")
            assert (await each.to_the_end())[-1]["type"] == "session.closed"
    assert running.process.returncode == 0
    assert running.report["defects"] == []


async def bad_resumes(running: Server, created: dict[str, Any]) -> None:
    """A wrong token, and a position from the future: refused, and the attached client notices nothing."""
    session_id, token = created["session"]["id"], created["resume_token"]
    for given, position, code in (("wrong", 0, "invalid_resume_token"), (token, 10_000, "session_resume_conflict")):
        other = Wire(await running.dial())
        await resume(other, session_id, given, position)
        assert (await other.until("error"))["error"]["code"] == code
        other.tear()


@pytest.mark.parametrize(("data", "code"), BAD_FIRST)
async def test_a_bad_first_message_is_answered_and_the_next_one_may_be_good(
    tmp_path: Path, data: bytes, code: str
) -> None:
    async with server(tmp_path, "--scripted", "10") as running:
        wire = Wire(await running.dial())
        await wire.raw(data)
        assert (await wire.until("error"))["error"]["code"] == code
        assert (await running.books())["slots"] == 0
        await wire.say("session.update", session={})
        await wire.until("session.created")
        await wire.say("session.close")
        assert (await wire.to_the_end())[-1]["type"] == "session.closed"
    assert running.process.returncode == 0


async def test_a_huge_frame_costs_its_own_connection_and_not_the_session(tmp_path: Path) -> None:
    async with server(tmp_path, "--scripted", "10", "--set", "frame_bytes=100000") as running:
        wire, created = await opened(running)
        await wire.raw(b"[" + b" " * 110_000 + b"]")
        await wire.to_the_end()
        assert wire.transport.close_code == 1009
        again = Wire(await running.dial())
        await resume(again, created["session"]["id"], created["resume_token"], 0)
        await again.until("session.resumed")
        await again.say("session.close")
        await again.to_the_end()
    assert running.process.returncode == 0
