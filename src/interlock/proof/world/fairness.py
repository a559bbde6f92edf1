"""What is assumed about runs: which things happen in the end, and which moves are not the clients'."""

from __future__ import annotations

TIMED = frozenset({"GraceExpired", "CleanupOverdue", "ReserveOverdue", "SubmitOverdue", "AbortOverdue", "RetryDue"})
"""Timers: each fires if its state lasts. An idle timer is none of them: a client that speaks is never idle."""

FAIRNESS = dict.fromkeys(sorted(TIMED), "an armed timer fires, if the state that it belongs to lasts") | {
    "HelloWritten": "the transport that carries the claim is written to in the end: takeovers are not for ever faster",
    "FramesWritten": "the transport that carries the claim is written to in the end",
    "CaughtUp": "a writer that has nothing more to send, again and again, says so",
    "LinkClosed": "a transport that is owed a close is closed",
    "CallerReturned": "a caller that has its answer returns",
    "PreparedWell": "the pipeline answers",
    "OrderTaken": "a stage answers a submit in the end",
    "WorkDone": "a stage finishes in the end",
    "AbortTaken": "a stage that is asked to clean up again and again confirms in the end",
    "Disowned": "a stage that holds nothing of a request says so in the end",
    "Died": "a worker that is silent is waited for in the end",
}
"""By the first word of a fair action: the assumption. All but timers: what is possible again and again happens."""

SYSTEM = frozenset(
    {
        "HelloWritten", "FramesWritten", "CaughtUp", "LinkClosed", "LinkBroke", "PreparedWell", "PreparedBadly",
        "CallerReturned", "Assigned", "OrderTaken", "OrderRefused", "WorkDone", "WorkFailed", "AbortTaken",
        "AbortBotched", "WorkForgotten", "Disowned", "OutputMade", "Died", "CameBack",
        "GraceExpired", "CleanupOverdue", "ReserveOverdue", "SubmitOverdue", "AbortOverdue", "RetryDue", "IdleDue",
    }
)  # fmt: skip
"""Moves that are made while the clients are quiet."""
