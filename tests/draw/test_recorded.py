"""Recorded sessions: where one was at a time, and one clear line for what is no trace."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from interlock.draw.recorded import SHOWN, recorded, words
from interlock.spec.finding import Unusable
from interlock.tables import TABLES


def record(at: float, *rows: tuple[str, str | None, str, str], session: str = "s") -> dict[str, Any]:
    shown = [{"machine": machine, "key": key, "from": old, "to": new, "row": 1} for machine, key, old, new in rows]
    return {"at": at, "session": session, "event": {"type": "X"}} | ({"rows": shown} if shown else {})


RECORDS = [
    record(100.0, ("session", None, "OPENING", "OPEN"), ("attachment", None, "DETACHED", "ACTIVATING")),
    record(101.5, ("attachment", None, "ACTIVATING", "REPLAYING"), ("request", "r1", "", "RESERVED")),
    record(102.0, ("attachment", None, "REPLAYING", "ATTACHED"), ("request", "r1", "RESERVED", "SUBMITTING")),
    record(103.0, ("request", "r1", "RUNNING", "RELEASED"), ("request", "r2", "", "RESERVED")),
    record(104.0),
]


def trace(path: Path, *records: dict[str, Any]) -> Path:
    lines = [{"trace": 1, "tables": {}}, *records]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return trace(tmp_path / "trace-0001.jsonl", *RECORDS)


def test_at_the_end(file: Path) -> None:
    assert recorded(file, "s", None, TABLES) == {
        "session": {"OPEN": "now"},
        "attachment": {"ATTACHED": "now"},
        "request": {"RESERVED": "now: r2"},
        "lease": {"HELD": "now"},
    }


@pytest.mark.parametrize(("at", "state"), [("101.5", "REPLAYING"), ("+1.5", "REPLAYING"), ("+0", "ACTIVATING")])
def test_at_a_time(file: Path, at: str, state: str) -> None:
    assert recorded(file, None, at, TABLES)["attachment"] == {state: "now"}


def test_several_files_are_read_in_their_order(tmp_path: Path) -> None:
    trace(tmp_path / "trace-0001.jsonl", *RECORDS[:2])
    trace(tmp_path / "trace-0002.jsonl", *RECORDS[2:])
    assert recorded(tmp_path, "s", None, TABLES)["attachment"] == {"ATTACHED": "now"}


def test_a_compressed_trace_is_read_as_far_as_it_goes(tmp_path: Path, file: Path) -> None:
    packed = gzip.compress(file.read_bytes() + b'{"end": 2, "lines": 5}\n')
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole/trace-0001.jsonl.gz").write_bytes(packed)
    assert recorded(tmp_path / "whole", "s", None, TABLES) == recorded(file, "s", None, TABLES)
    growing = zlib.compressobj(wbits=31)
    half = growing.compress(file.read_bytes()) + growing.flush(zlib.Z_SYNC_FLUSH)
    (tmp_path / "half.jsonl.gz").write_bytes(half)
    assert recorded(tmp_path / "half.jsonl.gz", "s", None, TABLES) == recorded(file, "s", None, TABLES)
    (tmp_path / "bad.jsonl.gz").write_bytes(packed[:20] + b"\xff" * 40)
    with pytest.raises(Unusable, match="is damaged"):
        recorded(tmp_path / "bad.jsonl.gz", "s", None, TABLES)


def test_a_whole_value_says_where_a_file_begins(tmp_path: Path) -> None:
    cells = [["session", None, "OPEN", {}], ["lease", None, "GRACE", {}], ["request", "r7", "OWED", {}]]
    begun = {"n": 0, "at": 99.0, "session": "s", "value": {"cells": cells}}
    file = trace(tmp_path / "t.jsonl", begun, record(99.5, ("lease", None, "GRACE", "HELD")))
    assert recorded(file, "s", None, TABLES) == {
        "session": {"OPEN": "now"},
        "lease": {"HELD": "now"},
        "request": {"OWED": "now: r7"},
    }


def test_files_are_read_by_number_and_not_by_name(tmp_path: Path) -> None:
    trace(tmp_path / "trace-9999.jsonl", *RECORDS[:2])
    trace(tmp_path / "trace-10000.jsonl", *RECORDS[2:])
    assert recorded(tmp_path, "s", None, TABLES)["attachment"] == {"ATTACHED": "now"}


def test_a_machine_that_no_row_names_is_not_guessed_at_where_the_beginning_is_missing(tmp_path: Path) -> None:
    file = trace(tmp_path / "t.jsonl", *RECORDS[2:])
    assert "lease" not in recorded(file, "s", None, TABLES)


def test_a_line_that_is_still_being_written_waits(file: Path) -> None:
    file.write_text(file.read_text() + '{"at": 105, "sess')
    assert recorded(file, "s", None, TABLES)["session"] == {"OPEN": "now"}


def test_many_instances_are_counted() -> None:
    assert words(["a", "b"]) == "now: a, b"
    assert words([str(number) for number in range(SHOWN + 3)]) == "now: 0, 1, 2, 3 and 3 more"


FAULTS = [
    (b"nonsense\n", "t.jsonl:1: not JSON"),
    (b"[" * 100_000 + b"\n", "t.jsonl:1: not JSON"),
    (b"\xff\xfe\n", "t.jsonl:1: not JSON"),
    (b"[1]\n", "t.jsonl:1: not a record of a trace"),
    (b'{"at": 1}\n', "t.jsonl:1: not a record of a trace: 'session' is missing"),
    (b'{"at": "x", "session": "s"}\n', "t.jsonl:1: not a record of a trace: could not convert"),
    (b'{"at": null, "session": "s"}\n', "t.jsonl:1: not a record of a trace"),
    (b'{"at": 1, "session": "s", "rows": 5}\n', "t.jsonl:1: not a record of a trace"),
    (b'{"at": 1, "session": "s", "rows": [5]}\n', "t.jsonl:1: not a record of a trace"),
    (b'{"at": 1, "session": "s", "rows": ["x"]}\n', "t.jsonl:1: not a record of a trace"),
    (b'{"at": 1, "session": "s", "rows": [{"machine": [], "from": "", "to": "X"}]}\n', "t.jsonl:1: not a record"),
    (
        b'{"at": 1, "session": "s", "rows": [{"machine": "lease", "from": "HELD", "to": "<b>"}]}\n',
        "lease has no state '<b>'",
    ),
    (b'{"at": 1, "session": "s", "rows": [{"machine": "lease", "from": "HELD", "to": ["x"]}]}\n', "t.jsonl:1: not a"),
    (b'{"at": 1, "session": "s", "value": {"cells": [["lease"]]}}\n', "t.jsonl:1: not a record of a trace"),
    (b'{"at": 1, "session": "s", "value": 3}\n', "t.jsonl:1: not a record of a trace"),
    (b"", "say which with --session; the trace has none"),
    (b'{"at": 1, "session": "a"}\n{"at": 1, "session": "b"}\n', "the trace has 'a', 'b'"),
]


@pytest.mark.parametrize(("content", "says"), FAULTS)
def test_what_is_no_trace_is_one_clear_line(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "t.jsonl"
    file.write_bytes(content)
    with pytest.raises(Unusable) as caught:
        recorded(file, None, None, TABLES)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_session_or_a_time_that_is_not_there(file: Path, tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="no session 'x'; the trace has 's'"):
        recorded(file, "x", None, TABLES)
    with pytest.raises(Unusable, match="'s' has no record up to 5 s"):
        recorded(file, "s", "5", TABLES)
    with pytest.raises(Unusable, match="cannot be read: No such file"):
        recorded(tmp_path / "nowhere", "s", None, TABLES)
