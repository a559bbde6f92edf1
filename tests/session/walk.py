"""One random walk: the world around `decide`, and what must hold after each event."""

from __future__ import annotations

from collections.abc import Callable

from interlock.errors import ClientError
from interlock.machine import Cancelled, Message, StartWork
from interlock.session.books import (
    Acknowledged,
    Handed,
    InputQueued,
    Produced,
    Sequenced,
    TransportClosed,
    Trimmed,
    TurnCommitted,
)
from interlock.session.decide import decide, new_value
from interlock.session.settings import Settings
from interlock.session.value import Value
from interlock.tables import messages as m

STAGES = ("mind", "voice")
CLAIMED = {"ACTIVATING", "REPLAYING", "ATTACHED"}


class Walk:
    """The value, the tokens that were ever issued, and every id that was ever used."""

    def __init__(self) -> None:
        limits = {"max_fences": 4, "max_requests": 9, "max_responses": 2, "max_evicting": 2}
        self.value: Value = new_value("sess_1", Settings(**limits))  # type: ignore[arg-type]
        self.tokens = [b"t0"]
        self.requests: list[str] = []
        self.responses: list[str] = ["resp_never"]
        self.terminals: list[str] = []
        self.created: list[str] = []
        self.session_terminals = 0
        self.closed: list[int] = []
        self.ordered: list[int] = []
        self.submitted: set[str] = set()
        self.dispatch(m.Prepared(0, b"t0"))

    def step(self, number: int) -> None:
        """Let one thing happen."""
        kind, pick = number % len(EVENTS), number // len(EVENTS)
        event = EVENTS[kind](self, pick)
        if event is not None:
            self.dispatch(event)

    def dispatch(self, event: Message) -> None:
        """Take one event, and look."""
        before = self.value
        try:
            decision = decide(before, event)
        except ClientError:
            return
        self.value = decision.value
        for effect in decision.effects:
            self.note(effect)
        self.check(before)

    def note(self, effect: Message) -> None:
        """Remember what the world was told."""
        match effect:
            case m.AppendEvent(kind="response.created"):
                self.created.append(effect.response_id)
            case m.AppendEvent(kind="response.done"):
                self.terminals.append(effect.response_id)
            case m.AppendEvent(kind="session.closed" | "session.expired"):
                self.session_terminals += 1
            case m.RotateCredential():
                self.tokens.append(effect.fresh)
            case m.EvictTransport() | m.DropTransport() | m.FinishTransport():
                self.ordered.append(effect.generation)
            case m.SeekWorker():
                self.requests.append(effect.request_id)
            case StartWork(work="Serve"):
                assert effect.instance not in self.submitted
                self.submitted.add(str(effect.instance))
            case _:
                pass

    def check(self, before: Value) -> None:
        """Ask the promises."""
        value = self.value
        over = value.state("session") in {"QUARANTINED", "CLOSED"}
        claimed = value.state("attachment") in CLAIMED
        if value.state("session") == "OPEN":
            assert (value.state("lease") == "HELD") == claimed
        assert value.generation >= before.generation
        assert value.epoch >= before.epoch
        assert value.journal.head >= before.journal.head >= before.journal.trimmed
        assert value.journal.trimmed <= value.journal.head
        assert len(self.terminals) == len(set(self.terminals))
        assert set(self.terminals) <= set(self.created)
        assert self.session_terminals == int(over)
        if before.state("session") in {"QUARANTINED", "CLOSED"}:
            assert value.journal.head == before.journal.head
        if over:
            assert set(self.terminals) == set(self.created)
            assert not claimed
        assert len(self.ordered) == len(set(self.ordered))
        assert sorted(value.closing) == sorted(set(self.ordered) - set(self.closed))
        current = {value.generation} if claimed else set()
        assert set(self.ordered) | current == set(range(1, value.generation + 1))
        requests = {str(key) for name, key in value.cells if name == "request"}
        if value.state("session") == "CLOSED":
            assert not requests
        for (name, key), cell in value.cells.items():
            if name == "fence" and cell.state != "OPEN":
                assert cell.data.ids
                assert set(cell.data.ids) <= requests, f"fence {key} waits for an id that nobody owes"

    def settle(self) -> None:
        """From wherever the walk came to, the end can be reached, and then nothing is held."""
        self.dispatch(m.EndRequested("server_shutdown"))
        for stage in ("ears", *STAGES):
            self.dispatch(m.StageGone(stage, 0))
            self.dispatch(m.StageGone(stage, 1))
            self.dispatch(m.StageGone(stage, 2))
        for generation in self.value.closing:
            self.closed.append(generation)
            self.dispatch(TransportClosed(generation))
        assert self.value.state("session") == "CLOSED"
        assert not self.value.closing
        assert not self.value.holds_slot

    def request(self, pick: int) -> str:
        """Name a request that exists, or existed."""
        return self.requests[pick % len(self.requests)] if self.requests else "nobody"


def _resume(walk: Walk, pick: int) -> Message:
    token = walk.tokens[-1 - pick % min(3, len(walk.tokens))] if pick % 7 else b"wrong"
    position = max(walk.value.journal.head - pick % 5, 0) + (pick % 11 == 0)
    return m.ResumeRequested(pick, token, position, f"t{len(walk.tokens)}".encode())


def _delivered(walk: Walk, pick: int, kind: Callable[..., Message], state: str) -> Message | None:
    """A writer reports what it did in its state, or late, when its transport is no longer current."""
    generation = _generation(walk, pick)
    late = generation != walk.value.generation or walk.value.state("attachment") not in CLAIMED
    return kind(generation) if late or walk.value.state("attachment") == state else None


def _generation(walk: Walk, pick: int) -> int:
    return max(walk.value.generation - (pick % 4 == 0), 0)


def _closed(walk: Walk, pick: int) -> Message | None:
    if not walk.value.closing:
        return None
    generation = walk.value.closing[pick % len(walk.value.closing)]
    walk.closed.append(generation)
    return TransportClosed(generation)


def _turn(walk: Walk, _: int) -> Message:
    response_id = f"resp_{walk.value.answered + 1}"
    walk.responses.append(response_id)
    return m.TurnHeard(response_id, STAGES)


def _assigned(walk: Walk, pick: int) -> Message:
    return m.WorkerAssigned(walk.request(pick), 1 + pick % 2)


def _stage(kind: Callable[..., Message], *rest: object) -> Callable[[Walk, int], Message]:
    def make(walk: Walk, pick: int) -> Message:
        return kind(walk.request(pick), 1 + (pick // 8) % 2, *rest)

    return make


def _timer(walk: Walk, pick: int) -> Message | None:
    """A timer may fire whenever its state is there."""
    kinds: dict[str, type[Message]] = {
        "RESERVED": m.ReserveOverdue,
        "SUBMITTING": m.SubmitOverdue,
        "ABORTING": m.AbortOverdue,
        "OWED": m.RetryDue,
    }
    name = walk.request(pick)
    kind = kinds.get(walk.value.state("request", name))
    return kind(name) if kind is not None else None  # type: ignore[call-arg]


def _clock(walk: Walk, pick: int) -> Message | None:
    state, closing = walk.value.state("lease"), walk.value.state("session") == "CLOSING"
    if closing and pick % 2:
        return m.CleanupOverdue()
    if state == "HELD":
        return m.IdleDue(300.0 if pick % 3 == 0 else 10.0)
    return m.GraceExpired() if state == "GRACE" and pick % 3 == 0 else None


EVENTS: list[Callable[[Walk, int], Message | None]] = [
    _resume,
    _resume,
    lambda walk, pick: _delivered(walk, pick, m.ActivationDelivered, "ACTIVATING"),
    lambda walk, pick: _delivered(walk, pick, m.ActivationDelivered, "ACTIVATING"),
    lambda walk, pick: _delivered(walk, pick, m.ReplayDelivered, "REPLAYING"),
    lambda walk, pick: m.TransportLost(_generation(walk, pick), "reset"),
    lambda walk, pick: Cancelled("attachment", None, _generation(walk, pick)),
    _closed,
    _turn,
    lambda walk, _: m.ListenRequested(f"listen_{walk.value.listened + 1}", "ears"),
    _assigned,
    _assigned,
    _stage(m.SubmitAccepted),
    _stage(m.SubmitAccepted),
    _stage(m.SubmitRefused, "full"),
    _stage(m.RequestFinished),
    _stage(m.RequestFailed, "oom"),
    _stage(m.AbortConfirmed),
    _stage(m.AbortFailed, "stuck"),
    lambda walk, pick: Cancelled("request", walk.request(pick), 1 + pick % 2),
    lambda _, pick: m.StageLost(("ears", *STAGES)[pick % 3], 1 + (pick // 3) % 2),
    lambda _, pick: m.StageGone(("ears", *STAGES)[pick % 3], 1 + (pick // 3) % 2),
    lambda walk, pick: m.InterruptRequested("client_cancelled"),
    lambda walk, pick: m.CancelRequested(walk.responses[pick % len(walk.responses)] if pick % 3 else ""),
    lambda walk, pick: Produced(walk.request(pick), 1 + (pick // 8) % 2, walk.value.epoch - (pick % 5 == 0), 40.0),
    lambda walk, pick: Acknowledged(_generation(walk, pick), walk.value.journal.head, pick % 3),
    lambda walk, pick: Handed(_generation(walk, pick), walk.value.journal.head),
    lambda walk, pick: Trimmed(max(walk.value.journal.handed - pick % 3, 0)),
    lambda walk, _: Sequenced(1),
    lambda walk, _: InputQueued(320),
    lambda walk, _: TurnCommitted(),
    _timer,
    _timer,
    _clock,
    lambda walk, pick: m.CloseRequested("client_close") if pick % 10 == 0 else None,
    lambda walk, pick: m.EndRequested("output_backpressure") if pick % 20 == 0 else None,
]
