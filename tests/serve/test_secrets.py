"""No secret is in a log, a trace, a page or an error: a real server, debug logging, both dialects; then a search."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
from websockets.exceptions import InvalidStatus
from websockets.trio.client import connect
from websockets.typing import Subprotocol

from tests.serve.server import Lines

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(60)]

KEY = "the-key-of-this-test-0123456789"
WRONG = "another-key-that-nobody-knows-9876"
SPOKEN = "instructions that are nobody's business"
BEARER = {"Authorization": f"Bearer {KEY}"}


async def spoken_with(url: str, **how: Any) -> tuple[list[str], dict[str, Any]]:
    """Hold one short conversation; return every token that was given, and the last credentials."""
    tokens: list[str] = []
    last: dict[str, Any] = {}
    async with connect(
        url, max_queue=None, **how
    ) as client:  # with a bound, it reads no goodbye behind what nobody reads
        await client.send(json.dumps({"type": "session.update", "session": {"instructions": SPOKEN}}))
        await client.send(json.dumps({"type": "input_audio_buffer.append", "audio": "AQABAAEAAQABAAEA"}))
        await client.send(json.dumps({"type": "input_audio_buffer.commit"}))
        await client.send(json.dumps({"type": "no.such", "resume_token": WRONG}))
        while (event := json.loads(await client.recv()))["type"] != "error":
            if "resume_token" in event:
                tokens.append(event["resume_token"])
                last = event | {"id": event["session"]["id"]}
    return tokens, last


async def test_no_secret_is_written_down(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "interlock", "serve", "--port", "0", "--scripted", "3", "--debug"]
    command += ["--trace", str(tmp_path / "trace"), "--log-level", "debug", "--keys-file", str(tmp_path / "keys")]
    (tmp_path / "keys").write_text(f"alice:{KEY}\n")
    log, tokens = tmp_path / "log", list[str]()
    with log.open("wb") as stderr:
        process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, stderr=stderr)
    assert process.stdout is not None
    lines = Lines(process.stdout)
    first = await lines.next()
    port = json.loads(first)["port"]
    url = f"ws://127.0.0.1:{port}/v1/realtime"
    given, last = await spoken_with(f"{url}?duplex=1", additional_headers=BEARER)
    tokens += given
    offered = [Subprotocol("realtime"), Subprotocol(f"openai-insecure-api-key.{KEY}")]
    given, last = await spoken_with(url, subprotocols=offered)
    tokens += given
    query = f"session_id={last['id']}&resume_token={last['resume_token']}&last_received_server_event_seq=1"
    given, _ = await spoken_with(f"{url}?{query}", additional_headers=BEARER)
    tokens += given
    given, _ = await spoken_with(f"{url}?{query.replace('resume_token=', 'resume_token=x')}", additional_headers=BEARER)
    tokens += given
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        with pytest.raises(InvalidStatus) as refused:
            await connect(url, stream=stream, additional_headers={"Authorization": f"Bearer {WRONG}"}).__aenter__()
    pages = [await got(port, path) for path in ("/metrics", "/debug/books", f"/debug/sessions/{last['id']}")]
    process.send_signal(signal.SIGTERM)
    report = await lines.next()
    await process.wait()
    written = {"log": log.read_bytes(), "lines": first + report, "refusal": refused.value.response.body or b""}
    written |= {page[:20].decode(): page for page in pages}
    written |= {str(path): gzip.decompress(path.read_bytes()) for path in (tmp_path / "trace").iterdir()}
    assert b"claim_landed" in written["log"]
    assert len(written) >= 7
    assert len(tokens) >= 4
    for secret in (KEY, WRONG, SPOKEN, *tokens):
        assert [name for name, data in written.items() if secret.encode() in data] == []


async def got(port: int, path: str) -> bytes:
    """GET a page, with the key."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n\r\n"
        await stream.send_all(head.encode())
        answer = b"".join([chunk async for chunk in stream])
    assert answer.startswith(b"HTTP/1.1 200 ")
    return answer.partition(b"\r\n\r\n")[2]
