"""What each client message asks of its session."""

from __future__ import annotations

from typing import assert_never

from interlock.errors import ClientError
from interlock.runtime.talk import Session
from interlock.wire import messages as wire
from interlock.wire import outbound


def command(session: Session, message: wire.ClientMessage) -> None:
    """Do what one message says. Raises :class:`ClientError`; then nothing has changed."""
    match message:
        case wire.AudioAppend():
            session.append(message.audio)
        case wire.EventAck():
            session.ack(message.server_event_seq, message.attachment_generation or 0)
        case wire.PlaybackAck():
            session.playback_ack(_response_of(message), message.played_ms)
        case wire.BargeIn():
            session.barge_in()
        case wire.ResponseCancel():
            session.cancel_response(message.response_id or "")
        case wire.OutputClear(response_id=response_id):
            session.cancel_response(response_id or "")
            session.notify(lambda n: outbound.output_cleared(response_id or "", n))
        case wire.AudioCommit():
            session.commit()
        case wire.AudioClear():
            session.clear_input()
            session.notify(outbound.input_cleared)
        case wire.ResponseCreate():
            session.create_response()
        case wire.Heartbeat():
            session.heartbeat()
        case wire.SessionUpdate():
            config = session.update(message.session.mapping())
            session.notify(lambda n: outbound.session_updated(config, n))
        case wire.SessionClose():
            session.close()
        case wire.SessionResume():
            raise ClientError("unsupported_session_resume", "session.resume is the first message of a connection")
        case _:
            assert_never(message)


def _response_of(message: wire.PlaybackAck) -> str:
    return message.response_id or (message.item_id or "").removeprefix("item_")
