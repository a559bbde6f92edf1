"""A trace beside another version of the machines: what conforms, what parts, what is refused, and what does not fit."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.cli import main
from interlock.machine import bound_names
from interlock.observe.record import sealed
from interlock.proof.replay_machines import bound_of
from interlock.session.decide import COMPOSITION
from tests.proof.replay_story import recorded

ROOT = Path(__file__).parents[2]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Give the story's trace, in a file of its own folder."""
    path = tmp_path / "trace"
    path.mkdir()
    (path / "trace-0001.jsonl.gz").write_bytes(recorded()[0][0])
    return path


def machines(tmp_path: Path, name: str, *edits: tuple[str, str]) -> Path:
    """Make another version of one machine, beside the others as they are."""
    folder = tmp_path / "machines"
    if not folder.exists():
        folder.mkdir()
        for path in (ROOT / "machines").glob("*.toml"):
            shutil.copy(path, folder)
    path = folder / f"{name}.toml"
    text = path.read_text()
    for old, new in edits:
        assert re.search(old, text), old
        text = re.sub(old, new, text)
    path.write_text(text)
    return folder


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    capsys.readouterr()
    main(["replay", *map(str, arguments), "--json"])
    said = capsys.readouterr()
    assert said.out, said.err
    found: dict[str, Any] = json.loads(said.out)
    return found


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    capsys.readouterr()
    assert main(["replay", *map(str, arguments)]) == 2
    return capsys.readouterr().err


def test_the_bindings_of_every_machine_are_found_again() -> None:
    for machine in COMPOSITION.machines.values():
        assert set(bound_of(machine)) == set(bound_names(machine.table))


def test_the_same_machines_from_their_files_conform(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = replayed(capsys, trace, "--machines", ROOT / "machines")
    assert found["verdict"] == "conforms"
    assert found["against"] == f"the machines of {ROOT / 'machines'}"


def test_a_change_that_nothing_met_conforms_and_is_told(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row more moves the numbers of the others; they say nothing then, and all else must still be the same."""
    folder = machines(
        tmp_path, "attachment", (r"(\[state\.DETACHED\]\n(?:.+\n)*?)(on\.|ignore|refuse)", r"# another version\n\1\2")
    )
    found = replayed(capsys, trace, "--machines", folder)
    assert (found["verdict"], [list(version) for version in found["changed"]]) == ("conforms", [["attachment"]])


def test_a_change_that_the_traffic_meets_parts_where_it_does(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit = (r'(?s)(\[state\.DRAINING\].*?"is_last", to = )"COMPLETED"', r'\1"FAILED"')
    folder = machines(tmp_path, "response", edit)
    found = replayed(capsys, trace, "--machines", folder)
    first = found["findings"][0]
    assert found["verdict"] == "parts"
    assert {key: first[key] for key in ("kind", "name", "field", "trace", "tables")} == {
        "kind": "parts",
        "name": "RequestFinished",
        "field": "to",
        "trace": "COMPLETED",
        "tables": "FAILED",
    }
    assert "response: DRAINING on StageFinished if is_last goes to FAILED" in first["by"]


def test_a_duration_that_is_another_parts_at_its_timer(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = machines(tmp_path, "lease", (r'after = "grace_s"', 'after = "idle_s"'), (r"idle_left_s", "grace_s"))
    first = replayed(capsys, trace, "--machines", folder)["findings"][0]
    assert (first["kind"], first["in"]) == ("parts", "effect")


def renamed(tmp_path: Path) -> Path:
    return machines(tmp_path, "response", (r"\bDRAINING\b", "SPEAKING"))


def test_a_state_that_vanished_is_refused_unless_a_map_says_where_it_went(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = renamed(tmp_path)
    assert refused(capsys, trace, "--machines", folder) == (
        f"interlock: the trace is in response.DRAINING, which the machines of {folder} do not have;"
        ' say with --state-map what took its place, as in response.DRAINING = "..."\n'
    )
    moved = tmp_path / "moved.toml"
    moved.write_text('response.DRAINING = "SPEAKING"\n')
    assert replayed(capsys, trace, "--machines", folder, "--state-map", moved)["verdict"] == "conforms"
    as_json = tmp_path / "moved.json"
    as_json.write_text('{"response": {"DRAINING": "SPEAKING"}}')
    assert replayed(capsys, trace, "--machines", folder, "--state-map", as_json)["verdict"] == "conforms"
    moved.write_text('response.DRAINING = "GENERATING"\n')
    assert replayed(capsys, trace, "--machines", folder, "--state-map", moved)["verdict"] == "parts"


def test_a_value_that_is_in_a_vanished_state_is_refused_too(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = machines(tmp_path, "session", (r"\bOPENING\b", "STARTING"))
    assert "the trace is in session.OPENING" in refused(capsys, trace, "--machines", folder)
    moved = tmp_path / "moved.toml"
    moved.write_text('[session]\nOPENING = "STARTING"\n')
    assert replayed(capsys, trace, "--machines", folder, "--state-map", moved)["verdict"] == "conforms"


MAPS: list[tuple[str, str]] = [
    ("", "maps no state"),
    ("= 5", "cannot be read as a state map"),
    ("response = 5", "`response` maps no state"),
    ("response.DRAINING = 5", "`response` maps no state"),
    ('nobody.DRAINING = "OPEN"', "no session has a machine nobody"),
    ('response.DRAINING = "NOWHERE"', "have no such state"),
]


@pytest.mark.parametrize(("text", "why"), MAPS)
def test_a_map_that_is_none_is_one_clear_line(
    trace: Path, tmp_path: Path, text: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "map.toml").write_text(text)
    said = refused(capsys, trace, "--state-map", tmp_path / "map.toml")
    assert re.fullmatch(rf"interlock: .*{re.escape(why)}.*\n", said)


UNFIT: list[tuple[str, tuple[tuple[str, str], ...], str]] = [
    ("fence", ((r'guard = "owes"', 'guard = "owes_nothing"'),), "fence: `owes_nothing` is not bound; bound are "),
    (
        "request",
        ((r"(?m)^(\[message\.RetryDue\]\ndoc .*\nfields = \{ request_id = \"str\")", r'\1, more = "int"'),),
        "request: RetryDue has the fields request_id, more; in Python request_id",
    ),
]


@pytest.mark.parametrize(("name", "edits", "why"), UNFIT)
def test_what_needs_new_python_is_told(
    trace: Path,
    tmp_path: Path,
    name: str,
    edits: tuple[tuple[str, str], ...],
    why: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = refused(capsys, trace, "--machines", machines(tmp_path, name, *edits))
    assert "Python does not fit these machines" in said
    assert why in said


BROKEN: list[tuple[Callable[[Path], Any], str]] = [
    (lambda folder: (folder / "fence.toml").write_text("machine = 5"), "fence.toml"),
    (lambda folder: (folder / "fence.toml").write_text("="), "not TOML"),
    (lambda folder: [path.rename(f"{path}.old") for path in folder.glob("[!w]*.toml")], "has none of"),
]


@pytest.mark.parametrize(("spoil", "why"), BROKEN)
def test_machine_files_that_are_none_are_told(
    trace: Path, tmp_path: Path, spoil: Callable[[Path], Any], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = machines(tmp_path, "fence")
    spoil(folder)
    assert why in refused(capsys, trace, "--machines", folder)


def test_one_file_alone_is_tried_with_the_others_as_they_are(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replayed(capsys, trace, "--machines", ROOT / "machines/fence.toml")["verdict"] == "conforms"


def test_a_trace_under_an_older_table_is_told_as_such(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the header says is what counts: the same traffic, recorded when the response's file was another."""
    path = trace / "trace-0001.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    header = json.loads(lines[0])
    header.pop("crc")
    header["tables"]["response"] = "0123456789abcdef" * 4
    header["states"]["response"].append("SPEAKING")
    path.write_bytes(gzip.compress(b"".join([sealed(header), *lines[1:]])))
    assert main(["replay", str(trace)]) == 0
    said = capsys.readouterr().out
    now = COMPOSITION.machines["response"].table.sha256[:8]
    assert said.splitlines()[0] == f"recorded under another version of response (01234567, now {now})"
    spoken = [line.replace(b'"DRAINING"', b'"SPEAKING"') for line in lines[1:-1]]
    path.write_bytes(gzip.compress(b"".join([sealed(header), *map(resealed, spoken), lines[-1]])))
    assert "the trace is in response.SPEAKING, which the tables of this version do not have" in refused(capsys, trace)


def resealed(line: bytes) -> bytes:
    record = json.loads(line)
    record.pop("crc")
    return sealed(record)
