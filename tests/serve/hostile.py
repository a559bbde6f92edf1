"""Messages that no client should send: made from the schema, by Hypothesis, and from a recording, by mutation."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from random import Random
from typing import Any, Final, get_args

import msgspec
from hypothesis import strategies as st

from interlock.wire.config import KNOWN
from interlock.wire.messages import ALIASES, MAX_POSITION, ClientMessage

NUMBERS = st.one_of(
    st.integers(0, 20),
    st.sampled_from([-1, MAX_POSITION, MAX_POSITION + 1, 2**64, -(2**70), 10**400]),
    st.floats(),
    st.booleans(),
)
NAMES = st.one_of(st.sampled_from(["resp_1", "", "item", "x" * 513, "\x00", "sess_a", "ended"]), st.text(max_size=12))
AUDIO = st.one_of(
    st.binary(max_size=64).map(lambda data: base64.b64encode(data * 2).decode()),
    st.sampled_from(["AQ==", "***", "A", "=", "AQABAAEAAQABAAEA"]),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, NAMES),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
FORMATS = st.sampled_from(["pcm16", "pcm16_24k", "g711_ulaw", {"type": "audio/pcm", "rate": 24000}, {"rate": -1}, None])
VAD = st.sampled_from([{"type": "server_vad"}, {"type": "none"}, None, {}, "server_vad", {"create_response": 7}])
CONFIG = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(KNOWN, JSON),
        "input_audio_format": FORMATS,
        "turn_detection": VAD,
        "idle_timeout_s": NUMBERS,
        "audio": st.fixed_dictionaries({}, optional={"input": st.fixed_dictionaries({"format": FORMATS})}),
        "type": NAMES,
    },
)
BY_NAME: Final[dict[str, st.SearchStrategy[Any]]] = {"audio": AUDIO, "session": CONFIG, "response": JSON}
GIBBERISH = st.one_of(st.binary(max_size=40), JSON.map(lambda value: json.dumps(value).encode()))


def field_of(field: msgspec.structs.FieldInfo) -> st.SearchStrategy[Any]:
    """Return mostly what a field takes, and sometimes anything."""
    text = str(field.type)
    fit = BY_NAME.get(field.encode_name, NUMBERS if "int" in text else st.booleans() if "bool" in text else NAMES)
    return st.one_of(fit, fit, fit, JSON)


def message_of(kind: Any) -> st.SearchStrategy[bytes]:
    """Return messages of one type: required fields are mostly there, unknown ones sometimes."""
    tag = str(kind.__struct_config__.tag)
    names = [tag, *(alias for alias, meant in ALIASES.items() if meant == tag)]
    fields = {field.encode_name: field_of(field) for field in msgspec.structs.fields(kind)}
    needed = {field.encode_name for field in msgspec.structs.fields(kind) if field.required}
    required = {"type": st.sampled_from(names)} | {name: fields[name] for name in needed}
    whole = st.fixed_dictionaries(required, optional={n: s for n, s in fields.items() if n not in needed})
    return whole.map(lambda event: json.dumps(event).encode(errors="surrogatepass"))


MESSAGES = st.one_of(*[message_of(kind) for kind in get_args(ClientMessage)], GIBBERISH)
"""One message, of any kind that the schema has, or of none."""


RECORDING: Final[tuple[bytes, ...]] = tuple(
    json.dumps(event).encode()
    for event in [
        {"type": "session.update", "session": {"input_audio_format": "pcm16", "instructions": "be brief"}},
        {"type": "input_audio_buffer.append", "audio": "AQABAAEAAQABAAEA"},
        {"type": "input_audio_buffer.commit"},
        {"type": "session.event_ack", "server_event_seq": 3},
        {"type": "playback.ack", "played_ms": 40, "response_id": "resp_1"},
        {"type": "input_audio_buffer.append", "audio": "AQABAAEAAQABAAEA", "event_id": "mine_6"},
        {"type": "barge_in"},
        {"type": "input_audio_buffer.commit", "create_response": True},
        {"type": "response.cancel"},
        {"type": "response.create", "response": {"instructions": "again"}},
        {"type": "output_audio_buffer.clear"},
        {"type": "input_audio_buffer.clear"},
        {"type": "session.heartbeat"},
        {"type": "session.resume", "session_id": "sess_a", "resume_token": "t", "last_received_server_event_seq": 2},
        {"type": "session.close", "reason": "enough"},
    ]
)
"""What one client said in a whole conversation."""


def flip(data: bytes, random: Random) -> bytes:
    """Change one byte."""
    place = random.randrange(len(data))
    return data[:place] + bytes([random.randrange(256)]) + data[place + 1 :]


def cut(data: bytes, random: Random) -> bytes:
    """Lose the end."""
    return data[: random.randrange(len(data))]


def splice(data: bytes, random: Random) -> bytes:
    """Go on as another message."""
    other = random.choice(RECORDING)
    return data[: random.randrange(len(data))] + other[random.randrange(len(other)) :]


def swell(data: bytes, random: Random) -> bytes:
    """Repeat a part many times."""
    start = random.randrange(len(data))
    return data[:start] + data[start : start + 8] * random.randrange(1, 400) + data[start:]


def drop_field(data: bytes, random: Random) -> bytes:
    """Lose a field, or get another message's."""
    event, other = json.loads(data), json.loads(random.choice(RECORDING))
    event.pop(random.choice(list(event)))
    name = random.choice(list(other))
    return json.dumps(event | {name: other[name]}).encode()


def keep(data: bytes, _: Random) -> bytes:
    """Stay as it was: what follows should meet a session that lives."""
    return data


MUTATIONS: Final[tuple[Callable[[bytes, Random], bytes], ...]] = (flip, cut, splice, swell, drop_field, keep, keep)


def mutated(seed: int, count: int) -> list[bytes]:
    """Return so many messages: the recording over and over, out of order here and there, each mutated or not."""
    random = Random(seed)
    found: list[bytes] = []
    while len(found) < count:
        conversation = list(RECORDING)
        for _ in range(3):
            conversation.insert(random.randrange(len(conversation)), random.choice(RECORDING))
        found += [random.choice(MUTATIONS)(data, random) for data in conversation]
    return found[:count]
