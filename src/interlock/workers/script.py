"""One scripted stage: what it does by itself, and what a test makes it do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from interlock.runtime.ports import (
    Aborted,
    AbortRefused,
    Accepted,
    Consumed,
    Failed,
    Finished,
    Output,
    Refused,
    Reply,
)
from interlock.wire.outbound import encode
from interlock.workers.protocol import Abort, Append, Finish, Order, Stop, Submit

FRAME_S = 0.04
"""One frame of audio is 40 ms long,"""

FRAME_SAMPLES = 960
"""and has so many samples, at 24 kHz."""

TOGETHER = 14
"""So many frames are handed over at once, where many are."""

Answer: TypeAlias = Callable[[float | None, Callable[[], None]], None]
"""Does something: at once, inside the call, for ``None``; else after so many seconds, 0 being the next turn."""


@lru_cache(maxsize=256)
def _hum(level: int, samples: int) -> bytes:
    return level.to_bytes(2, "little") * samples


@dataclass
class Script:
    """What a stage does by itself. A test may change it at any time; what has begun goes on as it was."""

    submit: Literal["accept", "refuse", "hang", "fail"] = "accept"
    abort: Literal["confirm", "refuse", "hang"] = "confirm"
    abort_failures: int = 0
    """So many aborts are refused first, whatever ``abort`` says."""
    delay_s: float | None = 0.0
    """When answers come: ``None`` is inside the call, re-entrantly; 0 is the next turn of the loop."""
    takes_input: bool = True
    """Whether ``Consumed`` answers each append; if not, :meth:`ScriptedStage.consume` does."""
    capacity: int = 1_000_000
    begins: Literal["submit", "input", "finish"] = "submit"
    """What sets off the texts and frames below."""
    texts: tuple[str, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    """Function calls, each a name and its arguments, after the texts."""
    tokens: tuple[int, int] | None = None
    """What it says that it used, of input and of output, after the calls."""
    frames: int = 0
    """So many frames of audio follow, one each ``pace_s``,"""
    ahead: int = 1
    """the first so many at once."""
    pace_s: float = FRAME_S
    """From one frame to the next; 0 is the next turn of the loop."""
    samples: int = FRAME_SAMPLES
    """In one frame."""
    together: int = TOGETHER
    """So many frames are said in one breath, of those that come at once."""
    ends: bool = True
    """Whether ``Finished`` follows the last of them, if there was any; else :meth:`ScriptedStage.finish` says it."""
    transcript: str | None = None
    """A stage that listens: a commit after anything that was not silence is answered by this text, else by none."""


@dataclass
class ScriptedRequest:
    """What the stage holds of one request."""

    request_id: str
    epoch: int
    params: dict[str, Any]
    input_bytes: int = 0
    unconsumed: list[int] = field(default_factory=list)
    heard: bool = False
    begun: bool = False


class ScriptedStage:
    """One incarnation after another of one stage. Whatever a test calls happens at once, in order."""

    def __init__(self, name: str, script: Script, say: Callable[..., None], answer: Answer) -> None:
        self.name = name
        self.script = script
        self.incarnation = 0
        self.condition: Literal["absent", "ready", "lost", "gone"] = "absent"
        self.held: dict[str, ScriptedRequest] = {}
        self._epochs: dict[str, int] = {}
        self._say = say
        self._answer = answer

    def take(self, order: Order) -> None:
        """Do with an order what the script says."""
        match order:
            case Submit():
                self._submit(order)
            case Append(request_id, payload):
                self._append(request_id, payload)
            case Finish(request_id):
                self._commit(request_id)
            case Abort(request_ids):
                for request_id in request_ids:
                    self._abort(request_id)
            case Stop():
                pass

    def accept(self, request_id: str) -> None:
        """Answer a submit that hangs."""
        self.reply(Accepted(request_id))
        self._begin(request_id, "submit")

    def refuse(self, request_id: str, reason: str = "scripted") -> None:
        """Refuse a submit that hangs: the stage holds nothing of it."""
        self.held.pop(request_id, None)
        self.reply(Refused(request_id, reason))

    def fail(self, request_id: str, reason: str = "scripted") -> None:
        """Fail a request; what it holds, it holds until it is aborted."""
        self.reply(Failed(request_id, reason))

    def output(self, request_id: str, kind: str, payload: bytes = b"", at_ms: int = 0, reason: str = "") -> None:
        """Make something, for a request that is held, or, late, for one that was."""
        self.reply(Output(request_id, self._epochs[request_id], kind, payload, at_ms, reason))

    def audio(self, request_id: str, index: int = 0) -> None:
        """Make one frame of audio: as good as silent, and every one a little different."""
        self.reply(self._audio(request_id, index))

    def hear(self, request_id: str, kind: Literal["speech_started", "speech_stopped"], at_ms: int = 0) -> None:
        """Notice that the user begins or ends to speak."""
        self.output(request_id, kind, b"", at_ms)

    def say(self, request_id: str, transcript: str, at_ms: int = 0, reason: str = "") -> None:
        """Understand what the user said; ``reason`` is "commit" where a commit ended the turn."""
        self.output(request_id, "transcript", transcript.encode(), at_ms, reason)

    def finish(self, request_id: str) -> None:
        """Finish a request: the stage holds nothing of it any more."""
        self.held.pop(request_id, None)
        self.reply(Finished(request_id))

    def consume(self, request_id: str) -> None:
        """Take the input that waits."""
        waiting = self.held[request_id].unconsumed
        while waiting:
            self.reply(Consumed(request_id, waiting.pop(0)))

    def confirm(self, request_id: str) -> None:
        """Confirm an abort, late."""
        self.held.pop(request_id, None)
        self.reply(Aborted(request_id))

    def refuse_abort(self, request_id: str, reason: str = "scripted") -> None:
        """Say that the clean-up did not work."""
        self.reply(AbortRefused(request_id, reason))

    def reply(self, *replies: Reply) -> None:
        """Say anything at all, true or not."""
        self._say(self.name, self.incarnation, *replies)

    def _submit(self, order: Submit) -> None:
        request_id, script = order.request_id, self.script
        self._epochs[request_id] = order.epoch
        if script.submit == "refuse" or len(self.held) >= script.capacity:
            self._soon(lambda: self.refuse(request_id, "scripted" if script.submit == "refuse" else "full"))
            return
        self.held[request_id] = ScriptedRequest(request_id, order.epoch, order.params)
        if script.submit == "accept":
            self._soon(lambda: self.accept(request_id))
        elif script.submit == "fail":
            self._soon(lambda: self.fail(request_id))

    def _append(self, request_id: str, payload: bytes) -> None:
        request = self.held.get(request_id)
        if request is not None:
            request.input_bytes += len(payload)
            if not self.script.takes_input:
                request.unconsumed.append(len(payload))
                return
        self._soon(lambda: self.reply(Consumed(request_id, len(payload))))
        if request is not None:
            self._listen(request, payload)
            self._soon(lambda: self._begin(request_id, "input"))

    def _listen(self, request: ScriptedRequest, payload: bytes) -> None:
        if self.script.transcript is not None and not request.heard and payload.strip(b"\0"):
            request.heard = True
            if request.params.get("manual"):
                return
            self._soon(lambda: self._while_held(request, lambda: self.hear(request.request_id, "speech_started")))

    def _commit(self, request_id: str) -> None:
        request = self.held.get(request_id)
        if request is None:
            return
        self._soon(lambda: self._begin(request_id, "finish"))
        if self.script.begins == "input" and self.script.frames and self.script.ends:
            self._soon(lambda: self._end_without_input(request))
        if self.script.transcript is not None:
            self._soon(lambda: self._while_held(request, lambda: self._understand(request)))

    def _end_without_input(self, request: ScriptedRequest) -> None:
        """A stage that waits for input, and gets none, has nothing to make."""
        if not request.begun and self.held.get(request.request_id) is request:
            self.finish(request.request_id)

    def _understand(self, request: ScriptedRequest) -> None:
        if request.heard and not request.params.get("manual"):
            self.hear(request.request_id, "speech_stopped")
        self.say(request.request_id, (self.script.transcript or "") if request.heard else "", reason="commit")
        request.heard = False

    def _abort(self, request_id: str) -> None:
        if self.script.abort_failures > 0:
            self.script.abort_failures -= 1
            self._soon(lambda: self.refuse_abort(request_id))
        elif self.script.abort == "confirm":
            self._soon(lambda: self.confirm(request_id))
        elif self.script.abort == "refuse":
            self._soon(lambda: self.refuse_abort(request_id))

    def _begin(self, request_id: str, by: str) -> None:
        request, script = self.held.get(request_id), self.script
        if (
            request is None
            or request.begun
            or script.begins != by
            or not (script.texts or script.calls or script.frames)
        ):
            return
        request.begun = True
        for text in script.texts:
            self.output(request_id, "text", text.encode())
        for name, arguments in script.calls:
            self.output(request_id, "function_call", encode({"name": name, "arguments": arguments}))
        if script.tokens is not None:
            used = dict(zip(("input_tokens", "output_tokens"), script.tokens, strict=True))
            self.output(request_id, "usage", encode(used))
        self._frame(request, 0, script.frames, script.ahead, script.ends)

    def _frame(self, request: ScriptedRequest, index: int, frames: int, ahead: int, ends: bool) -> None:
        """Make one frame, or the first ``ahead``; end with the last, or come back in 40 ms."""
        if self.held.get(request.request_id) is not request:
            return
        now = min(frames, max(index + 1, ahead))
        for start in range(index, now, self.script.together):
            end = min(start + self.script.together, now)
            self.reply(*(self._audio(request.request_id, made) for made in range(start, end)))
        if now < frames:
            self._answer(self.script.pace_s, lambda: self._frame(request, now, frames, ahead, ends))
        elif ends:
            self.finish(request.request_id)

    def _audio(self, request_id: str, index: int) -> Output:
        samples = self.script.samples
        pcm = _hum(index % 64 + 1, samples)
        return Output(request_id, self._epochs[request_id], "audio", pcm, round(index * samples / 24))

    def _while_held(self, request: ScriptedRequest, do: Callable[[], None]) -> None:
        if self.held.get(request.request_id) is request:
            do()

    def _soon(self, do: Callable[[], None]) -> None:
        incarnation = self.incarnation

        def unless_gone() -> None:
            if incarnation == self.incarnation and self.condition != "gone":
                do()

        self._answer(self.script.delay_s, unless_gone)
