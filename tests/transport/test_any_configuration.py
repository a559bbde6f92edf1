"""Whatever JSON a client puts into a session, a response or an item: it is taken, or refused in words, and no more."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import ClientError
from interlock.session.asked import check_kind, check_modalities, idle_time, wish_of
from interlock.session.settings import Settings
from interlock.wire.dialect import DUPLEX, Credentials, Ga
from interlock.wire.inbound import parse
from interlock.wire.messages import ItemCreate, SessionUpdate
from interlock.wire.session_object import detection, merged
from interlock.workers.echo import EchoPipeline

LEAVES = st.none() | st.booleans() | st.integers(-5, 70_000) | st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.sampled_from(["audio", "text", "server_vad", "semantic_vad", "pcm16", "audio/pcm", "low", "message", "user"])
NAMES = st.sampled_from(
    [
        *("type", "audio", "input", "output", "format", "rate", "turn_detection", "threshold", "silence_duration_ms"),
        *("prefix_padding_ms", "eagerness", "create_response", "interrupt_response", "modalities", "voice", "item"),
        *("output_modalities", "metadata", "conversation", "id", "role", "content", "input_audio_format", "call_id"),
        *("output_audio_format", "idle_timeout_s", "name", "arguments", "transcript", "instructions"),
    ]
)
VALUES = st.recursive(
    LEAVES | WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=5),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=8)
SETTINGS = Settings()
HELD = Credentials("sess_1", 1, "token")


def said(kind: str, **fields: Any) -> Any:
    return parse(json.dumps({"type": kind, **fields}).encode(), SETTINGS.frame_bytes)


@given(OBJECTS, OBJECTS)
def test_any_session_is_refused_in_words_or_taken_and_told_in_both_dialects(first: Any, second: Any) -> None:
    config: dict[str, Any] = {}
    for session in (first, second):
        try:
            message = said("session.update", session=session)
            assert isinstance(message, SessionUpdate)
            wanted = merged(config, Ga().wanted(message.session.mapping()))
            EchoPipeline().check(wanted)
            check_kind(wanted)
            check_modalities(wanted)
            idle_time(wanted, SETTINGS)
        except ClientError:
            continue
        config = wanted
        for dialect in (DUPLEX, Ga()):
            told = json.loads(dialect.updated(config, HELD, "1"))["session"]
            assert (told["id"], told["type"]) == ("sess_1", "realtime")
        assert EchoPipeline().params("ears", config, "")["rate"] in (16000, 24000)
        assert (detection(config) is None) == ("manual" in EchoPipeline().params("ears", config, ""))


@given(OBJECTS)
def test_any_wish_is_refused_in_words_or_can_be_applied(response: Any) -> None:
    try:
        wish = wish_of(response, SETTINGS)
    except ClientError:
        return
    assert json.dumps(wish.applied({"voice": "x"}))


@given(OBJECTS)
def test_any_item_is_refused_in_words_or_is_one(item: Any) -> None:
    try:
        message = said("conversation.item.create", item=item)
    except ClientError:
        return
    assert isinstance(message, ItemCreate)


@pytest.mark.parametrize(
    ("session", "code"),
    [
        ({"type": "transcription"}, "invalid_session_config"),
        ({"turn_detection": {"type": ["server_vad"]}}, "unsupported_turn_detection"),
        ({"output_audio_format": "g711_ulaw"}, "unsupported_audio_format"),
        ({"audio": {"output": {"format": {"type": "audio/pcmu"}}}}, "unsupported_audio_format"),
    ],
)
def test_what_is_not_served_is_refused(session: dict[str, Any], code: str) -> None:
    config = said("session.update", session=session).session.mapping()
    with pytest.raises(ClientError) as caught:
        refuse(config)
    assert caught.value.code == code


def refuse(config: dict[str, Any]) -> None:
    EchoPipeline().check(config)
    check_kind(config)
