"""What the demo verifies besides when a worker was killed in mid-reply: one reply is lost, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from interlock.demo.checks import Check, Verdict
from interlock.demo.evidence import DELTAS, Evidence, Record, Turn, find, made, moves


def killed_reply_failed(evidence: Evidence) -> Verdict:
    """The response whose worker was killed in mid-reply was ended once, as failed, with the reason, and for good."""
    of_it = [r for r in evidence.received if r.response_id == evidence.failed]
    ends = [index for index, r in enumerate(of_it) if r.kind == "response.done"]
    late = [r.seq for r in of_it[ends[0] + 1 :] if r.kind in DELTAS] if ends else []
    told = [(r.event["response"]["status"], r.event.get("reason", "")) for r in map(of_it.__getitem__, ends)]
    heard_ms = sum(ms for _, ms in made(evidence.trace, evidence.failed))
    detail = f"{heard_ms / 1000:.2f} s had been sequenced; response.done {told}; deltas after it: {late}"
    sentence = "the reply whose worker was killed in mid-reply failed once, and says why"
    return Verdict(sentence, told == [("failed", "worker_lost")] and heard_ms > 0 and not late, detail)


def session_outlived_its_worker(evidence: Evidence) -> Verdict:
    """From the failure on until the next reply was over, the session and its attachment moved nowhere."""
    trace = evidence.trace
    failed = find(trace, "response", evidence.failed, "StageFailed")
    after = next((t.response_id for t in _after(evidence)), "")
    answered = _end_of(trace, after)
    moved = [m for m in moves(trace[failed : answered + 1]) if m.machine in ("session", "attachment", "lease")]
    detail = f"{answered - failed} records from the failure to the end of the next reply; moved: {moved or 'nothing'}"
    sentence = "the session outlived its worker: it stayed open and attached"
    return Verdict(sentence, 0 <= failed < answered and not moved, detail)


def worker_came_back(evidence: Evidence) -> Verdict:
    """Another process took the place of the one that was killed."""
    before, after = evidence.killed, evidence.revived
    sentence = "another process took the place of the one that was killed"
    if before is None or after is None:
        return Verdict(sentence, False, f"{before} -> {after}")
    ok = after.state == "READY" and after.incarnation > before.incarnation and after.pid != before.pid
    told = f"{before.stage}: process {before.pid}, then {after.pid}, {after.state}, incarnation {after.incarnation}"
    return Verdict(sentence, ok, told)


def next_turn_was_answered(evidence: Evidence) -> Verdict:
    """What the user said next was answered to the end, in audio."""
    ends = {r.response_id: str(r.event["response"]["status"]) for r in evidence.received if r.kind == "response.done"}
    turn = next(iter(_after(evidence)), Turn("nothing", ""))
    heard_ms = sum(ms for _, ms in made(evidence.trace, turn.response_id))
    detail = f'"{turn.words}": {ends.get(turn.response_id, "no response")}, {heard_ms / 1000:.2f} s of audio'
    ok = ends.get(turn.response_id) == "completed" and heard_ms > 0
    return Verdict("what was said next was answered to the end", ok, detail)


CHECKS_OF_A_KILL: Final[Sequence[Check]] = (
    killed_reply_failed,
    session_outlived_its_worker,
    worker_came_back,
    next_turn_was_answered,
)
"""What is asked beside the rest when a worker was killed."""


def _after(evidence: Evidence) -> Iterator[Turn]:
    """Yield the turns after the one whose worker was killed."""
    names = [turn.response_id for turn in evidence.turns]
    return iter(evidence.turns[names.index(evidence.failed) + 1 :] if evidence.failed in names else ())


def _end_of(trace: Sequence[Record], response_id: str) -> int:
    """Return the index of the record in which a response ended; -1 if it did not."""
    over = ("COMPLETED", "FAILED", "CANCELLED")
    for index, record in enumerate(trace):
        if any(moved.key == response_id and moved.end in over for moved in moves([record])):
            return index
    return -1
