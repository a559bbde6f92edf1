"""API keys: who brought which, and that none is ever shown."""

from __future__ import annotations

import pytest

from interlock.transport.keys import Keys, offered_key, read_keys
from interlock.transport.opening import Opening

ALICE, BOB = "alice-key-0123456789", "bob-key-9876543210"


@pytest.fixture
def keys() -> Keys:
    return read_keys(["# ours", "", f"alice:{ALICE}", f"  {BOB}  "])


def test_a_key_is_told_by_its_name_or_its_line(keys: Keys) -> None:
    assert [keys.name_of(key) for key in (ALICE, BOB, "", ALICE[:-1], f"alice:{ALICE}", "\udcff")] == [
        "alice",
        "key4",
        None,
        None,
        None,
        None,
    ]


def test_no_key_is_kept_or_shown(keys: Keys) -> None:
    assert ALICE not in repr(keys) + repr(vars(keys))


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["short"], "line 1: a key has at least 16 characters"),
        (["", "a:with space in the key"], "line 2: a key has"),
        ([f"a:{ALICE}", f"a:{BOB}"], "line 2: a key's name is not empty, and not that of another key"),
        ([f":{ALICE}"], "line 1: a key's name"),
    ],
)
def test_a_line_that_is_no_key_is_told_by_its_number_alone(lines: list[str], told: str) -> None:
    with pytest.raises(ValueError, match=told) as wrong:
        read_keys(lines)
    assert not any(line.partition(":")[2] in str(wrong.value) for line in lines if ":" in line)


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({}, ""),
        ({"authorization": f"Bearer {ALICE}"}, ALICE),
        ({"authorization": f"bearer  {ALICE} "}, ALICE),
        ({"authorization": f"Basic {ALICE}"}, ""),
        ({"sec-websocket-protocol": f"realtime, openai-insecure-api-key.{ALICE}, other"}, ALICE),
        ({"sec-websocket-protocol": "realtime"}, ""),
    ],
)
def test_a_key_comes_in_a_header_or_as_a_browser_sends_it(headers: dict[str, str], key: str) -> None:
    assert offered_key(Opening("/v1/realtime", {"api_key": "never from the query"}, headers)) == key
