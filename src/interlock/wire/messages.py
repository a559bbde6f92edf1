"""Every message that a client may send, as a frozen value. One struct has one name; aliases map to it.

A position is a number that counts something on the other side: a sequence number, a generation, milliseconds. It is
at least 0, and small enough for every JSON parser (2**53).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias, get_args

import msgspec

from interlock.wire.config import SessionConfig, check_depth
from interlock.wire.items import GivenItem, Text

MAX_POSITION: Final = 2**53
Position: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MAX_POSITION)]
MAX_NAME: Final = 512
Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
"""An id, a token or a reason. What is longer was not made by us."""


class Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """What all have in common: the client's own id of the event, which an error about it repeats."""

    event_id: Name | None = None


ODD_AUDIO: Final = "audio is PCM16: an even number of bytes"


class SessionUpdate(Message, frozen=True, kw_only=True, tag="session.update"):
    """Open a session with this configuration, or change it. ``session`` is checked by :mod:`interlock.wire.config`."""

    session: SessionConfig


class Heartbeat(Message, frozen=True, kw_only=True, tag="session.heartbeat"):
    """I am here; answer me."""


class EventAck(Message, frozen=True, kw_only=True, tag="session.event_ack"):
    """I have received everything up to this sequence number; the generation, if given, proves ``session.resumed``."""

    server_event_seq: Position
    attachment_generation: Position | None = None


class SessionClose(Message, frozen=True, kw_only=True, tag="session.close"):
    """End the session."""

    reason: Name | None = None


class SessionResume(Message, frozen=True, kw_only=True, tag="session.resume"):
    """Attach this transport to a session that exists. Position 0 is "I have nothing"."""

    session_id: Name
    resume_token: Name
    last_received_server_event_seq: Position = 0


class AudioAppend(Message, frozen=True, kw_only=True, tag="input_audio_buffer.append"):
    """Input audio: whole PCM16 samples, already decoded from base64."""

    audio: bytes

    def __post_init__(self) -> None:
        """Refuse half a sample."""
        if len(self.audio) % 2:
            raise ValueError(ODD_AUDIO)


class AudioCommit(Message, frozen=True, kw_only=True, tag="input_audio_buffer.commit"):
    """The turn ends here. ``create_response``, if given, says whether it is answered without being asked."""

    create_response: bool | None = None


class AudioClear(Message, frozen=True, kw_only=True, tag="input_audio_buffer.clear"):
    """Forget the input audio that was not committed."""


class ResponseCreate(Message, frozen=True, kw_only=True, tag="response.create"):
    """Answer now. ``response`` has what this one answer should have otherwise than the session."""

    response: dict[str, Any] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what could not be encoded again."""
        check_depth(self.response)


class ResponseCancel(Message, frozen=True, kw_only=True, tag="response.cancel"):
    """Stop the response, or this one if it still goes on."""

    response_id: Name | None = None


class OutputClear(Message, frozen=True, kw_only=True, tag="output_audio_buffer.clear"):
    """Stop the response, and drop what of it was not yet played."""

    response_id: Name | None = None


class BargeIn(Message, frozen=True, kw_only=True, tag="barge_in"):
    """The user speaks: everything that is being said is stale."""


class InputCancel(Message, frozen=True, kw_only=True, tag="input.cancel"):
    """Forget the input audio that was not heard, and stop whatever is being said."""


class TextAppend(Message, frozen=True, kw_only=True, tag="input.text.append"):
    """The user has written a turn, which is answered like a spoken one."""

    text: Text


class TurnSignal(Message, frozen=True, kw_only=True, tag="turn.signal"):
    """Another message by its name, and its fields: ``{"event": "barge_in", "payload": {}}``."""

    event: Name
    payload: dict[str, Any] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what could not be encoded again."""
        check_depth(self.payload)


class PlaybackAck(Message, frozen=True, kw_only=True, tag="playback.ack"):
    """The user has heard so much of a response, in milliseconds of its audio."""

    played_ms: Position
    response_id: Name | None = None
    item_id: Name | None = None
    truncate: bool = False
    """The user hears no more of it: what was said is cut to that."""


class ItemCreate(Message, frozen=True, kw_only=True, tag="conversation.item.create"):
    """Add an item to the conversation: at the end, or after another one, or first (``root``)."""

    item: GivenItem
    previous_item_id: Name | None = None


class ItemRetrieve(Message, frozen=True, kw_only=True, tag="conversation.item.retrieve"):
    """Send me this item once more."""

    item_id: Name


class ItemDelete(Message, frozen=True, kw_only=True, tag="conversation.item.delete"):
    """Let go of this item."""

    item_id: Name


class ItemTruncate(Message, frozen=True, kw_only=True, tag="conversation.item.truncate"):
    """The user has heard so much of this item, and hears no more of it."""

    item_id: Name
    audio_end_ms: Position
    content_index: Position = 0


Plain: TypeAlias = (
    Heartbeat
    | EventAck
    | SessionClose
    | SessionResume
    | AudioAppend
    | AudioCommit
    | AudioClear
    | ResponseCreate
    | ResponseCancel
    | OutputClear
    | BargeIn
    | InputCancel
    | TextAppend
    | TurnSignal
    | PlaybackAck
    | ItemCreate
    | ItemRetrieve
    | ItemDelete
    | ItemTruncate
)
"""Every message that decodes in one pass."""

ClientMessage: TypeAlias = SessionUpdate | Plain

ALIASES: Final = {
    "close": "session.close",
    "close_session": "session.close",
    "input.commit": "input_audio_buffer.commit",
    "audio.playback_ack": "playback.ack",
    "input_text.append": "input.text.append",
    "push_text": "input.text.append",
    "signal_turn": "turn.signal",
}
"""Other names that clients use, and what they mean."""

TYPES: Final = frozenset(str(message.__struct_config__.tag) for message in get_args(ClientMessage))
"""Every type by its own name."""
