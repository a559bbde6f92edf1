"""The embedding examples, as a user runs them: uvicorn in a process of its own, real models, a real client, Ctrl-C."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from interlock.transport.client import open_client

ROOT = Path(__file__).resolve().parents[2]
LOOPS = ("asyncio", "uvloop")

pytestmark = [pytest.mark.real_clock, pytest.mark.speech, pytest.mark.slow, pytest.mark.timeout_s(120)]


@asynccontextmanager
async def uvicorn(module: str, loop: str) -> AsyncIterator[tuple[trio.Process, int]]:
    """Run an example; give its process and its port. It is killed if it does not end by itself."""
    options = [f"{module}:app", "--app-dir", str(ROOT / "examples"), "--loop", loop, "--port", "0", "--no-access-log"]
    command = [sys.executable, "-m", "uvicorn", *options]
    process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = b""
    try:
        while not (found := re.search(rb"running on http://127\.0\.0\.1:(\d+)", said)):
            chunk = await process.stderr.receive_some()
            assert chunk, said.decode()
            said += chunk
        yield process, int(found[1])
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()


async def interrupted(process: trio.Process) -> tuple[int, str]:
    """Press Ctrl-C, and return the exit code and what the program has printed."""
    assert process.stdout is not None
    process.send_signal(signal.SIGINT)
    printed = b"".join([chunk async for chunk in process.stdout])
    return await process.wait(), printed.decode()


async def answer(port: int) -> str:
    """Say a recording, and return what is answered."""
    pytest.importorskip("pocketsphinx", reason="the extra `speech` is not installed")
    with wave.open(str(ROOT / "examples" / "audio" / "go-forward.wav")) as recording:
        pcm = recording.readframes(recording.getnframes())
    async with open_client(f"ws://127.0.0.1:{port}/v1/realtime") as client:
        await client.append(pcm + bytes(16_000))
        async for event in client:
            if event["type"] == "response.output_audio_transcript.done":
                await client.close()
                return str(event["transcript"]).strip()
    raise AssertionError("the session ended without an answer")


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_fastapi_app_holds_a_spoken_session_and_ctrl_c_leaves_nothing_owed(loop: str) -> None:
    async with uvicorn("embed_fastapi", loop) as (process, port):
        assert await answer(port) == "You said: go forward ten meters."
        assert await interrupted(process) == (0, "owed: []\n")


@pytest.mark.parametrize("loop", LOOPS)
async def test_ctrl_c_while_a_client_is_attached_ends_with_nothing_owed(loop: str) -> None:
    async with uvicorn("embed_fastapi", loop) as (process, port), open_client(f"ws://127.0.0.1:{port}/v1/realtime"):
        assert await interrupted(process) == (0, "owed: []\n")


@pytest.mark.parametrize("loop", LOOPS)
async def test_one_engine_serves_completions_and_spoken_sessions(loop: str) -> None:
    async with uvicorn("embed_vllm", loop) as (process, port):
        async with trio.open_nursery() as nursery:
            spoken: list[str] = []

            async def speak() -> None:
                spoken.append(await answer(port))

            nursery.start_soon(speak)
            assert await trio.to_thread.run_sync(complete, port) == "You said: hello there. "
        assert spoken == ["You said: go forward ten meters."]
        assert await interrupted(process) == (0, "owed: [], running: 0\n")


def complete(port: int) -> str:
    """Ask for a completion over HTTP."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions?prompt=hello%20there", method="POST")
    with urllib.request.urlopen(request, timeout=30) as response:
        text: str = response.read().decode()
    return text
