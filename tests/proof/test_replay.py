"""A replay accepts what happened, and nothing else: each fault in a trace is named by line, row and field."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from interlock.observe.record import sealed
from interlock.proof.replay import Replay
from interlock.proof.replay_finding import Finding, Place
from interlock.proof.replay_target import Target, Version
from interlock.session import books
from tests.proof.replay_story import recorded

Record = dict[str, Any]
Path = tuple[str | int, ...]


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    """Give the records of the story, without header and end. Line 1 is the first of them."""
    (file,), _ = recorded()
    return gzip.decompress(file).splitlines(keepends=True)[1:-1]


def replayed(lines: list[bytes]) -> Replay:
    replay = Replay(Target())
    replay.begin(Version({}, frozenset()), is_first=True, follows=False)
    for number, line in enumerate(lines, 1):
        replay.take(line, Place("t", number))
    replay.finish(whole=True)
    return replay


def first(lines: list[bytes]) -> Finding:
    return replayed(lines).findings[0]


def where(lines: list[bytes], holds: Callable[[Record], Any], count: int = 1) -> int:
    """Return the index of the ``count``-th record of which something holds."""
    found = [index for index, line in enumerate(lines) if holds(json.loads(line))]
    return found[count - 1]


def event(name: str) -> Callable[[Record], bool]:
    return lambda record: bool(record.get("event", {}).get("type") == name)


def edited(lines: list[bytes], index: int, edit: Callable[[Record], Any], *, seal: bool = True) -> list[bytes]:
    """Return the trace with one record edited; sealed, as if it had been recorded so."""
    record = json.loads(lines[index])
    crc = record.pop("crc")
    edit(record)
    line = sealed(record) if seal else json.dumps(record | {"crc": crc}, separators=(",", ":")).encode() + b"\n"
    return [*lines[:index], line, *lines[index + 1 :]]


def test_what_happened_conforms(lines: list[bytes]) -> None:
    replay = replayed(lines)
    assert replay.findings == []
    assert (replay.judged, replay.unjudged) == (2, 0)
    assert replay.events > 100
    assert replay.rows > 100


def test_the_story_has_everything_that_a_trace_can_hold(lines: list[bytes]) -> None:
    keys = {key for line in lines for key in json.loads(line)}
    assert keys >= {"value", "voided", "refused", "stale", "input", "closing", "proved", "presents"}
    presented = {json.loads(line).get("presents") for line in lines}
    assert presented == {None, "current", "presented", "unknown"}


def test_a_flipped_state_is_named(lines: list[bytes]) -> None:
    index = where(lines, event("InterruptRequested"))
    found = first(edited(lines, index, lambda record: record["rows"][1].update(to="RETAINED")))
    assert (found.kind, found.place.line, found.name) == ("parts", index + 1, "InterruptRequested")
    assert found.difference is not None
    assert (found.difference.row, found.difference.who, found.difference.field) == (2, "fence 1", "to")
    assert (found.difference.trace, found.difference.tables) == ("RETAINED", "CLOSED")
    assert "fence: OPEN on EpochEnded goes to CLOSED" in str(found.difference)


def test_a_flipped_effect_is_named(lines: list[bytes]) -> None:
    index = where(lines, event("InterruptRequested"))
    found = first(edited(lines, index, lambda record: record["effects"][1].update(through=7)))
    assert found.what == "effect 2 (VoidOutput), `through`: the trace has 7, the tables say 1"
    found = first(edited(lines, index, lambda record: record["effects"].pop(0)))
    assert found.what.startswith("effect 1: the trace has VoidOutput(through=1), the tables say AdvanceEpoch(epoch=2)")
    found = first(edited(lines, index, lambda record: record["effects"].append({"type": "KillWorker"})))
    assert "the trace has KillWorker(), the tables say no such effect" in found.what


def test_a_delivery_too_few_or_too_many_is_named(lines: list[bytes]) -> None:
    index = where(lines, event("TurnHeard"))
    found = first(edited(lines, index, lambda record: record["rows"].pop()))
    assert found.what.startswith("row 4 (request ")
    assert "the trace has no such delivery, the tables say request" in found.what
    found = first(edited(lines, index, lambda record: record["rows"].append(record["rows"][0])))
    assert found.what.startswith("row 5 (session): the trace has session take TurnHeard, the tables say no such")


def test_a_deleted_event_is_named(lines: list[bytes]) -> None:
    index = where(lines, event("TransportLost"))
    gone = json.loads(lines[index])
    rest = lines[:index] + lines[index + 1 :]
    follows = where(rest, lambda record: (record["session"], record["n"]) == (gone["session"], gone["n"] + 1))
    found = first(rest)
    assert (found.kind, found.place.line, found.session) == ("missing", follows + 1, gone["session"])
    assert found.what == f"record {gone['n']} of the session is missing before this one"


def test_a_moved_and_a_doubled_event_are_named(lines: list[bytes]) -> None:
    index = where(lines, event("SubmitAccepted"))
    doubled = first([*lines[: index + 1], *lines[index:]])
    n = json.loads(lines[index])["n"]
    assert (doubled.kind, doubled.what) == ("parts", f"record {n} of the session comes after its record {n}")
    assert replayed([*lines[:index], lines[index + 1], lines[index], *lines[index + 2 :]]).findings


def test_a_missing_void_is_named(lines: list[bytes]) -> None:
    index = where(lines, lambda record: "voided" in record)
    found = first(lines[:index] + lines[index + 1 :])
    assert found.kind == "missing"


def test_a_void_of_other_frames_is_named(lines: list[bytes]) -> None:
    index = where(lines, lambda record: "voided" in record)
    found = first(edited(lines, index, lambda record: record["voided"]["unsent"].pop(0)))
    assert (found.kind, found.difference and found.difference.field) == ("parts", "voided.unsent")


def test_a_timer_that_fires_too_early_is_named(lines: list[bytes]) -> None:
    index = where(lines, event("GraceExpired"))
    at = json.loads(lines[index])["at"]
    found = first(edited(lines, index, lambda record: record.update(at=at - 0.5)))
    assert found.what.startswith("GraceExpired comes, but its timer is due at ")
    later = where(lines, event("ActivationDelivered"))
    early = json.loads(lines[later])
    fired = {**json.loads(lines[index]), "n": early["n"], "session": early["session"], "at": early["at"]}
    del fired["crc"]
    found = first([*lines[:later], sealed(fired)])
    assert found.what == "GraceExpired comes, but its timer is not armed"


def test_a_token_that_was_not_good_is_named(lines: list[bytes]) -> None:
    """The credential's rule is followed with marks: after its proof, no presented token can open the session."""
    index = where(lines, lambda record: record.get("presents") == "unknown", 2)
    found = first(edited(lines, index, lambda record: record.update(presents="presented")))
    assert found.difference is not None
    assert (found.difference.field, found.difference.trace, found.difference.tables) == (
        "presents",
        "presented",
        "unknown",
    )
    proof = where(lines, lambda record: record.get("proved"))
    found = first(edited(lines, proof, lambda record: record.pop("proved")))
    assert found.difference is not None
    assert (found.difference.field, found.difference.tables) == ("proved", True)


def test_a_refusal_that_was_none_is_named(lines: list[bytes]) -> None:
    index = where(lines, lambda record: "refused" in record)
    found = first(edited(lines, index, lambda record: record.update(refused="session_closed")))
    assert found.what == "record, `refused`: the trace has session_closed, the tables say response_not_active"
    taken = where(lines, event("InterruptRequested"))
    found = first(edited(lines, taken, lambda record: record.update(refused="no")))
    assert found.what == "record, `refused`: the trace has no, the tables say it is taken"


def test_a_changed_byte_is_told_from_what_the_tables_deny(lines: list[bytes]) -> None:
    index = where(lines, event("Produced"))
    silent = first(edited(lines, index, lambda record: record["event"].update(ms=41.0), seal=False))
    assert (silent.kind, silent.place.line, silent.what) == ("changed", index + 1, "in nothing that the tables decide")
    loud = first(edited(lines, index, lambda record: record["journal"].__setitem__(0, 99), seal=False))
    assert (loud.kind, loud.difference and loud.difference.field) == ("changed", "journal.head")
    broken = [*lines[:index], lines[index][:40] + b"\xff" + lines[index][41:], *lines[index + 1 :]]
    found = replayed(broken).findings
    assert [(finding.kind, finding.place.line) for finding in found] == [("changed", index + 1)]
    assert "not a record any more" in found[0].what


def test_every_changed_byte_is_found(lines: list[bytes]) -> None:
    for index in range(0, len(lines), 3):
        line = lines[index]
        for place in range(index % 7, len(line) - 1, 211):
            changed = line[:place] + bytes([line[place] ^ (1 if place % 2 else 128)]) + line[place + 1 :]
            found = replayed([*lines[:index], changed]).findings
            assert found, (index, place, changed)
            assert found[0].place.line == index + 1
            assert found[0].kind == "changed"


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [leaf for key, each in inner for leaf in leaves(each, (*path, key))]
    yield from found or [path]


def other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}x"
        case None:
            return "x"
        case _:
            return ["x"]


def put(path: Path, record: Record) -> None:
    inner: Any = record
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = other(inner[path[-1]])


FROM_OUTSIDE = {"at", "event", "value", "n", "session"}
"""What the tables cannot know better: when something came, and what."""


def test_every_field_that_the_tables_decide_is_held_against_them(lines: list[bytes]) -> None:
    """Flip each field of each record, sealed as if it had been recorded so: found on its own line, every one."""
    flipped = 0
    for index, line in enumerate(lines):
        record = json.loads(line)
        for path in [path for path in leaves(record) if path[0] not in FROM_OUTSIDE | {"crc"}][index % 4 :: 4]:
            found = replayed(edited(lines[: index + 1], index, partial(put, path))).findings
            assert found, (index, path)
            assert (found[0].kind, found[0].place.line) == ("parts", index + 1), (index, path)
            flipped += 1
    assert flipped > 300


def test_facts_are_filled_in_again_and_not_believed(lines: list[bytes]) -> None:
    index = where(lines, event("ResumeRequested"))
    found = first(edited(lines, index, lambda record: record["event"].update(verdict="future")))
    assert (found.difference and found.difference.field) == "event.verdict"
    found = first(edited(lines, index, lambda record: record["rows"][0]["event"].update(verdict="gap")))
    assert (found.difference and found.difference.field) == "event.verdict"


def test_after_a_finding_the_rest_of_a_session_is_counted_and_another_goes_on(lines: list[bytes]) -> None:
    index = where(lines, event("InterruptRequested"))
    replay = replayed(edited(lines, index, lambda record: record["journal"].__setitem__(0, 99)))
    assert len(replay.findings) == 1
    rest = [json.loads(line) for line in lines[index + 1 :]]
    mine = json.loads(lines[index])["session"]
    assert replay.unjudged == sum(record["session"] == mine for record in rest)


NONSENSE: list[Callable[[Record], Any]] = [
    lambda record: record["event"].update(type="Nothing"),
    lambda record: record["event"].update(type=5),
    lambda record: record.update(event={}),
    lambda record: record.update(event=[]),
    lambda record: record["event"].pop("stages"),
    lambda record: record["event"].update(stages="mind"),
    lambda record: record["event"].update(stages=[]),
    lambda record: record.update(rows=5),
    lambda record: record.update(rows=[5]),
    lambda record: record.update(rows=[{"machine": []}]),
    lambda record: record.update(effects={"type": 1}),
    lambda record: record.update(journal=None),
    lambda record: record.update(more=1),
]


@pytest.mark.parametrize("edit", NONSENSE)
def test_nonsense_is_a_finding_and_no_traceback(lines: list[bytes], edit: Callable[[Record], Any]) -> None:
    index = where(lines, event("TurnHeard"))
    assert first(edited(lines, index, edit)).place.line == index + 1


def test_a_value_that_cannot_be_one_is_a_finding(lines: list[bytes]) -> None:
    edits: list[Callable[[Record], Any]] = [
        lambda record: record["value"].update(cells=[["nobody", None, "OPEN", {}]]),
        lambda record: record["value"].update(cells=[]),
        lambda record: record["value"]["settings"].update(grace_s=-1),
        lambda record: record["value"].pop("epoch"),
        lambda record: record["value"]["cells"][0].__setitem__(3, {"reason": "", "more": 1}),
        lambda record: record["value"]["cells"][0].__setitem__(2, "NOWHERE"),
        lambda record: record["value"].update(epoch=2),
    ]
    for edit in edits:
        assert first(edited(lines, 0, edit)).place.line == 1


def test_a_fault_in_the_code_is_found_by_what_was_recorded_before(
    lines: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay judges the code with the trace as much as the trace with the code: here a proof is forgotten."""
    monkeypatch.setattr(books, "prove", lambda credential: credential)
    found = first(lines)
    assert (found.kind, found.name) == ("parts", "Acknowledged")
    assert (found.difference and found.difference.field) == "proved"
