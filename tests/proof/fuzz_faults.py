"""Thirteen faults as one might make them in the runtime or the books, each planted for as long as a block runs.

Each is one line's worth: a check forgotten, an order not given, a mark moved too far. No static rule sees any of them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from interlock.proof.fuzz import FLAT
from interlock.proof.fuzz_campaign import fuzz
from interlock.proof.fuzz_schedule import as_text
from interlock.runtime import acts, hear
from interlock.runtime.beside import Timer
from interlock.runtime.deadlines import Deadlines
from interlock.runtime.delivery import Delivery
from interlock.runtime.driver import Driver
from interlock.runtime.ports import Consumed
from interlock.runtime.writer import TrioWriter
from interlock.session import books, decide, facts
from interlock.session.books import Acknowledged, InputReleased, Produced
from interlock.session.credential import Credential
from interlock.session.value import Value
from interlock.tables import messages as m


def attribute(owner: Any, name: str, fault: Callable[..., Any]) -> tuple[Any, str, Any, Any]:
    """Say what is replaced by what."""
    return owner, name, getattr(owner, name), fault


def produced(value: Value, event: Produced) -> Value:
    """Sequence a delta of whatever epoch: the stale check is gone."""
    cell = value.cells.get(("request", event.request_id))
    if cell is None or not cell.data.response_id or value.state("session") != "OPEN":
        return value._replace(stale=value.stale + 1)
    return value._replace(journal=value.journal._replace(head=value.journal.head + 1))


def acknowledged(value: Value, event: Acknowledged) -> Value:
    """Trim all that was ever handed over, and not only what the client has."""
    after = books.acknowledged(value, event)
    if event.generation != value.generation:
        return after
    return after._replace(journal=after.journal._replace(trimmed=max(after.journal.trimmed, after.journal.handed)))


def void_output(driver: Driver, effect: Any) -> tuple[list[int], list[int]]:
    """Free nothing."""
    return [], []


def land(self: Driver, claim: int) -> None:
    """Forget the caller, and do not tell the machines that it was cancelled."""
    self.offers.pop(claim, None)


def rotate(credential: Credential, token: bytes, fresh: bytes, head: int) -> Credential:
    """Forget the token that was presented, before anybody has proved the new one."""
    return Credential(fresh, None, head)


def opens(credential: Credential, token: bytes, seen: set[bytes] = set()) -> bool:  # noqa: B006 - it is to remember
    """Take any token that was ever good."""
    seen |= {credential.current, credential.presented or b""} - {b""}
    return token in seen


def evict(self: Delivery, at_once: bool) -> None:
    """Retire the writer, and set no deadline to it."""
    self.mode, self.reason = "evicted", "session_replaced"


def disarm(self: Deadlines[Any], key: Any) -> None:
    """Leave the deadline of a state that was left."""


def delivered(self: Driver, delivery: Delivery) -> None:
    """Forget the writer, and do not tell the books that its transport is closed."""
    self.deliveries.pop(delivery.generation, None)


def consumed(driver: Driver, reply: Consumed) -> None:
    """Give the room of input back twice."""
    held = driver.inputs.get(reply.request_id)
    if held is not None:
        held.queued_bytes -= reply.size
        driver.dispatch(InputReleased(reply.size))
        driver.dispatch(InputReleased(reply.size))


def flush(self: TrioWriter) -> None:
    """Do not wake the writer for what a stage has said."""


def start_delivery(driver: Driver, started: Callable[[Driver], None] = acts.start_delivery) -> None:
    """Begin the replay one frame late."""
    started(driver)
    delivery = driver.deliveries[driver.value.generation]
    delivery.cursor += delivery.generation > 1


def answer_claim(driver: Driver, effect: Any, answered: Callable[..., None] = acts.answer_claim) -> None:
    """Let a refused resume begin the grace anew."""
    answered(driver, effect)
    if isinstance(effect, m.RefuseResume) and driver.value.state("lease") == "GRACE":
        driver.host.deadlines.arm(Timer(driver.session_id, "lease", None, m.GraceExpired), driver.settings.grace_s)


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Run a block with one fault in the code."""
    owner, attribute, before, fault = FAULTS[name]
    _set(owner, attribute, fault)
    try:
        yield
    finally:
        _set(owner, attribute, before)


def _set(owner: Any, name: Any, value: Any) -> None:
    if isinstance(owner, dict):
        owner[name] = value
    else:
        setattr(owner, name, value)


FAULTS: dict[str, tuple[Any, Any, Any, Any]] = {
    "stale_check_removed": (books.APPLY, Produced, books.produced, produced),
    "ack_trims_beyond": (books.APPLY, Acknowledged, books.acknowledged, acknowledged),
    "void_not_performed": attribute(acts, "void_output", void_output),
    "rollback_not_dispatched": attribute(Driver, "land", land),
    "presented_token_forgotten": attribute(decide, "rotate", rotate),
    "old_token_kept": attribute(facts, "opens", opens),
    "eviction_without_deadline": attribute(Delivery, "evict", evict),
    "deadline_not_disarmed": attribute(Deadlines, "disarm", disarm),
    "close_not_booked": attribute(Driver, "delivered", delivered),
    "input_released_twice": attribute(hear, "_consumed", consumed),
    "writer_not_woken": attribute(TrioWriter, "flush", flush),
    "grace_begins_anew": attribute(acts, "answer_claim", answer_claim),
    "replay_begins_late": attribute(acts, "start_delivery", start_delivery),
}

FOUND = Path(__file__).parent / "fuzz_found"
"""For each fault, the schedule that a campaign found and made short."""


def main() -> None:
    """Search for every fault anew, and write down what was found: ``python -m tests.proof.fuzz_faults [SEED]``."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    for name in FAULTS:
        with planted(name):
            report = fuzz(FLAT, seed=seed, budget_s=60.0, enough=1)
        found = report.failures[0] if report.failures else None
        told = f"{len(found.schedule.events)} events" if found else "NOT FOUND"
        sys.stdout.write(f"{name:28}{report.examples:6} examples {report.seconds:6.1f} s  {told}\n")
        if found is not None:
            (FOUND / f"{name}.json").write_text(as_text(found._replace(broken=(without_ids(found.broken[0]),))))


def without_ids(sentence: str) -> str:
    """Leave out what differs from run to run."""
    return re.sub(r", sess_[\w-]+", "", sentence)


if __name__ == "__main__":
    main()
