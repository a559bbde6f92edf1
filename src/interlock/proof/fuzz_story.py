"""What the clients of a fuzzed host hear, and what may be said to them: the oracle on the far side of the transport.

It knows nothing of how the runtime works. From each accepted claim on, a client must get every number after the one
that it named, in order and once, except those that an interrupt has voided; what an interrupt made stale may be in the
one write that is inside the transport, and in no other; a number is the same bytes wherever it is read. Which token
opens a session is kept here a second time, by the rule as a client author would write it down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec
import trio

from interlock.machine import Message
from interlock.proof.promises import Witness
from interlock.session.books import Acknowledged
from interlock.session.decide import Decision
from interlock.session.value import Value
from interlock.tables import messages as m
from interlock.transport.memory import MemoryTransport

HELLO: Final = frozenset({"session.created", "session.resumed"})
TERMINAL: Final = frozenset({"session.closed", "session.expired"})
DELTAS: Final = frozenset(
    {
        "response.output_audio.delta",
        "response.output_audio_transcript.delta",
        "response.function_call_arguments.delta",
    }
)


class Heard(msgspec.Struct):
    """What a client reads of one event."""

    type: str
    server_event_seq: int = 0
    session_id: str = ""
    resume_token: str = ""
    attachment_generation: int = 0
    response_id: str = ""
    resumed: bool | None = None
    """What ``session.created`` says to a strict client that came back; none to everybody else."""
    resumable_from: int | None = None


_read = msgspec.json.Decoder(Heard).decode


@dataclass
class Story:
    """One session, as all its clients together have heard it."""

    frames: dict[int, bytes] = field(default_factory=dict)
    heard: dict[int, Heard] = field(default_factory=dict)
    voided: set[int] = field(default_factory=set)
    voided_head: int = 0
    """The journal's head when output was last voided: deltas up to there are stale."""
    tokens: list[str] = field(default_factory=list)
    """Every token that a client has received, in that order."""
    current: bytes = b""
    presented: bytes = b""
    claim_head: int = 0
    claims: int = 0
    """The generation of the last accepted claim."""
    ordered: dict[int, float] = field(default_factory=dict)
    """When each transport was ordered to close."""
    grace_began: float = 0.0


class Link(MemoryTransport):
    """One connection. ``position`` is what its client says that it has; ``last`` is the highest number on it."""

    def __init__(self, accepts: float, story: Story | None = None, position: int = 0) -> None:
        super().__init__(accepts)
        self.story = story
        self.session_id = ""
        self.token = ""
        self.generation = 0
        self.last = position
        self.over = False
        self.rude = False
        self._writes: list[tuple[int, int, int]] = [(0, 0, 0)]
        self._read_up_to = 0

    @property
    def reads(self) -> bool:
        """Whether the peer takes what comes."""
        return self.is_open and self._accepts == math.inf

    def breaks(self) -> None:
        """Fail as no transport may: with an error of its own."""
        self.rude = True
        self.tear()

    async def send(self, frames: Sequence[bytes]) -> None:
        """Write; remember what may be in it: nothing stale, and nothing at all once another claim was accepted."""
        voided, claims = (self.story.voided_head, self.story.claims) if self.story else (0, 0)
        self._writes.append((len(self.frames), voided, claims))
        if self.rude:
            await trio.lowlevel.checkpoint()
            raise OSError("broken")
        await super().send(frames)

    def listen(self, ledger: Ledger) -> None:
        """Read what has arrived since the last time."""
        while self._read_up_to < len(self.frames):
            index = self._read_up_to
            self._read_up_to += 1
            while len(self._writes) > 1 and self._writes[1][0] <= index:
                self._writes.pop(0)
            self._hear(ledger, _read(self.frames[index]), self.frames[index], self._writes[0])

    def _hear(self, ledger: Ledger, event: Heard, frame: bytes, write: tuple[int, int, int]) -> None:
        if event.type in HELLO:
            self._greeted(ledger, event)
        elif event.server_event_seq and self.story is not None:
            ledger.broken += _wrong_with(self, self.story, event, frame, write)
            self.last = max(self.last, event.server_event_seq)
            self.over = self.over or event.type in TERMINAL
            self.story.frames.setdefault(event.server_event_seq, frame)
            self.story.heard.setdefault(event.server_event_seq, event)
        elif event.server_event_seq:
            ledger.broken.append(f"promise 3: {event.type} came before the credentials")

    def _greeted(self, ledger: Ledger, event: Heard) -> None:
        if self.token:
            ledger.broken.append("promise 1: two activations on one transport")
        if event.type == "session.created" and not event.resumed:
            self.last = event.resumable_from or 0  # a history that is lost, or another session than was asked for
        self.session_id, self.token = event.session_id, event.resume_token
        self.generation = event.attachment_generation
        self.story = ledger.story(event.session_id)
        self.story.tokens.append(event.resume_token)


def _wrong_with(link: Link, story: Story, event: Heard, frame: bytes, write: tuple[int, int, int]) -> list[str]:
    seq, wrong = event.server_event_seq, []
    _, barrier, claims = write
    if link.token and claims > link.generation:
        wrong.append(f"promise 1: transport {link.generation} was written to after claim {claims}")
    if not link.token:
        wrong.append(f"promise 3: {event.type} came before the credentials")
    if seq <= link.last:
        wrong.append(f"promise 3: number {seq} came after {link.last}")
    elif seq > link.last + 1 and (lost := set(range(link.last + 1, seq)) - story.voided):
        wrong.append(f"promise 3: numbers {sorted(lost)[:5]} were lost before {seq}")
    if event.type in DELTAS and seq <= barrier:
        wrong.append(f"promise 2: delta {seq} was written after all up to {barrier} were voided")
    if link.over:
        wrong.append(f"promise 5: {event.type} came after the session's terminal event")
    if story.frames.get(seq, frame) != frame:
        wrong.append(f"promise 3: number {seq} was replayed as something else")
    return wrong


def wrong_in(story: Story) -> list[str]:
    """Say where what was heard, put together, has a response that ends twice, or goes on after its end."""
    wrong: list[str] = []
    ended: dict[str, int] = {}
    for seq in sorted(story.heard):
        event = story.heard[seq]
        if event.response_id in ended and event.type != "error":
            done = ended[event.response_id]
            wrong.append(f"promise 5: {event.type} ({seq}) follows the response.done ({done}) of its response")
        if event.type == "response.done":
            ended[event.response_id] = seq
    return wrong


class Ledger(Witness):
    """Sees every commit, keeps a story of each session, and which rows of which machines have fired."""

    def __init__(self) -> None:
        super().__init__()
        self.stories: dict[str, Story] = {}
        self.rows: set[tuple[str, str, str, str]] = set()
        self.leapt_at = -math.inf
        """When the clock last jumped past deadlines, which are then late."""

    def story(self, session_id: str) -> Story:
        """Return the story of a session; it begins when it is first asked for."""
        story = self.stories.get(session_id)
        if story is None:
            story = self.stories[session_id] = Story()
        return story

    def decided(self, at: float, before: Value, event: Message, decision: Decision) -> None:
        """Look at one commit."""
        super().decided(at, before, event, decision)
        story = self.story(before.session_id)
        for taken in decision.taken:
            if taken.row is not None:
                self.rows.add((taken.address[0], taken.state, type(taken.message).__name__, taken.to))
        for effect in decision.effects:
            if isinstance(effect, m.RotateCredential | m.RefuseResume):
                self.broken += _judge_token(story, event, effect, before)
                story.claims = decision.value.generation
            elif isinstance(effect, m.VoidOutput):
                story.voided_head = before.journal.head
            elif isinstance(effect, m.EvictTransport | m.DropTransport | m.FinishTransport):
                story.ordered[effect.generation] = at
        if decision.value.cells is not before.cells:
            self.broken += _judge_grace(story, at, self.leapt_at, before, decision.value)
        if decision.value.journal.trimmed > before.journal.trimmed:
            self.broken += _judge_trim(event, before, decision.value)
        if isinstance(event, Acknowledged) and event.generation == before.generation:
            is_proof = event.claimed == before.generation or event.position > story.claim_head
            story.presented = b"" if is_proof else story.presented

    def voided(self, at: float, session_id: str, through: int, unsent: Sequence[int], sent: Sequence[int]) -> None:
        """Remember what may be missing."""
        super().voided(at, session_id, through, unsent, sent)
        self.story(session_id).voided.update(unsent, sent)


def _judge_token(story: Story, event: Message, effect: m.RotateCredential | m.RefuseResume, before: Value) -> list[str]:
    """Keep the rule of the credential beside the one that decides, and say where they part."""
    token = event.token if isinstance(event, m.ResumeRequested) else b""
    good = not story.current or token in {story.current, story.presented} - {b""}
    if isinstance(effect, m.RefuseResume):
        refused = effect.code == "invalid_resume_token" and good
        return ["promise 3: a token that opens the session was refused"] if refused else []
    if token == story.current:
        story.presented = token
    story.current, story.claim_head = effect.fresh, before.journal.head
    return [] if good else ["promise 3: a token that nobody may use any more has opened the session"]


def _judge_trim(event: Message, before: Value, after: Value) -> list[str]:
    """History goes where the client has it, or where it was handed over and a limit says so; never otherwise."""
    may = event.position if isinstance(event, Acknowledged) else before.journal.handed
    if before.settings.overflow == "drop_oldest" and before.state("lease") != "HELD":
        may = before.journal.head
    trimmed = after.journal.trimmed
    return [f"promise 3: {type(event).__name__} lets history go up to {trimmed}, and not {may}"] * (trimmed > may)


def _judge_grace(story: Story, at: float, leapt_at: float, before: Value, after: Value) -> list[str]:
    """A full grace runs from the detach: nothing that is refused meanwhile moves it."""
    was, is_now = before.state("lease"), after.state("lease")
    if is_now == "GRACE" and was != "GRACE":
        story.grace_began = at
    reason = after.cells["session", None].data.reason
    expired = was == "GRACE" and is_now != "GRACE" and reason == "disconnect_grace_expired"
    ran, grace_s = at - story.grace_began, before.settings.grace_s
    is_late = ran > grace_s + 1e-3 and story.grace_began > leapt_at
    return [f"promise 3: a grace was over after {ran:g} s"] * (expired and (is_late or ran < grace_s - 1e-3))
