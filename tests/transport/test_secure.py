"""TLS on the listening socket: the same conversation, pages, and a certificate that is wrong says so."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from websockets.exceptions import ConnectionClosed
from websockets.trio.client import connect

from interlock.errors import WorldError
from interlock.transport.limits import SocketLimits
from interlock.transport.secure import server_context
from tests.transport.certificate import Certificate, certificate
from tests.transport.served import echo, raw, rest, served

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(20)]

LIMITS = SocketLimits(handshake_s=0.5, close_s=0.5)


@pytest.fixture
def made(tmp_path: Path) -> Certificate:
    return certificate(tmp_path)


async def test_a_conversation_under_tls_goes_both_ways_at_once_and_ends_well(made: Certificate) -> None:
    tls = server_context(made.cert, made.key)
    async with served(echo, tls=tls) as port, connect(f"wss://localhost:{port}/v1/realtime", ssl=made.trusting) as c:
        messages = [f"{number} ".ljust(20_000, "x") for number in range(20)]
        async with trio.open_nursery() as nursery:

            async def say() -> None:
                for message in messages:
                    await c.send(message)

            nursery.start_soon(say)
            assert [await c.recv() for _ in messages] == messages
        await c.aclose(1000, "enough")
        assert (c.close_code, c.close_reason) == (1000, "enough")


async def test_what_does_not_speak_tls_is_hung_up_on_in_time_and_costs_nobody_else(made: Certificate) -> None:
    tls = server_context(made.cert, made.key)
    async with served(echo, tls=tls, limits=LIMITS) as port:
        with trio.fail_after(5):
            for data in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00", b"", b"\xff" * 5000):
                await rest(await raw(port, data))
        async with connect(f"wss://localhost:{port}/v1/realtime", ssl=made.trusting) as client:
            await client.send("alive")
            assert await client.recv() == "alive"


async def test_the_end_of_a_conversation_under_tls_reaches_the_client(made: Certificate) -> None:
    async def leave(transport: object) -> None:
        """Return at once; the endpoint closes."""

    tls = server_context(made.cert, made.key)
    async with (
        served(leave, tls=tls, limits=LIMITS) as port,
        connect(f"wss://localhost:{port}/v1/realtime", ssl=made.trusting) as client,
    ):
        with pytest.raises(ConnectionClosed):
            await client.recv()
        assert client.close_code == 1000


def test_a_certificate_and_its_key_may_be_one_file(made: Certificate, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(made.key.read_bytes() + made.cert.read_bytes())
    assert server_context(both, None).get_ca_certs() == []


def test_a_certificate_that_cannot_be_used_is_named(made: Certificate, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(WorldError, match=r"nowhere\.pem: there is no such file"):
        server_context(tmp_path / "nowhere.pem", None)
    with pytest.raises(WorldError, match=r"cert\.pem: cannot be used for TLS"):
        server_context(made.cert, None)
    with pytest.raises(WorldError, match=r"cert\.pem with the key .*other/key\.pem: cannot be used for TLS"):
        server_context(made.cert, certificate(other).key)
