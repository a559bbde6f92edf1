"""`interlock serve --tls-cert --tls-key`: the same port, under TLS."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio
from websockets.trio.client import connect

from tests.serve.server import server
from tests.transport.certificate import certificate

pytestmark = pytest.mark.real_clock


async def test_a_session_and_a_page_under_tls(tmp_path: Path) -> None:
    made = certificate(tmp_path)
    options = ("--scripted", "5", "--tls-cert", str(made.cert), "--tls-key", str(made.key))
    async with server(tmp_path / "trace", *options) as running:
        assert running.told["url"] == f"wss://127.0.0.1:{running.port}/v1/realtime"
        async with connect(f"wss://127.0.0.1:{running.port}/v1/duplex", ssl=made.trusting) as client:
            await client.send('{"type": "session.update", "session": {}}')
            assert json.loads(await client.recv())["type"] == "session.created"
            stream = await trio.open_tcp_stream("127.0.0.1", running.port)
            tls = trio.SSLStream(stream, made.trusting, server_hostname="127.0.0.1", https_compatible=True)
            await tls.send_all(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b'"status": "ok"' in b"".join([chunk async for chunk in tls])
            await tls.aclose()
            await client.send('{"type": "session.close"}')
            while json.loads(await client.recv())["type"] != "session.closed":
                pass
    assert running.process.returncode == 0
