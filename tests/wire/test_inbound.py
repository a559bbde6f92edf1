"""What `parse` makes of what a client sends: a message, or an error with the code and the field. Nothing else."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interlock.errors import ClientError
from interlock.wire import messages as m
from interlock.wire.config import SessionConfig
from interlock.wire.inbound import BadMessage, parse, unfold
from interlock.wire.items import CallItem, MessageItem, OutputItem, Part

LIMIT = 1 << 20


def sent(**event: Any) -> m.ClientMessage:
    return parse(json.dumps(event).encode(), LIMIT)


def refused(data: bytes | str, limit: int = LIMIT) -> BadMessage:
    with pytest.raises(BadMessage) as caught:
        parse(data, limit)
    return caught.value


def created(item: str) -> bytes:
    return b'{"type": "conversation.item.create", "item": %b}' % item.encode()


WRITTEN = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
HELLO = Part(type="input_text", text="hello")

GOOD: list[tuple[dict[str, Any], m.ClientMessage]] = [
    ({"type": "session.heartbeat", "event_id": "e1"}, m.Heartbeat(event_id="e1")),
    ({"type": "session.event_ack", "server_event_seq": 7}, m.EventAck(server_event_seq=7)),
    (
        {"type": "session.event_ack", "server_event_seq": 0, "attachment_generation": 2},
        m.EventAck(server_event_seq=0, attachment_generation=2),
    ),
    ({"type": "session.close", "reason": "bye"}, m.SessionClose(reason="bye")),
    ({"type": "close"}, m.SessionClose()),
    ({"type": "close_session", "event_id": "e"}, m.SessionClose(event_id="e")),
    (
        {"type": "session.resume", "session_id": "s", "resume_token": "t"},
        m.SessionResume(session_id="s", resume_token="t"),
    ),
    (
        {"type": "session.resume", "session_id": "s", "resume_token": "t", "last_received_server_event_seq": 2**53},
        m.SessionResume(session_id="s", resume_token="t", last_received_server_event_seq=2**53),
    ),
    ({"type": "input_audio_buffer.append", "audio": "AAAA" * 2}, m.AudioAppend(audio=bytes(6))),
    ({"type": "input_audio_buffer.append", "audio": "", "format": "pcm16"}, m.AudioAppend(audio=b"")),
    ({"type": "input_audio_buffer.commit", "final": True}, m.AudioCommit()),
    ({"type": "input.commit"}, m.AudioCommit()),
    ({"type": "input_audio_buffer.clear"}, m.AudioClear()),
    ({"type": "response.create"}, m.ResponseCreate()),
    ({"type": "response.create", "response": {"voice": "x"}}, m.ResponseCreate(response={"voice": "x"})),
    ({"type": "response.cancel"}, m.ResponseCancel()),
    ({"type": "response.cancel", "response_id": "r"}, m.ResponseCancel(response_id="r")),
    ({"type": "output_audio_buffer.clear", "response_id": None}, m.OutputClear()),
    ({"type": "barge_in"}, m.BargeIn()),
    ({"type": "playback.ack", "played_ms": 40, "response_id": "r"}, m.PlaybackAck(played_ms=40, response_id="r")),
    ({"type": "audio.playback_ack", "played_ms": 40, "item_id": "i"}, m.PlaybackAck(played_ms=40, item_id="i")),
    (
        {"type": "conversation.item.create", "previous_item_id": "root", "item": WRITTEN | {"id": "i"}},
        m.ItemCreate(previous_item_id="root", item=MessageItem(id="i", role="user", content=[HELLO])),
    ),
    (
        {"type": "conversation.item.create", "item": {"type": "function_call_output", "call_id": "c", "output": "2"}},
        m.ItemCreate(item=OutputItem(call_id="c", output="2")),
    ),
    (
        {
            "type": "conversation.item.create",
            "item": {"type": "function_call", "call_id": "c", "name": "add", "arguments": "{}", "status": "completed"},
        },
        m.ItemCreate(item=CallItem(call_id="c", name="add", arguments="{}")),
    ),
    ({"type": "input.cancel"}, m.InputCancel()),
    ({"type": "input.text.append", "text": "hi"}, m.TextAppend(text="hi")),
    ({"type": "input_text.append", "text": "hi"}, m.TextAppend(text="hi")),
    ({"type": "push_text", "text": "hi"}, m.TextAppend(text="hi")),
    ({"type": "turn.signal", "event": "barge_in", "payload": {}}, m.TurnSignal(event="barge_in")),
    ({"type": "signal_turn", "event": "barge_in"}, m.TurnSignal(event="barge_in")),
    ({"type": "playback.ack", "played_ms": 4, "truncate": True}, m.PlaybackAck(played_ms=4, truncate=True)),
    ({"type": "conversation.item.retrieve", "item_id": "i"}, m.ItemRetrieve(item_id="i")),
    ({"type": "conversation.item.delete", "item_id": "i"}, m.ItemDelete(item_id="i")),
    (
        {"type": "conversation.item.truncate", "item_id": "i", "content_index": 0, "audio_end_ms": 40},
        m.ItemTruncate(item_id="i", audio_end_ms=40),
    ),
]


@pytest.mark.parametrize(("event", "message"), GOOD)
def test_each_message_and_alias_becomes_its_one_struct(event: dict[str, Any], message: m.ClientMessage) -> None:
    assert sent(**event) == message
    assert parse(json.dumps(event), LIMIT) == message


def test_every_struct_is_covered_above() -> None:
    assert {type(message) for _, message in GOOD} | {m.SessionUpdate} == set(get_args(m.ClientMessage))


@pytest.mark.parametrize(
    ("signal", "message"),
    [
        ({"event": "barge_in", "event_id": "e"}, m.BargeIn(event_id="e")),
        ({"event": "input.commit", "payload": {"create_response": False}}, m.AudioCommit(create_response=False)),
        (
            {"event": "session.update", "payload": {"session": {"voice": "x"}}},
            m.SessionUpdate(session=SessionConfig(voice="x")),
        ),
    ],
)
def test_a_signal_stands_for_another_message(signal: dict[str, Any], message: m.ClientMessage) -> None:
    told = sent(type="turn.signal", **signal)
    assert isinstance(told, m.TurnSignal)
    assert unfold(told) == message


@pytest.mark.parametrize(
    ("signal", "code"),
    [
        ({"event": "signal_turn"}, "bad_event"),
        ({"event": "sing"}, "unknown_event"),
        ({"event": "response.cancel", "payload": {"response_id": 7}}, "bad_event"),
    ],
)
def test_a_signal_for_what_is_none_is_refused(signal: dict[str, Any], code: str) -> None:
    told = sent(type="turn.signal", **signal)
    assert isinstance(told, m.TurnSignal)
    with pytest.raises(BadMessage) as caught:
        unfold(told)
    assert caught.value.code == code


BAD = [
    (b"", "invalid_json", None, None),
    (b"{", "invalid_json", None, None),
    (b'{"type": "barge_in"} {}', "invalid_json", None, None),
    (b'{"type": NaN}', "invalid_json", None, None),
    (b'{"type": "\xff"}', "invalid_json", None, None),
    ('{"type": "\ud800"}', "invalid_json", None, None),
    (b"[]", "bad_event", None, None),
    (b"null", "bad_event", None, None),
    (b"{}", "bad_event", "type", None),
    (b'{"event_id": "e"}', "bad_event", "type", "e"),
    (b'{"type": 3, "event_id": "e"}', "bad_event", "type", "e"),
    (b'{"type": "nothing", "event_id": "e"}', "unknown_event", "type", "e"),
    (b'{"type": "session.resume", "session_id": "s"}', "bad_event", "resume_token", None),
    (b'{"type": "session.resume", "session_id": 4, "resume_token": "t"}', "bad_event", "session_id", None),
    (b'{"type": "session.event_ack", "event_id": "e"}', "bad_event", "server_event_seq", "e"),
    (b'{"type": "session.event_ack", "server_event_seq": -1}', "bad_event", "server_event_seq", None),
    (b'{"type": "session.event_ack", "server_event_seq": 9007199254740993}', "bad_event", "server_event_seq", None),
    (b'{"type": "session.event_ack", "server_event_seq": true}', "bad_event", "server_event_seq", None),
    (b'{"type": "session.event_ack", "server_event_seq": 1.5}', "bad_event", "server_event_seq", None),
    (b'{"type": "session.event_ack", "server_event_seq": 1' + b"0" * 400 + b"}", "bad_event", None, None),
    (b'{"type": "playback.ack", "played_ms": "1"}', "bad_event", "played_ms", None),
    (b'{"type": "conversation.item.create", "item": {"type": "song"}}', "bad_event", "item.type", None),
    (created('{"type": "message"}'), "bad_event", "item.role", None),
    (
        created('{"type": "message", "role": "user", "content": []}'),
        "bad_event",
        "item.content",
        None,
    ),
    (
        created('{"type": "message", "role": "user", "content": [{"type": "input_image"}]}'),
        "bad_event",
        "item",
        None,
    ),
    (
        created('{"type": "message", "role": "user", "content": [{"type": "input_text"}]}'),
        "bad_event",
        "item",
        None,
    ),
    (
        created('{"type": "message", "id": "", "role": "user", "content": [{"type": "input_text", "text": ""}]}'),
        "bad_event",
        "item.id",
        None,
    ),
    (b'{"type": "conversation.item.truncate", "item_id": "i", "audio_end_ms": -1}', "bad_event", "audio_end_ms", None),
    (b'{"type": "audio.playback_ack", "played_ms": "1"}', "bad_event", "played_ms", None),
    (b'{"type": "barge_in", "event_id": 3}', "bad_event", "event_id", None),
    (b'{"type": "barge_in", "event_id": "' + b"e" * 600 + b'"}', "bad_event", "event_id", None),
    (b'{"type": "input_audio_buffer.append", "audio": "A", "event_id": "e"}', "bad_audio", "audio", "e"),
    (b'{"type": "input_audio_buffer.append", "audio": "AA=="}', "bad_audio", "audio", None),
    (b'{"type": "input_audio_buffer.append", "audio": 3}', "bad_event", "audio", None),
    (b'{"type": "input_audio_buffer.append"}', "bad_event", "audio", None),
    (b'{"type": "session.update"}', "bad_event", "session", None),
    (b'{"type": "session.update", "session": []}', "bad_event", "session", None),
    (b'{"type": "session.update", "session": {"voice": 3}}', "bad_event", "session.voice", None),
    (b'{"type": "session.update", "session": {"idle_timeout_s": 0}}', "bad_event", "session.idle_timeout_s", None),
    (b'{"type": "session.update", "session": {"modalities": [1]}}', "bad_event", "session.modalities[0]", None),
    (b'{"type": "response.create", "response": 3}', "bad_event", "response", None),
]


@pytest.mark.parametrize(("data", "code", "param", "event_id"), BAD)
def test_each_fault_has_its_code_and_names_the_field(
    data: bytes | str, code: str, param: str | None, event_id: str | None
) -> None:
    error = refused(data)
    assert (error.code, error.event_id) == (code, event_id)
    if param is not None or code == "invalid_json":
        assert error.param == param


def test_the_limit_counts_bytes() -> None:
    event = '{"type": "close", "reason": "ä"}'
    size = len(event.encode())
    assert parse(event, size) == m.SessionClose(reason="ä")
    for data in (event, event.encode()):
        assert refused(data, size - 1).code == "event_too_large"


def test_unknown_session_keys_are_kept_and_ga_names_come_home() -> None:
    session = {
        "type": "realtime",
        "output_modalities": ["audio"],
        "voice": "flat",
        "turn_detection": None,
        "audio": {"input": {"format": {"rate": 24000}, "turn_detection": {"type": "server_vad"}}, "output": 7},
        "extra": {"mine": 1},
        "idle_timeout_s": 3,
    }
    message = sent(type="session.update", session=session)
    assert isinstance(message, m.SessionUpdate)
    assert message.session.voice == "flat"
    assert message.session.turn_detection is None
    assert message.session.extra == {name: session[name] for name in ("type", "output_modalities", "audio", "extra")}
    assert message.session.mapping() == session | {"modalities": ["audio"], "input_audio_format": {"rate": 24000}}


@pytest.mark.parametrize("brackets", ["[" * 100_000, "[" * 300 + "]" * 300, '{"a":' * 65 + "1" + "}" * 65])
@pytest.mark.parametrize(
    "start", ["", '{"type":"session.update","session":{"x":', '{"type":"response.create","response":{"x":']
)
def test_deep_nesting_is_an_error_like_any_other(start: str, brackets: str) -> None:
    end = "}}" if start and not brackets.endswith("[") else ""
    assert refused(start + brackets + end).code == "bad_event"


def test_what_is_skipped_may_be_deep_and_does_no_harm() -> None:
    with pytest.raises(ClientError):
        parse('{"type":"barge_in","x":' + "[" * 100_000, LIMIT)


WORDS = st.sampled_from([*sorted(m.TYPES), *m.ALIASES, "x", "\x00"])
KEYS = st.sampled_from(
    [*sorted({key for event, _ in GOOD for key in event}), "session", "voice", "idle_timeout_s", "extra"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | WORDS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))
EVENTS = st.builds(lambda kind, rest: {**rest, "type": kind}, WORDS, st.dictionaries(KEYS, VALUES, max_size=6))


def outcome(data: bytes | str) -> ClientError | m.ClientMessage:
    try:
        return parse(data, LIMIT)
    except ClientError as error:
        return error


@given(st.binary() | st.text(st.characters(exclude_categories=())) | VALUES.map(json.dumps) | EVENTS.map(json.dumps))
@example('"\\ud800"')
@example('{"type":"session.update","session":{"idle_timeout_s":1e999}}')
def test_parse_gives_a_message_or_a_client_error(data: bytes | str) -> None:
    result = outcome(data)
    assert isinstance(result, (BadMessage, *get_args(m.ClientMessage)))
    if isinstance(result, BadMessage):
        assert result.code in {"invalid_json", "bad_event", "unknown_event", "bad_audio", "event_too_large"}


@given(st.binary(max_size=64).map(lambda half: half + half))
def test_audio_comes_out_as_it_went_in(pcm: bytes) -> None:
    assert sent(type="input_audio_buffer.append", audio=base64.b64encode(pcm).decode()) == m.AudioAppend(audio=pcm)


def test_the_codec_brings_no_event_loop_along() -> None:
    modules = "interlock.wire.inbound, interlock.wire.lifecycle, interlock.wire.codes"
    check = f"import sys, {modules}; sys.exit(bool({{'trio', 'websockets', 'asyncio'}} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
