"""The driver of one session: decide, commit, perform, in one synchronous step.

``dispatch`` may be called from any task of the host's thread. It computes the whole cascade, replaces the value by one
assignment, and performs the effects in order; nothing in it waits. A dispatch during a dispatch joins the queue, and
what was asked for inside is taken first. There is no lock, because there is no moment at which one could be needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import trio

from interlock.errors import ClientError, Defect
from interlock.machine import Cancelled, Message
from interlock.runtime.beside import Input, Offer, Speech, Timer
from interlock.runtime.delivery import Delivery
from interlock.runtime.perform import attempt, heed, judge, note, perform, record
from interlock.runtime.ports import Reply
from interlock.runtime.room import Room
from interlock.runtime.silent import Silent
from interlock.session.asked import Wish, idle_time
from interlock.session.books import APPLY, Handed, Produced, Sequenced, TransportClosed, Trimmed
from interlock.session.conversation import Conversation
from interlock.session.decide import COMPOSITION, new_value
from interlock.session.journal import Frames
from interlock.session.settings import Settings
from interlock.tables import messages as m
from interlock.wire.lifecycle import LifecycleFacts, lifecycle

if TYPE_CHECKING:
    from interlock.runtime.host import Host


DEFECT: Final = "internal_error"
"""The code under which a trace has an event that met a defect of ours: nothing has changed, and the session ends."""


class Driver:
    """Holds the one value of a session and everything that lies beside it."""

    def __init__(self, host: Host, session_id: str, config: Mapping[str, Any]) -> None:
        """Begin in OPENING; :meth:`start` sets the session going."""
        self.host = host
        self.session_id = session_id
        self.config = config
        self.value = new_value(session_id, host.settings, idle_time(config, host.settings))
        self.frames = Frames()
        self.offers: dict[int, Offer] = {}
        self.deliveries: dict[int, Delivery] = {}
        self.inputs: dict[str, Input] = {}
        self.speeches: dict[str, Speech] = {}
        self.conversation = Conversation()
        self.wanted: Wish | None = None
        """A response that the client has asked for, to a turn that is not heard yet."""
        self.preparation: trio.CancelScope | None = None
        self.active_at = trio.current_time()
        self.ended = trio.Event()
        self.room = Room()
        self._queue: list[Message] = []  # short, and empty at rest, when an empty deque would be half of a session
        self._inner: list[Message] = []
        self._replies: list[tuple[int, tuple[Reply, ...]]] = []
        self._running = False
        self._hearing = False

    @property
    def settings(self) -> Settings:
        """The host's settings."""
        return self.host.settings

    @property
    def delivery(self) -> Delivery | None:
        """The writer of the current claim, if it still has one."""
        return self.deliveries.get(self.value.generation)

    @property
    def is_quiet(self) -> bool:
        """Whether the session has had its terminal event, and its last transport is closed."""
        return self.ended.is_set() and not self.value.closing and not self.deliveries

    @property
    def is_heard_out(self) -> bool:
        """Whether no turn that was committed is still to be heard."""
        return not any(held.turns > held.told or held.awaits for held in self.inputs.values())

    @property
    def about(self) -> dict[str, Any]:
        """What every log line about this session says beside its message."""
        attachment = self.value.cells["attachment", None].data
        return {"session": self.session_id, "generation": attachment.generation, "claim": attachment.claim}

    def speak(self, response_id: str, speech: Speech, stages: tuple[str, ...]) -> None:
        """Ask for a response; its texts lie beside until it has ended."""
        self.speeches[response_id] = speech
        try:
            self.dispatch(m.TurnHeard(response_id, stages))
        finally:
            if not self.value.state("response", response_id):
                self.speeches.pop(response_id, None)

    def start(self) -> None:
        """Perform what it means that the session exists: its preparation, and its idle clock."""
        for effect in COMPOSITION.start(self.value.cells):
            perform(self, effect)

    @trio.lowlevel.enable_ki_protection
    def dispatch(self, event: Message) -> None:
        """Take ``event`` and all that follows from it.

        Raises :class:`ClientError` when a client may not have what it asks for; nothing has changed then. Called
        from inside a dispatch, it only queues, and an error of that event is recorded instead of raised.
        """
        self.host.check_thread()
        if self._running:
            self._inner.append(event)
        elif type(event) in APPLY:
            self._enter(event)
        else:
            self._run(event)

    def reply(self, incarnation: int, *replies: Reply) -> None:
        """Take what a stage has answered; one that answers from inside its order is heard when the run is over."""
        self._replies.append((incarnation, replies))
        self._hear()

    def take(self, generation: int, cursor: int, *, strict: bool = False) -> tuple[tuple[bytes, ...], int]:
        """Return the frames that are due to the writer of ``generation``, and the position after them."""
        if generation != self.value.generation:
            return (), cursor
        frames, through = self.frames.due(cursor, self.host.settings.write_bytes, strict=strict)
        if through > cursor:
            self.dispatch(Handed(generation, through))
        return frames, through

    def produce(self, event: Produced) -> int:
        """Sequence output deltas; return the number of the first, or 0 when they are stale."""
        head = self.value.journal.head
        self.dispatch(event)
        return head + 1 if self.value.journal.head > head else 0

    def hold(self, seq: int, epoch: int, at: float, frames: Iterable[bytes], *, private: bool = False) -> None:
        """Keep encoded frames, made at ``at`` and numbered from ``seq`` on, and make room for them.

        They are written when the reply that is being heard is over, with all that comes of it; else by their writer.
        """
        held, settings = self.frames, self.host.settings
        held.append(seq, epoch, at, *frames, private=private)
        if held.size > settings.journal_bytes or at - held.oldest_at > settings.journal_age_s:
            self._make_room(is_delta=epoch > 0)
        self.host.mark("journal_bytes", held.size)
        if not self._hearing:
            for delivery in self.deliveries.values():
                delivery.wake()

    def tell(
        self,
        kind: str,
        facts: LifecycleFacts,
        *,
        epoch: int = 0,
        taking: Callable[[int], Message] = Sequenced,
    ) -> int:
        """Sequence lifecycle frames that no machine emits; return the first number, or 0 when the session is over.

        With an ``epoch`` they are output of that epoch, and an interrupt voids them. ``taking`` makes the event that
        takes so many numbers.
        """
        seq = self.value.journal.head + 1
        frames = lifecycle(kind, seq, facts)
        self.dispatch(taking(len(frames)))
        if self.value.journal.head < seq:
            return 0
        self.hold(seq, epoch, trio.current_time(), frames)
        return seq

    def delivered(self, delivery: Delivery) -> None:
        """The transport of a delivery is closed; the books and the host are told."""
        self.deliveries.pop(delivery.generation, None)
        self.dispatch(TransportClosed(delivery.generation))

    def land(self, claim: int) -> None:
        """Land the cancel of a caller that waits for ``claim``: synchronously, in the delivery of the cancel."""
        self.offers.pop(claim, None)
        if self.value.state("session") == "OPENING":
            self.dispatch(Cancelled("session"))
        elif self.value.cells["attachment", None].data.claim == claim:
            self.dispatch(Cancelled("attachment", None, self.value.generation))

    def touch(self) -> float:
        """Start the idle clock over: the client, or the model, did something. Return the time."""
        self.active_at = now = trio.current_time()
        return now

    def fire(self, timer: Timer) -> None:
        """Deliver the event of a timer that fell due."""
        fields: dict[str, Any] = {timer.event.key: timer.instance} if timer.event.key else {}
        if timer.event is m.IdleDue:
            fields["idle_for_s"] = trio.current_time() - self.active_at
        self.dispatch(timer.event(**fields))

    def _enter(self, event: Message) -> None:
        """Take an event of the books, which no machine sees: nothing follows from it but a change of the value."""
        self._step(event)
        if type(event) is TransportClosed:
            self.host.settled(self)
        self.room.changed()

    def _run(self, event: Message) -> None:
        timed = self.host.timed
        began = 0.0 if timed is None else perf_counter()
        self._running = True
        try:
            self._step(event)
            if self._inner or self._queue:
                self._follow()
        finally:
            self._running = False
        if timed is not None:
            timed(perf_counter() - began)
        if self._replies:
            self._hear()
        self.host.settled(self)
        self.room.changed()

    def _hear(self) -> None:
        """Hear replies one after the other: never inside a run, and never inside another reply, half of it done."""
        if self._running or self._hearing:
            return
        self._hearing = True
        try:
            while self._replies:
                heed(self, *self._replies.pop(0))
        finally:
            self._hearing = False
            for delivery in tuple(self.deliveries.values()):
                attempt(delivery.flush, delivery.broken)

    def _follow(self) -> None:
        """Take what was dispatched meanwhile: first what came from inside the last step, in its order."""
        while self._inner or self._queue:
            self._queue[:0] = self._inner
            self._inner.clear()
            self._step_inside(self._queue.pop(0))

    def _step_inside(self, event: Message) -> None:
        try:
            self._step(event)
        except ClientError:
            return  # recorded; there is no caller to tell

    def _step(self, event: Message) -> None:
        before = self.value
        try:
            decision = judge(before, event)
        except ClientError as refusal:
            code = refusal.code
            note(self.host, lambda record: record.refused(trio.current_time(), before, event, code))
            raise
        except Defect as error:
            note(self.host, lambda record: record.refused(trio.current_time(), before, event, DEFECT))
            self.host.defect(self, event, error)
            return
        self.value = after = decision.value
        if type(self.host.record) is not Silent:
            record(self.host, before, event, decision)
        if after.journal.trimmed != before.journal.trimmed:
            self.frames.trim(after.journal.trimmed)
        for effect in decision.effects:
            perform(self, effect)

    def _make_room(self, *, is_delta: bool) -> None:
        """Let go of frames that a transport was handed, oldest first; what may not go ends the session."""
        settings, attached, through = self.settings, self._is_held, self._expendable_through()
        mark = self.frames.mark(room=settings.journal_bytes, before=self._ages_before(), through=through)
        if mark > self.value.journal.trimmed:
            self.dispatch(Trimmed(mark))
            self.frames.trim(mark)
        limit = settings.journal_bytes + (0 if is_delta else settings.reserve_bytes)
        if self.frames.size > limit and not self._running_down:
            self.dispatch(m.EndRequested("output_backpressure" if attached else "journal_overflow"))

    def _expendable_through(self) -> int:
        """Return up to where frames may be let go: what was handed over, and to the transport of now as well."""
        journal = self.value.journal
        if not self._is_held and self.settings.overflow == "drop_oldest":
            return journal.head
        return journal.handed if self.delivery is None else min(journal.handed, self.delivery.cursor)

    def _ages_before(self) -> float:
        """Return the time before which frames are too old; while nobody is attached, none is."""
        return trio.current_time() - self.settings.journal_age_s if self._is_held else -math.inf

    @property
    def _is_held(self) -> bool:
        return self.value.state("lease") == "HELD"

    @property
    def _running_down(self) -> bool:
        return self.value.state("session") != "OPEN"
