"""Worker processes under a real server with real models: killed in mid-reply, and with a language model between."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from interlock.demo import hearing
from interlock.workers.echo import EARS, MIND, VOICE
from tests.serve.server import Server, server
from tests.serve.speaker import Speaker
from tests.workers.torch.tiny import WORDS, missing, save_tiny

pytestmark = [
    pytest.mark.real_clock,
    pytest.mark.speech,
    pytest.mark.slow,
    pytest.mark.timeout_s(120),
    pytest.mark.skipif(bool(hearing.missing()), reason="the extra `speech` is not installed"),
]

MOST = 6
"""Words that the language model answers with."""

HELD = ("owed", "slots", "requests", "journal_bytes", "input_bytes")


async def worker(running: Server, stage: str) -> dict[str, Any]:
    """Return what the server says of one worker."""
    found: dict[str, Any] = next(w for w in (await running.books())["workers"] if w["stage"] == stage)
    return found


def is_empty(running: Server) -> bool:
    assert running.process.returncode == 0
    assert running.report["defects"] == []
    return not any(running.report[name] for name in HELD)


async def test_a_worker_killed_in_mid_reply_fails_that_response_and_the_next_utterance_is_answered(
    tmp_path: Path,
) -> None:
    """``kill -9`` of the voice, by the process id that GET /debug/books names."""
    async with server(tmp_path) as running:
        speaker, bystander = await Speaker.open(running), await Speaker.open(running)
        assert [(await worker(running, stage))["pid"] is None for stage in (EARS, MIND, VOICE)] == [False, True, False]
        await speaker.say()
        await speaker.wire.until("response.output_audio.delta")
        killed = await worker(running, VOICE)
        os.kill(killed["pid"], signal.SIGKILL)
        _, _, done = await speaker.response()
        assert done["status"] == "failed"
        assert done["status_details"]["error"]["code"] == "worker_lost"
        await speaker.say(1)
        text, frames, done = await speaker.response()
        assert (done["status"], frames > 10) == ("completed", True)
        assert text.startswith("You said:")
        again = await worker(running, VOICE)
        assert (again["incarnation"], again["state"]) == (2, "READY")
        assert again["pid"] != killed["pid"]
        kinds = [event["type"] for event in speaker.wire.events]
        assert kinds.count("response.created") == kinds.count("response.done") == 2
        assert [event["type"] for event in bystander.wire.events] == ["session.created"]
        assert [await each.close() for each in (speaker, bystander)] == ["session.closed"] * 2
    assert is_empty(running)


@pytest.mark.skipif(bool(missing()), reason=f"no {', '.join(missing())}; install interlock[hf]")
async def test_a_language_model_from_a_folder_answers_between_recognition_and_speech(tmp_path: Path) -> None:
    save_tiny(tmp_path / "model", most=MOST)
    async with server(tmp_path / "trace", "--mind", str(tmp_path / "model")) as running:
        assert (await worker(running, MIND))["pid"] is not None
        speaker = await Speaker.open(running)
        for turn in range(2):
            await speaker.say(turn)
            text, frames, done = await speaker.response()
            assert done["status"] == "completed"
            assert 1 <= len(text.split()) <= MOST
            assert set(text.split()) <= set(WORDS)
            assert frames > 0
        assert await speaker.close() == "session.closed"
    assert is_empty(running)
