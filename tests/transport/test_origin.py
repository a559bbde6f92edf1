"""Which pages may connect, and by which name a server may be called."""

from __future__ import annotations

import pytest

from interlock.transport.opening import Opening
from interlock.transport.origin import is_host_known, is_loopback, is_origin_allowed


def asked(**headers: str) -> Opening:
    return Opening("/v1/realtime", {}, headers)


@pytest.mark.parametrize(
    ("origin", "host", "allowed", "may"),
    [
        ("https://talk.example", "talk.example", (), True),
        ("http://127.0.0.1:8765", "127.0.0.1:8765", (), True),
        ("http://127.0.0.1:3000", "127.0.0.1:8765", (), False),
        ("https://evil.example", "talk.example", (), False),
        ("https://evil.example", "talk.example", ("https://evil.example",), True),
        ("https://evil.example", "talk.example", ("*",), True),
        ("null", "talk.example", (), False),
        ("null", "", (), False),
        ("http://[", "[", (), False),
    ],
)
def test_a_page_may_connect_to_its_own_server_and_to_one_that_allows_it(
    origin: str, host: str, allowed: tuple[str, ...], may: bool
) -> None:
    assert is_origin_allowed(asked(origin=origin, host=host), allowed) is may


def test_who_sends_no_origin_is_no_page() -> None:
    assert is_origin_allowed(asked(host="x"), ())


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost:8765", True),
        ("127.0.0.1", True),
        ("[::1]:8765", True),
        ("voice.example:8765", True),
        ("rebound.evil.example:8765", False),
        ("", False),
        ("[", False),
    ],
)
def test_a_name_that_is_not_ours_is_known_for_none(host: str, known: bool) -> None:
    assert is_host_known(asked(host=host), ("voice.example",)) is known


@pytest.mark.parametrize(
    ("host", "local"), [("127.9.9.9", True), ("::1", True), ("0.0.0.0", False), ("example", False), ("", False)]
)
def test_loopback_is_told_from_what_others_reach(host: str, local: bool) -> None:
    assert is_loopback(host) is local
