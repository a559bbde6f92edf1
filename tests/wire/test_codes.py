"""Codes of errors: each that is known here is sent by somebody, and a client's author finds it in docs/wire.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.wire.codes import INVALID_REQUEST, RATE_LIMIT, CloseCode, class_of, is_retryable

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/wire.md").read_text("utf-8")
SOURCES = [path for path in ROOT.glob("src/interlock/**/*.py") if path.name != "codes.py"]
SAID = "\n".join(path.read_text("utf-8") for path in [*SOURCES, *ROOT.glob("machines/*.toml")])


@pytest.mark.parametrize("code", sorted(INVALID_REQUEST | RATE_LIMIT))
def test_a_known_code_is_sent_by_somebody_and_described(code: str) -> None:
    assert f'"{code}"' in SAID
    assert f"`{code}`" in PAGE


def test_no_code_is_of_two_classes() -> None:
    assert INVALID_REQUEST.isdisjoint(RATE_LIMIT)
    assert (class_of("bad_event"), class_of("internal_error")) == ("invalid_request_error", "server_error")
    assert (is_retryable("resource_exhausted"), is_retryable("bad_event")) == (True, False)


@pytest.mark.parametrize("code", sorted(CloseCode))
def test_a_close_code_is_described(code: CloseCode) -> None:
    assert f"| {int(code)} |" in PAGE
