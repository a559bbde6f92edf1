"""Resume for clients that cannot say ``session.resume``: by the query with which they come back."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio.testing

from interlock.workers.echo import VOICE
from tests.faults.door import door
from tests.runtime.stage_play import play
from tests.transport.spoken import Speaker, talking
from tests.transport.test_dialects import MANUAL, SOUND, turn, types


def query(held: dict[str, Any], position: int | str = 0) -> dict[str, str]:
    """Return what an SDK puts into its URL when it comes back with what it has received."""
    return {
        "model": "echo",
        "session_id": held["session_id"],
        "resume_token": held["resume_token"],
        "last_received_server_event_seq": str(position),
    }


def position(speaker: Speaker) -> int:
    return max(speaker.line.numbers, default=0)


async def answered(speaker: Speaker) -> None:
    await turn(speaker)
    assert speaker.line.types[-1] == "response.done" or (await speaker.say("response.create"))[-1]


async def test_a_reconnect_resumes_with_fresh_credentials_then_the_replay_then_what_is_new() -> None:
    async with play() as scene:
        async with talking(scene) as first:
            await first.say("session.update", session=MANUAL)
            await answered(first)
            held, seen = first.line.events[0], first.line.numbers
            first.line.tear()
        async with talking(scene, query(held, seen[2])) as second:
            created = second.line.events[0]
            assert (created["type"], created["resumed"], created["session_id"]) == (
                "session.created",
                True,
                held["session_id"],
            )
            assert (created["attachment_generation"], created["resume_token"] != held["resume_token"]) == (2, True)
            assert "resumable_from" not in created
            assert created["session"]["audio"]["input"]["turn_detection"] is None
            assert second.line.numbers == [n for n in seen if n > seen[2]]
            await answered(second)
            assert second.line.numbers == sorted(set(second.line.numbers))


async def test_the_presented_token_stays_good_until_the_new_one_is_used() -> None:
    """Promise 3, where nobody can ack: the proof that the new token was read is its use."""
    async with play() as scene:
        async with talking(scene) as first:
            t0 = t1 = first.line.events[0]
            first.line.tear()
        for _ in range(3):
            async with talking(scene, query(t0)) as lost:
                assert lost.line.events[0]["resumed"]
                t1 = lost.line.events[0]
                lost.line.tear()
        async with talking(scene, query(t1)) as proved:
            assert proved.line.events[0]["resumed"]
            proved.line.tear()
        async with talking(scene, query(t0)) as late:
            created = late.line.events[0]
            assert (created["resumed"], created["resume_refused"]) == (False, "invalid_resume_token")
            assert created["session_id"] != t0["session_id"]


async def test_a_superseded_client_gets_the_close_code_alone() -> None:
    async with play() as scene, talking(scene) as first, talking(scene, query(first.line.events[0])) as second:
        assert second.line.events[0]["resumed"]
        assert (first.line.types, first.line.closings) == (["session.created"], [(4001, "session_replaced")])
        before = len(first.line.frames)
        first.line.hear({"type": "session.update", "session": {}})
        await trio.testing.wait_all_tasks_blocked()
        assert len(first.line.frames) == before


@pytest.mark.parametrize("asked", [0, "", "soon", 10_000, "9" * 30])
async def test_a_history_that_is_lost_is_said_and_the_session_goes_on_from_where_it_can(asked: int | str) -> None:
    """A position that is trimmed, or from the future, or none: never a hang, and never another session."""
    async with play() as scene:
        async with talking(scene) as first:
            await first.say("session.update", session=MANUAL)
            await answered(first)
            held, cut = first.line.events[0], first.line.numbers[4]
            await first.say("session.event_ack", server_event_seq=cut)
            first.line.tear()
        async with talking(scene, query(held, asked)) as second:
            created = second.line.events[0]
            assert (created["resumed"], created["resumable_from"]) == (False, cut)
            assert created["session_id"] == held["session_id"]
            assert second.line.numbers[0] == cut + 1


async def test_a_session_that_is_gone_is_answered_with_a_fresh_one() -> None:
    async with play() as scene:
        async with talking(scene) as first:
            held = first.line.events[0]
            await first.say("session.close")
        for who in (held, held | {"session_id": "nobody"}, held | {"session_id": ""}):
            async with talking(scene, query(who)) as second:
                created = second.line.events[0]
                told = (created["resumed"], created["resumable_from"], created["resume_refused"])
                assert told == (False, None, "session_resume_expired")
                assert created["session_id"] != held["session_id"]
                await answered(second)


async def test_a_client_that_never_acks_is_not_starved_by_the_journal() -> None:
    """What was handed over is let go for room; the session lives, and a reconnect is told from where it goes on."""
    async with play(frames=200, journal_bytes=64 * 1024, write_bytes=4096, journal_age_s=1e6) as scene:
        scene.fleet[VOICE].script.ahead = 1
        async with talking(scene) as first:
            await turn(first)
            await first.say("response.create")
            await first.line.wait_for("response.done")
            held = first.line.events[0]
            trimmed = scene.host.drivers[held["session_id"]].value.journal.trimmed
            assert trimmed > 100
            first.line.tear()
        async with talking(scene, query(held, 1)) as second:
            assert second.line.events[0]["resumable_from"] == trimmed
            assert second.line.events[0]["session_id"] == held["session_id"]


async def test_a_reconnect_may_speak_the_other_dialect() -> None:
    """The dialect is the connection's. Positions still increase over what the other one was not told."""
    async with play() as scene:
        async with talking(scene) as first:
            held = first.line.events[0]
            first.line.tear()
        async with talking(scene, path="/v1/duplex") as second:
            words = {"session_id": held["session_id"], "resume_token": held["resume_token"]}
            assert types(await second.say("session.resume", **words)) == ["session.resumed"]
            assert types(await second.say("session.close")) == ["session.closed"]


@pytest.mark.real_clock
@pytest.mark.timeout_s(20)
async def test_no_secret_reaches_a_log(caplog: pytest.LogCaptureFixture) -> None:
    """At the most talkative level, the token of a resume by query, and those that it brings, appear nowhere."""
    caplog.set_level(logging.DEBUG)
    async with door() as opened:
        url = opened.url.replace("duplex", "realtime")
        wire = await opened.dial("", url)
        held = await wire.until("session.created")
        wire.tear()
        text = "&".join(f"{name}={value}" for name, value in query(held).items())
        again = await opened.dial(f"?{text}", url)
        fresh = await again.until("session.created")
        assert fresh["resumed"]
        await again.say("input_audio_buffer.append", audio=SOUND)
        refused = await opened.dial(f"?{text}x", url)
        await refused.until("session.created")
    for secret in (held["resume_token"], fresh["resume_token"]):
        assert [record for record in caplog.records if secret in record.getMessage()] == []
