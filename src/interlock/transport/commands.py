"""What each client message asks of its session. Synchronous: whoever reads a connection calls it, on whatever loop."""

from __future__ import annotations

from typing import assert_never

from interlock.errors import ClientError
from interlock.runtime.talk import Session
from interlock.wire import messages as wire
from interlock.wire import outbound
from interlock.wire.inbound import BadMessage, parse, unfold


def heed(session: Session, data: bytes) -> None:
    """Take one message as it came from the connection. What is wrong with it is told to this connection alone."""
    try:
        message = parse(data, session.settings.frame_bytes)
    except BadMessage as error:
        tell(session, error, error.event_id)
    else:
        run(session, message)


def run(session: Session, message: wire.ClientMessage) -> None:
    """Run one command; a refusal is told to this connection."""
    try:
        command(session, message)
    except ClientError as error:
        tell(session, error, message.event_id)


def tell(session: Session, error: ClientError, event_id: str | None) -> None:
    """Tell this connection what was wrong with one of its messages; ``event_id`` is the client's own of it."""
    code = session.dialect.code(error.code)
    session.notify(lambda n: outbound.error(code, str(error), event_id, error.param, error.retryable, n=n))


def command(session: Session, message: wire.ClientMessage) -> None:
    """Do what one message says. Raises :class:`ClientError`; then nothing has changed."""
    match message:
        case wire.AudioAppend():
            session.append(message.audio)
        case wire.EventAck():
            session.ack(message.server_event_seq, message.attachment_generation or 0)
        case wire.PlaybackAck():
            _take_position(session, message)
        case wire.BargeIn():
            session.barge_in()
        case wire.ResponseCancel():
            session.cancel_response(message.response_id or "")
        case wire.OutputClear():
            _clear_output(session, message.response_id or "")
        case wire.InputCancel():
            session.clear_input()
            session.barge_in()
            session.notify(outbound.input_cleared)
        case wire.TextAppend():
            session.write(message.text)
        case wire.TurnSignal():
            command(session, unfold(message))
        case wire.AudioCommit():
            session.commit(message.create_response)
        case wire.AudioClear():
            session.clear_input()
            session.notify(outbound.input_cleared)
        case wire.ResponseCreate():
            session.create_response(message.response)
        case wire.ItemCreate():
            session.create_item(message.item, message.previous_item_id)
        case wire.ItemRetrieve():
            item = session.item(message.item_id)
            session.notify(lambda n: outbound.event("conversation.item.retrieved", n, item=item))
        case wire.ItemDelete():
            session.delete_item(message.item_id)
        case wire.ItemTruncate():
            session.truncate_item(message.item_id, message.audio_end_ms)
        case wire.Heartbeat():
            session.heartbeat()
        case wire.SessionUpdate():
            session.update(session.dialect.wanted(message.session.mapping()))
            session.notify(session.updated)
        case wire.SessionClose():
            session.close()
        case wire.SessionResume():
            raise ClientError("unsupported_session_resume", "session.resume is the first message of a connection")
        case _:
            assert_never(message)


def _clear_output(session: Session, response_id: str) -> None:
    """Cancel what is being said. The answer names it, also where the client did not."""
    session.cancel_response(response_id)
    if cleared := response_id or session.last_response:
        session.notify(lambda n: outbound.output_cleared(cleared, n))


def _take_position(session: Session, message: wire.PlaybackAck) -> None:
    response_id = message.response_id or (message.item_id or "").removeprefix("item_")
    if message.truncate:
        session.truncate_item(f"item_{response_id or session.last_response}", message.played_ms)
    else:
        session.playback_ack(response_id, message.played_ms)
    if not session.dialect.is_strict:
        told = {"response_id": response_id or session.last_response, "played_ms": message.played_ms}
        session.notify(lambda n: outbound.event("playback.acknowledged", n, event=told))
