"""The echo agent's model stage: it says back what it heard, in pieces, as a language model would. Deterministic."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from interlock.errors import LimitReached
from interlock.workers.speech.slots import admit
from interlock.workers.stage import StageOutput, StageRequest

PROMPT = "You said:"
"""How a reply begins: two words, then the user's own."""

NOT_HEARD = "I did not hear you."

MAX_BYTES = 8_192
"""The longest transcript that is answered."""


def reply(heard: str) -> str:
    """Word the reply to a transcript; an empty one has an answer too."""
    words = " ".join(heard.split())
    return f"{PROMPT} {words}." if words else NOT_HEARD


def pieces(text: str) -> list[str]:
    """Cut a reply into pieces of two words. Joined, they are the reply."""
    words = text.split(" ")
    pairs = [" ".join(words[start : start + 2]) for start in range(0, len(words), 2)]
    return [pairs[0], *(f" {pair}" for pair in pairs[1:])]


@dataclass(slots=True)
class _Thought:
    """One request: what it was given, and what it still has to say (``None`` until the input is complete)."""

    given: bytearray = field(default_factory=bytearray)
    unsaid: deque[str] | None = None

    def take(self, payload: bytes) -> None:
        if len(self.given) + len(payload) > MAX_BYTES:
            raise LimitReached("mind.input_bytes", MAX_BYTES)
        if self.unsaid is None:
            self.given += payload

    def conclude(self) -> None:
        if self.unsaid is None:
            self.unsaid = deque(pieces(reply(self.given.decode("utf-8", "replace"))))


class Mind:
    """Answers each request with ``text`` outputs, one piece a step, then ``finished``.

    The transcript is ``params["text"]``, and the answer begins at once; or, without that, it is appended as UTF-8 text,
    and ``finish`` begins the answer. ``open`` and ``append`` raise ``LimitReached`` for more than 8 KB.
    """

    def __init__(self, *, capacity: int = 64) -> None:
        self._capacity = capacity
        self._thoughts: dict[str, _Thought] = {}

    @property
    def capacity(self) -> int:
        """How many requests may be open at once."""
        return self._capacity

    def open(self, request: StageRequest) -> None:
        """Take a slot, and begin the answer where the parameters have the transcript."""
        admit(self._thoughts, request.request_id, self._capacity, "mind")
        thought = _Thought()
        if "text" in request.params:
            thought.take(str(request.params["text"]).encode())
            thought.conclude()
        self._thoughts[request.request_id] = thought

    def append(self, request_id: str, payload: bytes, now: float) -> None:
        """Take more of the transcript; it is dropped where the answer has begun or the request has ended."""
        if thought := self._thoughts.get(request_id):
            thought.take(payload)

    def finish(self, request_id: str, now: float) -> None:
        """Begin the answer, unless it has begun."""
        if thought := self._thoughts.get(request_id):
            thought.conclude()

    def step(self, now: float) -> Sequence[StageOutput]:
        """Say the next piece of every answer."""
        answering = [request_id for request_id, each in self._thoughts.items() if each.unsaid is not None]
        return [self._next(request_id) for request_id in answering]

    def _next(self, request_id: str) -> StageOutput:
        if unsaid := self._thoughts[request_id].unsaid:
            return StageOutput(request_id, "text", unsaid.popleft().encode())
        self.close(request_id)
        return StageOutput(request_id, "finished")

    def due(self, now: float) -> float | None:
        """At once while there is an answer to give."""
        return 0.0 if any(thought.unsaid is not None for thought in self._thoughts.values()) else None

    def close(self, request_id: str) -> None:
        """Forget the request."""
        self._thoughts.pop(request_id, None)

    def held(self) -> Mapping[str, int]:
        """Slots, and bytes of text: given, and not said yet."""
        thoughts = self._thoughts.values()
        size = sum(len(each.given) + sum(map(len, each.unsaid or ())) for each in thoughts)
        return {"slots": len(thoughts), "bytes": size}
