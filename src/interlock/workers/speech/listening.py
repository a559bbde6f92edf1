"""One request of the ears: its audio, its turn, and what its decoder still has to hear."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from interlock.errors import LimitReached
from interlock.workers.speech.decoder import Decoder
from interlock.workers.speech.resample import HEARD_HZ, Resampler
from interlock.workers.speech.turns import FRAME_SAMPLES, Cut, Turn, TurnConfig, frames
from interlock.workers.speech.vad import STATE_BYTES
from interlock.workers.stage import OutputKind, StageOutput

CHUNK_BYTES = 2 * FRAME_SAMPLES

INPUT_S = 30
"""Audio that may wait to be heard; more than that means that nobody keeps up, and the request fails."""

BACKLOG_CHUNKS = 64
"""Chunks that may wait for the decoder (2 s); the detector does not run further ahead."""

MANUAL_S = 120
"""The longest turn between two commits, where turns are ended by hand."""

MAX_COMMITS = 16
"""Commits that may wait for their turn."""


@dataclass(slots=True)
class Listening:
    """Audio goes ``append`` -> ``pcm`` -> (detector) -> ``backlog`` -> (decoder). All of it is PCM16 at 16 kHz.

    ``vad`` is the detector's slot, ``taken`` the position of ``pcm[0]`` in samples, and ``commits`` are positions at
    which a turn has to end. In ``backlog``, ``None`` ends a turn. The detector waits while one is in there, so that
    outputs keep their order: started, stopped, transcript, and only then the next turn.
    """

    request_id: str
    config: TurnConfig
    vad: int
    decoder: Decoder
    resampler: Resampler | None
    turn: Turn = field(init=False)
    pre_roll: deque[bytes] = field(init=False)
    pcm: bytearray = field(default_factory=bytearray)
    taken: int = 0
    commits: deque[int] = field(default_factory=deque)
    backlog: deque[bytes | None] = field(default_factory=deque)
    committed: bool = False
    """Whether the turn that the backlog ends was ended by a commit; its transcript says so."""
    by_hand: int = 0
    """Samples since the last commit: a turn by hand that has no end is somebody's mistake."""

    def __post_init__(self) -> None:
        self.turn = Turn(self.config)
        self.pre_roll = deque(maxlen=frames(self.config.pre_roll_ms) + max(1, frames(self.config.min_speech_ms)))

    # ------------------------------------------------------------------------------------------------------- input

    def append(self, payload: bytes) -> None:
        """Take audio at the request's own rate."""
        self._keep(self.resampler.feed(payload) if self.resampler else payload)

    def commit(self) -> None:
        """End the turn at the end of what was appended so far."""
        if len(self.commits) == MAX_COMMITS:
            raise LimitReached("ears.commits", MAX_COMMITS)
        if self.resampler:
            self._keep(self.resampler.flush())
        self.commits.append(self.taken + len(self.pcm) // 2)
        self.by_hand = 0

    def _keep(self, pcm: bytes) -> None:
        if len(self.pcm) + len(pcm) > 2 * HEARD_HZ * INPUT_S:
            raise LimitReached("ears.input_s", INPUT_S)
        self.by_hand += len(pcm) // 2
        if self.config.manual and self.by_hand > HEARD_HZ * MANUAL_S:
            raise LimitReached("ears.manual_s", MANUAL_S)
        self.pcm += pcm

    # ---------------------------------------------------------------------------------------------------- detector

    @property
    def before_commit(self) -> int | None:
        """Samples until the next commit."""
        return self.commits[0] - self.taken if self.commits else None

    @property
    def may_hear(self) -> bool:
        """Whether the detector may go on."""
        return None not in self.backlog and len(self.backlog) < BACKLOG_CHUNKS

    @property
    def has_chunk(self) -> bool:
        """Whether a whole chunk waits for the detector."""
        left = self.before_commit
        return self.may_hear and len(self.pcm) >= CHUNK_BYTES and (left is None or left >= FRAME_SAMPLES)

    @property
    def must_commit(self) -> bool:
        """Whether the detector has come to a commit: less than a chunk is left before it."""
        left = self.before_commit
        return self.may_hear and left is not None and left < FRAME_SAMPLES

    def chunk(self) -> bytes:
        """Look at the next chunk."""
        return bytes(self.pcm[:CHUNK_BYTES])

    def judge(self, probability: float) -> list[StageOutput]:
        """Take the next chunk, which was judged as ``probability``, out of the input and into the turn."""
        if self.config.manual:
            self.backlog.append(self._take(FRAME_SAMPLES))  # heard, whatever the detector thinks
            return []
        speaking, cut, chunk = self.turn.speaking, self.turn.judge(probability), self._take(FRAME_SAMPLES)
        (self.backlog if speaking else self.pre_roll).append(chunk)
        if cut is Cut.STARTED:
            return [self._started()]
        return [self._stopped()] if cut is Cut.STOPPED else []

    def end_turn(self) -> list[StageOutput]:
        """Come to a commit. Speech too short to begin a turn by itself begins it now; silence gets an empty answer."""
        if self.config.manual:
            return self._end_by_hand()
        if rest := self._take(self.commits.popleft() - self.taken):
            (self.backlog if self.turn.speaking else self.pre_roll).append(rest)
        self.committed = True
        outputs = [self._started()] if self.turn.candidate else []
        if outputs or self.turn.speaking:
            outputs.append(self._stopped())
        else:
            self.backlog.append(None)
        self.pre_roll.clear()
        self.turn.reset()
        return outputs

    def _end_by_hand(self) -> list[StageOutput]:
        if rest := self._take(self.commits.popleft() - self.taken):
            self.backlog.append(rest)
        self.committed = True
        self.backlog.append(None)
        return []

    def _take(self, samples: int) -> bytes:
        taken = bytes(self.pcm[: 2 * samples])
        del self.pcm[: 2 * samples]
        self.taken += samples
        return taken

    def _started(self) -> StageOutput:
        at = self.taken - sum(map(len, self.pre_roll)) // 2
        self.backlog.extend(self.pre_roll)
        self.pre_roll.clear()
        return self._output("speech_started", at)

    def _stopped(self) -> StageOutput:
        self.backlog.append(None)
        return self._output("speech_stopped", self.taken)

    def _output(self, kind: OutputKind, at: int, payload: bytes = b"") -> StageOutput:
        return StageOutput(self.request_id, kind, payload, at_ms=at * 1000 // HEARD_HZ)

    # ----------------------------------------------------------------------------------------------------- decoder

    def decode(self) -> StageOutput | None:
        """Let the decoder hear one chunk, or end its utterance, which gives the transcript of the turn."""
        chunk = self.backlog.popleft()
        if chunk is not None:
            self.decoder.feed(chunk)
            return None
        reason, self.committed = "commit" if self.committed else "", False
        heard = self._output("transcript", self.taken, self.decoder.end().encode())
        return replace(heard, reason=reason)

    @property
    def held_bytes(self) -> int:
        """What this request holds, its decoder apart."""
        waiting = sum(len(chunk or b"") for chunk in (*self.pre_roll, *self.backlog))
        return STATE_BYTES + len(self.pcm) + waiting
