"""What is assumed about runs: which things happen in the end, and which moves are not the clients'."""

from __future__ import annotations

FAIRNESS = {
    "GraceExpired": "an armed timer fires",
    "CleanupOverdue": "an armed timer fires",
    "ReserveOverdue": "an armed timer fires",
    "SubmitOverdue": "an armed timer fires",
    "AbortOverdue": "an armed timer fires",
    "RetryDue": "an armed timer fires",
    "HelloWritten": "a write to a transport ends, or the transport breaks",
    "FramesWritten": "a write to a transport ends, or the transport breaks",
    "CaughtUp": "a writer that has nothing more to send says so",
    "LinkClosed": "a transport that is owed a close is closed",
    "CallerReturned": "a caller that has its answer returns",
    "PreparedWell": "the pipeline answers",
    "OrderTaken": "a stage answers a submit in the end",
    "WorkDone": "a stage finishes in the end",
    "AbortTaken": "a stage that is asked to clean up again and again confirms in the end",
    "Disowned": "a stage that holds nothing of a request says so in the end",
    "IdleDue": "an armed timer fires",
    "Died": "a worker that is silent is waited for in the end",
}
"""By the first word of a fair action: the assumption."""

SYSTEM = frozenset(
    {
        "HelloWritten", "FramesWritten", "CaughtUp", "LinkClosed", "LinkBroke", "PreparedWell", "PreparedBadly",
        "CallerReturned", "Assigned", "OrderTaken", "OrderRefused", "WorkDone", "WorkFailed", "AbortTaken",
        "AbortBotched", "WorkForgotten", "Disowned", "OutputMade", "Died", "CameBack",
        "GraceExpired", "CleanupOverdue", "ReserveOverdue", "SubmitOverdue", "AbortOverdue", "RetryDue", "IdleDue",
    }
)  # fmt: skip
"""Moves that are made while the clients are quiet."""
