"""Tokens: nobody is locked out, and nobody who was superseded comes back once his successor has proved."""

from __future__ import annotations

import hmac

import pytest
from hypothesis import given, settings, strategies

from interlock.session.credential import Credential, digest_of, opens, prove, rotate

MOVES = strategies.lists(
    strategies.tuples(strategies.sampled_from(["claim", "prove"]), strategies.integers(0, 9), strategies.booleans()),
    max_size=40,
)


class Client:
    """What the server has, and what the client knows: tokens that it presented, and those that reached it."""

    def __init__(self) -> None:
        self.server = rotate(Credential(), b"", b"0", 0)
        self.known = [b"0"]
        self.issued = 1
        self.has_read_current = True

    def claim(self, token: bytes, *, arrives: bool) -> None:
        """Claim; if it is accepted, the fresh token may or may not arrive."""
        if not opens(self.server, token):
            return
        fresh = str(self.issued).encode()
        self.server, self.issued = rotate(self.server, token, fresh, 0), self.issued + 1
        self.has_read_current = arrives
        self.known += [fresh] if arrives else []

    def prove(self) -> None:
        """Prove; nobody can who has not read the current token."""
        if self.has_read_current:
            self.server = prove(self.server)

    def openers(self) -> list[bytes]:
        """Return every token ever issued that opens the session."""
        return [token for number in range(self.issued) if opens(self.server, token := str(number).encode())]


@given(MOVES)
@settings(max_examples=500, deadline=None)
def test_promise_3_some_token_that_the_client_knows_opens_the_session(moves: list[tuple[str, int, bool]]) -> None:
    client = Client()
    for move, pick, arrives in moves:
        if move == "claim":
            client.claim(client.known[-1 - pick % len(client.known)], arrives=arrives)
        else:
            client.prove()
        assert any(token in client.known for token in client.openers())
        assert 1 <= len(client.openers()) <= 2


@given(MOVES)
@settings(max_examples=500, deadline=None)
def test_promise_3_a_proof_leaves_the_current_token_and_no_other(moves: list[tuple[str, int, bool]]) -> None:
    client = Client()
    for move, pick, arrives in moves:
        if move == "claim":
            client.claim(client.known[-1 - pick % len(client.known)], arrives=arrives)
        elif client.has_read_current:
            client.prove()
            assert client.openers() == [client.known[-1]] == [client.server.current]


def test_at_14_the_presented_token_works_as_often_as_its_answers_are_lost() -> None:
    client = Client()
    for lost in range(1, 6):
        client.claim(b"0", arrives=False)
        assert client.openers() == [b"0", str(lost).encode()]
    client.claim(b"0", arrives=True)
    assert client.openers() == [b"0", b"6"]
    client.prove()
    assert client.openers() == [b"6"]


def test_the_new_token_is_a_proof_of_the_one_before() -> None:
    client = Client()
    client.claim(b"0", arrives=True)
    client.claim(b"1", arrives=False)
    assert client.openers() == [b"1", b"2"]


def test_a_claim_remembers_the_head_above_which_an_ack_is_proof() -> None:
    assert rotate(Credential(b"0"), b"0", b"1", 17) == Credential(b"1", b"0", 17)
    assert rotate(Credential(b"1", b"0", 17), b"0", b"2", 23) == Credential(b"2", b"0", 23)


@pytest.mark.parametrize("token", [b"", b"x", digest_of(""), digest_of("1"), b"\0" * 32])
def test_nothing_else_opens_a_session_not_even_one_without_a_token(token: bytes) -> None:
    assert not opens(Credential(digest_of("0"), digest_of("2")), token)
    assert not opens(Credential(), b"")


def test_every_token_is_compared_with_both_and_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(held: bytes, token: bytes) -> bool:
        compared.append((held, token))
        return held == token

    monkeypatch.setattr(hmac, "compare_digest", compare)
    held = Credential(digest_of("1"), digest_of("0"))
    for token in (held.current, held.presented or b"", digest_of("wrong")):
        compared.clear()
        opens(held, token)
        assert compared == [(held.current, token), (held.presented, token)]


def test_a_digest_is_made_of_any_text_and_shows_nothing_of_it() -> None:
    assert digest_of("a") == bytes.fromhex("ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb")
    assert len({digest_of(text) for text in ("", "a", "\ud800", "\udfff", "ä" * 10_000)}) == 5
