"""Each check about a killed worker passes on a true story, and fails on the same story with one thing untrue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from interlock.demo import checks_of_a_kill as kill
from interlock.demo.checks import CHECKS, Check, verdicts
from interlock.demo.checks_of_a_kill import CHECKS_OF_A_KILL
from interlock.demo.evidence import Evidence, Received
from interlock.demo.strike import Worker
from tests.demo.story import told

Tamper = Callable[[Evidence], Evidence]


def done_as(response_id: str, **changed: Any) -> Tamper:
    """Let the ``response.done`` of a response say something else."""

    def tamper(evidence: Evidence) -> Evidence:
        def one(r: Received) -> Received:
            is_it = r.kind == "response.done" and r.response_id == response_id
            return r._replace(event={**r.event, **changed}) if is_it else r

        return replace(evidence, received=[one(r) for r in evidence.received])

    return tamper


def heard_more(evidence: Evidence) -> Evidence:
    event = {"type": "response.output_audio.delta", "response_id": "rk", "server_event_seq": 999, "delta": ""}
    return replace(evidence, received=[*evidence.received, Received(99.0, "A", 1, event)])


def without_audio_of(response_id: str) -> Tamper:
    """Let the server have made no audio of a response."""

    def is_of(record: Any) -> bool:
        return str(record["event"].get("request_id", "")) == f"{response_id}.voice"

    return lambda evidence: replace(evidence, trace=[r for r in evidence.trace if not is_of(r)])


def detached_by_it(evidence: Evidence) -> Evidence:
    """Let the attachment be lost while the next reply is made."""
    row = {
        "machine": "attachment",
        "key": None,
        "event": {"type": "TransportLost"},
        "from": "ATTACHED",
        "to": "DETACHED",
        "row": 0,
    }
    failed = next(i for i, r in enumerate(evidence.trace) if r["event"]["type"] == "RequestLost")
    record = {**evidence.trace[failed], "event": {"type": "TransportLost"}, "rows": [row]}
    return replace(evidence, trace=[*evidence.trace[: failed + 1], record, *evidence.trace[failed + 1 :]])


def revived_as(worker: Worker | None) -> Tamper:
    return lambda evidence: replace(evidence, revived=worker)


TAMPERED: list[tuple[Check, Tamper]] = [
    (kill.killed_reply_failed, done_as("rk", response={"status": "completed"})),
    (kill.killed_reply_failed, done_as("rk", reason="")),
    (kill.killed_reply_failed, heard_more),
    (kill.killed_reply_failed, without_audio_of("rk")),
    (kill.session_outlived_its_worker, detached_by_it),
    (kill.session_outlived_its_worker, lambda evidence: replace(evidence, trace=[])),
    (kill.worker_came_back, revived_as(None)),
    (kill.worker_came_back, revived_as(Worker("voice", "READY", 1, 100))),
    (kill.worker_came_back, revived_as(Worker("voice", "STARTING", 2, 200))),
    (kill.next_turn_was_answered, done_as("r5", response={"status": "failed"})),
    (kill.next_turn_was_answered, without_audio_of("r5")),
]


def test_a_true_story_passes() -> None:
    wrong = [verdict for verdict in verdicts(told(kills=True), (*CHECKS, *CHECKS_OF_A_KILL)) if not verdict.ok]
    assert wrong == []


@pytest.mark.parametrize(("check", "tamper"), TAMPERED)
def test_a_check_fails_where_its_point_is_untrue(check: Check, tamper: Tamper) -> None:
    assert check(told(kills=True)).ok
    assert not check(tamper(told(kills=True))).ok


def test_every_check_was_tampered_with() -> None:
    assert {check for check, _ in TAMPERED} == set(CHECKS_OF_A_KILL)
