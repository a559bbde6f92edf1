"""A session as its caller sees it, through one attachment. Plain functions have happened when they return.

A cancel cannot meet them: they raise and nothing happened, or they return and it did. Waiting is separate, and giving
a wait up undoes nothing. A caller whose attachment was superseded can do nothing any more (TW-03).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interlock.errors import ClientError
from interlock.runtime import acts, items
from interlock.runtime.answering import ask, check_room
from interlock.runtime.beside import Input
from interlock.runtime.delivery import Notice
from interlock.session.asked import idle_time
from interlock.session.books import Acknowledged, InputQueued, InputReleased, PlaybackAcked, TurnCommitted
from interlock.session.reasons import callers_reason
from interlock.session.settings import Settings
from interlock.tables import messages as m
from interlock.wire import outbound
from interlock.wire.dialect import DUPLEX, Dialect
from interlock.wire.items import GivenItem, MessageItem, Part
from interlock.wire.session_object import merged

if TYPE_CHECKING:
    from interlock.runtime.driver import Driver

LISTENING = frozenset({"RESERVED", "SUBMITTING", "RUNNING"})
"""States of a listening request that takes audio."""


class Session:
    """One attachment of one session. ``generation`` says which, ``dialect`` what its client speaks."""

    __slots__ = ("_driver", "dialect", "generation")

    def __init__(self, driver: Driver, generation: int, dialect: Dialect = DUPLEX) -> None:
        self._driver = driver
        self.generation = generation
        self.dialect = dialect

    @property
    def session_id(self) -> str:
        """The session's id; it stays the same over every resume."""
        return self._driver.session_id

    @property
    def settings(self) -> Settings:
        """The host's settings."""
        return self._driver.settings

    @property
    def is_current(self) -> bool:
        """Whether no later claim has taken the session over."""
        return self._driver.value.generation == self.generation

    @property
    def is_attached(self) -> bool:
        """Whether this attachment is still the one that carries the session."""
        value = self._driver.value
        return value.generation == self.generation and value.state("attachment") in {"REPLAYING", "ATTACHED"}

    @property
    def last_response(self) -> str:
        """The id of the response that was begun last; empty where there was none."""
        playback = self._driver.value.playback
        return playback[-1].response_id if playback else ""

    def append(self, pcm: bytes) -> None:
        """Take input audio: PCM16 mono at the session's input rate. No audio at all is a sign of life.

        Raises :class:`ClientError` with ``input_backpressure`` when too much is not heard yet.
        """
        driver = self._active()
        if not pcm:
            return
        driver.dispatch(InputQueued(len(pcm)))
        driver.host.mark("input_bytes", driver.value.input_bytes)
        try:
            request_id = self._listening() or self._listen()
        except ClientError:
            driver.dispatch(InputReleased(len(pcm)))
            raise
        acts.append_audio(driver, request_id, pcm)

    def commit(self, answers: bool | None = None) -> None:
        """End the turn here; ``answers`` says whether it is answered unasked, else the dialect does.

        Raises ``input_audio_buffer_empty`` when no audio was ever appended.
        """
        driver = self._active()
        request_id = self._listening()
        if not request_id:
            raise ClientError("input_audio_buffer_empty", "there is no audio to commit")
        driver.dispatch(TurnCommitted())
        driver.host.mark("max_turns", driver.value.turns)
        held = driver.inputs.setdefault(request_id, Input())
        held.turns += 1
        held.unasked.append(self.dialect.commit_answers if answers is None else answers)
        acts.finish_input(driver, request_id)

    def clear_input(self) -> None:
        """Forget the audio that was not heard: the listening request is given back, the next audio opens one.

        A turn that was committed and is not heard yet goes with it; the client is told, ``commit_aborted`` for each.
        """
        driver = self._active()
        request_id = self._listening()
        if request_id:
            driver.dispatch(m.RequestAborted(request_id))

    def create_response(self, options: Mapping[str, Any] | None = None) -> None:
        """Answer the last turn, again if it was answered; where it is still being heard, once it was.

        ``options`` is what this one response should have otherwise than the session. Raises :class:`ClientError` when
        there is no turn, or a response is live or was asked for already, and :class:`LimitReached` (``max_fences``)
        when too many epochs are still to be cleaned up.
        """
        ask(self._active(), options or {})

    def update(self, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Change the configuration for what is asked from now on; return all of it, with the session's ``id``.

        All of it changes, or nothing (FE-09). Raises :class:`ClientError` (``invalid_session_config``, or what the
        pipeline says), also where it would change how audio is heard while a stage is hearing some (AP-16). A strict
        client cannot help that, because its microphone is open before its configuration is on the way: it is heard
        anew from here on, and refused only while a turn that it committed is still to be heard.
        """
        driver = self._active()
        config = merged(driver.config, changes)
        driver.host.pipeline.check(config)
        driver.host.check(config)
        idle_s = idle_time(config, driver.settings)
        outdated = self._outdated_hearing(config)
        if idle_s != driver.value.cells["lease", None].data.idle_s:
            driver.dispatch(m.IdleRequested(idle_s))
        driver.config = config
        if outdated:
            driver.dispatch(m.RequestAborted(outdated))
            self.notify(outbound.input_cleared)
        return {**config, "id": driver.session_id}

    def updated(self, n: str) -> bytes:
        """Encode the configuration that holds, for this transport's client, as its ``n``-th notice."""
        held = self._driver.deliveries[self.generation].credentials
        return self.dialect.updated(self._driver.config, held, n)

    def barge_in(self, reason: str = "client_cancelled") -> None:
        """Make everything that is being said stale, from this moment on. ``reason`` is told to the client.

        Raises :class:`ClientError` (``bad_event``) for a reason that is not a caller's to give.
        """
        self._active().dispatch(m.InterruptRequested(callers_reason(reason)))

    def cancel_response(self, response_id: str = "") -> None:
        """Cancel one response, or whichever is live. One that has ended is not an error; one that never was is."""
        driver = self._active()
        if not response_id and driver.wanted is not None:
            driver.wanted = None
            return
        driver.dispatch(m.CancelRequested(response_id))

    def ack(self, position: int, claimed: int = 0) -> None:
        """Say what the client has. ``claimed`` is the generation that it names, which proves that it read it."""
        self._current().dispatch(Acknowledged(self.generation, position, claimed))

    def create_item(self, item: GivenItem, previous_item_id: str | None = None) -> None:
        """Add an item to the conversation: at the end, after another one, or first (``root``).

        Raises :class:`ClientError`: ``item_not_found``, ``invalid_function_call_output``, ``bad_event`` for one that is
        too large or has an id that is taken, and :class:`LimitReached` (``max_items``, ``conversation_bytes``).
        """
        items.create(self._active(), item, previous_item_id)

    def write(self, text: str) -> None:
        """Add a turn in writing, and ask for its answer: both, or neither.

        Raises :class:`ClientError`, as :meth:`create_item` and :meth:`create_response` do.
        """
        check_room(self._active())
        self.create_item(MessageItem(role="user", content=[Part(type="input_text", text=text)]))
        self.create_response()

    def item(self, item_id: str) -> Mapping[str, Any]:
        """Return an item of the conversation. Raises :class:`ClientError` (``item_not_found``)."""
        return self._active().conversation.get(item_id)

    def delete_item(self, item_id: str) -> None:
        """Let go of an item of the conversation. Raises :class:`ClientError` (``item_not_found``)."""
        items.delete(self._active(), item_id)

    def truncate_item(self, item_id: str, played_ms: int) -> None:
        """Cut what a response has said to what was heard of it: a playback position, too.

        Raises :class:`ClientError`: ``item_not_found``, ``playback_item_not_found``, and ``bad_event`` for what was not
        spoken.
        """
        items.truncate(self._active(), item_id, played_ms)

    def playback_ack(self, response_id: str, played_ms: float) -> None:
        """Say how much of a response was heard."""
        self._active().dispatch(PlaybackAcked(response_id, played_ms))

    def heartbeat(self) -> None:
        """Show that the client is there; answered on this transport, where its client knows the answer."""
        session_id = self._active().session_id
        if not self.dialect.is_strict:
            self.notify(lambda n: outbound.heartbeat_ack(session_id, n))

    def notify(self, notice: Notice) -> None:
        """Send a frame to this transport alone, made with the number that it gets there.

        A client that does not read its notices loses its transport.
        """
        delivery = self._driver.deliveries.get(self.generation)
        if delivery is not None and not delivery.notify(notice):
            self.detach("notices_overflowed")

    def close(self, reason: str = "client_close") -> None:
        """End the session: its terminal event comes when the stages have given back what it holds.

        Raises :class:`ClientError` (``bad_event``) for a reason that is not a caller's to give.
        """
        self._current().dispatch(m.CloseRequested(callers_reason(reason)))

    def detach(self, reason: str = "disconnected") -> None:
        """Give up the transport. The session lives on, in grace; a detach of what is superseded is nothing."""
        self._driver.dispatch(m.TransportLost(self.generation, reason))

    async def wait_closed(self) -> None:
        """Wait until the session has had its terminal event."""
        await self._driver.ended.wait()

    async def wait_room(self) -> None:
        """Wait until half of the input limit is free."""
        await self._driver.room.wait_for(lambda: self._has_room())

    def _has_room(self) -> bool:
        driver = self._driver
        return driver.value.input_bytes * 2 <= driver.settings.input_bytes or driver.ended.is_set()

    def _current(self) -> Driver:
        self._driver.host.check_thread()
        if self._driver.value.generation != self.generation:
            raise ClientError("session_closed", "another transport has taken this session over")
        return self._driver

    def _active(self) -> Driver:
        driver = self._current()
        if driver.value.state("session") != "OPEN":
            raise ClientError("session_closed", "the session is over")
        driver.touch()
        return driver

    def _listening(self) -> str:
        for (machine, key), cell in self._driver.value.cells.items():
            if machine == "request" and not cell.data.response_id and cell.state in LISTENING:
                return str(key)
        return ""

    def _outdated_hearing(self, config: Mapping[str, Any]) -> str:
        """Return the request whose stage hears otherwise than ``config`` wants it, if it may be given back for that."""
        driver, listening = self._driver, self._listening()
        if not listening or driver.value.state("request", listening) not in acts.TAKING:
            return ""
        pipeline = driver.host.pipeline
        before, after = (pipeline.params(pipeline.listen, each, "") for each in (driver.config, config))
        if before == after:
            return ""
        if not self.dialect.is_strict or not driver.is_heard_out:
            text = "audio is being heard as the configuration was: clear the input, then change it"
            raise ClientError("invalid_session_config", text, retryable=True)
        return listening

    def _listen(self) -> str:
        driver = self._driver
        request_id = f"{driver.session_id}.listen{driver.value.listened + 1}"
        driver.dispatch(m.ListenRequested(request_id, driver.host.pipeline.listen))
        return request_id
