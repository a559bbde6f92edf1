"""A small story that a demo could have lived through: two whole replies, one that was talked over, one taken over.

Evidence for the checks to look at, true in every point; each test makes one point false.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

from interlock.demo.evidence import Evidence, Received, Turn
from interlock.demo.strike import Worker

SESSION = "sess_x"


class Story:
    """Writes the server's trace and what the clients received, side by side."""

    def __init__(self) -> None:
        self.trace: list[dict[str, Any]] = []
        self.received: list[Received] = []
        self.client, self.connection = "A", 1
        self.head = 0

    def record(self, kind: str, *rows: tuple[str, str | None, str, str, str], **fields: Any) -> dict[str, Any]:
        """Add a record of the server's. A row is machine, key, event, from, to."""
        named = [
            {"machine": machine, "key": key, "event": {"type": event}, "from": start, "to": end, "row": 0}
            for machine, key, event, start, end in rows
        ]
        event = {"type": kind, **fields}
        record = {"at": float(len(self.trace)), "session": SESSION, "event": event, "rows": named}
        self.trace.append(record | {"journal": [self.head, self.head, 0]})
        return self.trace[-1]

    def read(self, kind: str, **fields: Any) -> None:
        """Let the client of the moment read an event."""
        event = {"type": kind, **fields}
        self.received.append(Received(float(len(self.trace)), self.client, self.connection, event))

    def lifecycle(self, kind: str, record: tuple[str, str | None, str, str, str], cause: str, **fields: Any) -> None:
        """Sequence one event of a machine, and deliver it."""
        self.head += 1
        self.record(cause, record)
        self.read(kind, server_event_seq=self.head, **fields)

    def begin(self, reply: str) -> None:
        """Begin a reply."""
        row = ("response", reply, "ResponseRequested", "", "REQUESTED")
        self.lifecycle("response.created", row, "TurnHeard", response_id=reply)

    def audio(self, reply: str, count: int) -> None:
        """Say so many frames of 100 ms."""
        for _ in range(count):
            self.head += 1
            self.record("Produced", request_id=f"{reply}.voice", incarnation=1, epoch=1, ms=100.0)
            delta = base64.b64encode(b"\0\1" * 2400).decode()
            self.read("response.output_audio.delta", server_event_seq=self.head, response_id=reply, delta=delta)

    def end(self, reply: str, status: str = "completed") -> None:
        """End a reply."""
        cause = "ResponseInterrupted" if status == "cancelled" else "StageFinished"
        row = ("response", reply, cause, "DRAINING", status.upper())
        kind = "InterruptRequested" if status == "cancelled" else "RequestFinished"
        response = {"status": status}
        self.lifecycle("response.done", row, kind, response_id=reply, response=response)

    def fail(self, reply: str) -> None:
        """End a reply whose worker is no more."""
        self.lifecycle(
            "response.done",
            ("response", reply, "StageFailed", "DRAINING", "FAILED"),
            "RequestLost",
            response_id=reply,
            response={"status": "failed"},
            reason="worker_lost",
        )

    def attach(self, cause: str, start: str) -> None:
        """Let a transport claim the session."""
        self.record(cause, ("attachment", None, cause, start, "ACTIVATING"))


def told(*, kills: bool = False) -> Evidence:
    """Return the whole story, as evidence; with ``kills``, one in which the worker that spoke was killed."""
    story = Story()
    story.attach("Opened", "DETACHED")
    for reply, count, status in (("r1", 10, "completed"), ("r2", 4, "cancelled")):
        story.begin(reply)
        story.audio(reply, count)
        story.end(reply, status)
    story.begin("r3")
    story.audio("r3", 3)
    story.record("TransportLost", ("attachment", None, "TransportLost", "ATTACHED", "DETACHED"))
    story.attach("ResumeRequested", "DETACHED")
    story.connection = 2
    story.audio("r3", 7)
    story.end("r3")
    if kills:
        story.begin("rk")
        story.audio("rk", 3)
        story.fail("rk")
        story.begin("r5")
        story.audio("r5", 10)
        story.end("r5")
    story.begin("r4")
    story.audio("r4", 3)
    handed_over = story.head
    story.attach("ResumeRequested", "ATTACHED")
    story.read("session.replaced", attachment_generation=3)
    story.client, story.connection = "B", 1
    story.audio("r4", 7)
    story.end("r4")
    story.lifecycle("session.closed", ("attachment", None, "SessionEnded", "ATTACHED", "CLOSED"), "CloseRequested")
    evidence = evidence_of(story, handed_over)
    return with_a_kill(evidence) if kills else evidence


def with_a_kill(evidence: Evidence) -> Evidence:
    """Add what is known of the worker that was killed, and of the turns about it."""
    *before, last = evidence.turns
    more = [Turn("word x", "rk"), Turn("word x", "r5", "you said word x", 1000.0)]
    return replace(
        evidence,
        turns=[*before, *more, last],
        failed="rk",
        killed=Worker("voice", "READY", 1, 100),
        revived=Worker("voice", "READY", 2, 200),
    )


def evidence_of(story: Story, handed_over: int) -> Evidence:
    """Put a story together with all that goes well around it."""
    held = {"requests": 0, "slots": 0, "journal_bytes": 0, "owed": []}
    spoken = [Turn(f"word {name}", name, f"you said word {name}", 1000.0) for name in ("r1", "r2", "r3", "r4")]
    return Evidence(
        received=story.received,
        trace=story.trace,
        turns=[
            turn._replace(words=turn.words.replace(turn.response_id, "x"), recognised="you said word x")
            for turn in spoken
        ],
        cancelled="r2",
        torn="r3",
        taken_over="r4",
        handed_over=handed_over,
        parted="closed with 4001",
        ended={"A": "replaced", "B": "closed"},
        books=held,
        stopped={"owed": [], "defects": []},
        longest_stall_ms=20.0,
    )
