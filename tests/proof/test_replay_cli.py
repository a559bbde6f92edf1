"""`interlock replay` as one types it: what it prints, its exit codes, and one clear line for what it cannot read."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.cli import main
from interlock.observe.record import FORMAT, sealed
from interlock.proof import telling
from interlock.tables import SOURCES
from tests.proof.replay_story import recorded


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Give a folder with the story's trace, in one file."""
    return folder(tmp_path, recorded()[0])


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Give a folder with the same story, in many files."""
    return folder(tmp_path, recorded(file_bytes=3000, files=99)[0])


def folder(path: Path, files: tuple[bytes, ...]) -> Path:
    for number, data in enumerate(files, 1):
        (path / f"trace-{number:04}.jsonl.gz").write_bytes(data)
    return path


def plain(folder: Path) -> list[bytes]:
    return gzip.decompress((folder / "trace-0001.jsonl.gz").read_bytes()).splitlines(keepends=True)


def written(folder: Path, lines: list[bytes]) -> str:
    path = folder / "t.jsonl"
    path.write_bytes(b"".join(lines))
    return str(path)


def replay(*arguments: str | Path) -> int:
    return main(["replay", *map(str, arguments)])


def report(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    capsys.readouterr()
    code = replay(*arguments, "--json")
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == {"conforms": 0, "parts": 1, "incomplete": 2}[found["verdict"]]
    return found


def test_a_trace_conforms(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(trace) == 0
    said = capsys.readouterr().out
    assert re.fullmatch(r"conforms: \d+ events of 2 sessions, \d+ deliveries, \d+ effects, in 1 file\n", said)


def test_rotated_files_conform_and_each_by_itself(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, parts)
    assert (found["verdict"], found["sessions"]) == ("conforms", 2)
    assert found["files"] == len(list(parts.iterdir())) >= 3
    assert found["events"] == report(capsys, *sorted(parts.iterdir()))["events"] > 100
    for file in parts.iterdir():
        assert report(capsys, file)["verdict"] == "conforms"


def test_standard_input_packed_and_plain(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = (trace / "trace-0001.jsonl.gz").read_bytes()
    for data, code in ((packed, 0), (gzip.decompress(packed), 0), (packed + packed, 2), (packed[:-9], 2)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert replay("-") == code


def test_a_missing_file_is_told(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (parts / "trace-0002.jsonl.gz").unlink()
    found = report(capsys, parts)
    assert [(each["kind"], each["what"]) for each in found["findings"]] == [
        ("missing", "part 2 of the run, before this file")
    ]
    (parts / "trace-0001.jsonl.gz").unlink()
    assert report(capsys, parts)["verdict"] == "conforms"
    replay(parts)
    assert "begins with part 3 of its run: what came before is not judged" in capsys.readouterr().out


def test_a_missing_last_record_is_told_by_the_end_of_the_file(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = plain(trace)
    found = report(capsys, written(trace, [*lines[:-2], lines[-1]]))
    assert [(each["kind"], each["what"]) for each in found["findings"]] == [
        ("missing", f"the file was written with {len(lines) - 2} records and has {len(lines) - 3}")
    ]


def test_a_truncated_file_is_told_with_what_conforms_before(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = (trace / "trace-0001.jsonl.gz").read_bytes()
    (trace / "trace-0001.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    found = report(capsys, trace)
    assert (found["verdict"], [each["kind"] for each in found["findings"]]) == ("incomplete", ["truncated"])
    assert found["findings"][0]["what"] == "the file ends after this line, without its end"
    assert found["events"] > 20
    assert report(capsys, trace, "--live")["verdict"] == "conforms"
    lines = plain_of(whole)
    assert report(capsys, written(trace, [*lines[:40], lines[40][:30]]))["findings"][0]["kind"] == "truncated"
    assert report(capsys, written(trace, lines[:-1]))["findings"][0]["line"] == len(lines) - 1


def plain_of(data: bytes) -> list[bytes]:
    return gzip.decompress(data).splitlines(keepends=True)


def test_a_changed_byte_of_a_compressed_file_is_told(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = trace / "trace-0001.jsonl.gz"
    whole = path.read_bytes()
    kinds = set()
    for place in range(30, len(whole) - 8, len(whole) // 40):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        code = replay(trace, "--json")
        said = capsys.readouterr().out
        assert code in (1, 2) or path_holds(path, whole), place
        kinds |= {each["kind"] for each in json.loads(said)["findings"]} if said else {"damaged from the start"}
    assert kinds >= {"changed", "damaged"}


def path_holds(path: Path, whole: bytes) -> bool:
    """Whether a file unpacks to the same lines all the same: some bits of gzip mean nothing."""
    return plain_of(path.read_bytes()) == plain_of(whole)


def test_a_parting_is_told_with_its_row_and_field(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = plain(trace)
    index = next(index for index, line in enumerate(lines) if b'"InterruptRequested"' in line)
    record = json.loads(lines[index])
    record.pop("crc")
    record["rows"][1]["to"] = "RETAINED"
    path = written(trace, [*lines[:index], sealed(record), *lines[index + 1 :]])
    assert replay(path) == 1
    said = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        rf"parts: .*t\.jsonl:{index + 1}: event \d+, record \d+ of {record['session']}, InterruptRequested:"
        r" row 2 \(fence 1\), `to`",
        said[0],
    )
    assert said[1:4] == [
        "    the trace has  RETAINED",
        "    the tables say CLOSED",
        "    by fence: OPEN on EpochEnded goes to CLOSED",
    ]
    assert said[4].startswith("    after ")
    assert said[-1].startswith("parts: ")
    found = report(capsys, path)["findings"][0]
    assert {key: found[key] for key in ("kind", "line", "in", "row", "who", "field", "trace", "tables")} == {
        "kind": "parts",
        "line": index + 1,
        "in": "row",
        "row": 2,
        "who": "fence 1",
        "field": "to",
        "trace": "RETAINED",
        "tables": "CLOSED",
    }


def test_one_session_and_a_span(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = json.loads(plain(trace)[1])["session"]
    assert report(capsys, trace, "--session", name)["sessions"] == 1
    assert report(capsys, trace, "--to", "20")["events"] == 20
    assert replay(trace, "--session", name, "--from", "3", "--to", "9", "--chart") == 0
    said = capsys.readouterr().out
    assert "Opened" not in said
    assert "ReplayDelivered  [REPLAYING -> ATTACHED]" in said


def test_a_session_as_a_chart(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(trace, "--chart", "--svg", tmp_path / "chart.svg") == 0
    said = capsys.readouterr().out
    for line in (
        r"1 +0\.000 +\|-+>\| .* Prepared  \[OPENING -> OPEN\]",
        r"\|-+>\| .* Opened  \[DETACHED -> ACTIVATING\]",
        r"<-+\| .* BooksChanged",
        r"\d+ Produced",
        r"=> .*VoidOutput",
        r"=> .*AppendEvent response.done",
    ):
        assert re.search(line, said), line
    assert "one session of several; say which with --session" in said
    drawing = ET.parse(tmp_path / "chart.svg").getroot()
    texts = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert {"attachment", "EpochEnded", "DETACHED -> ACTIVATING"} <= set(texts)


BAD: list[tuple[bytes, str]] = [
    (b"", "is empty"),
    (b"\0\1\2" * 50, "is no trace"),
    (b"hello\n", "is no trace"),
    (b'{"n": 1}\n', "is no trace"),
    (b"\x1f\x8b" + b"\xff" * 60, "cannot be read"),
    (b'{"trace":1,"tables":{}}\n', "a trace of format 1; this version reads format 2"),
    (b'{"trace":"x"}\n', "not the header of a trace"),
    (b'{"trace":2', "is no trace"),
    (b'{"trace":' + b"[" * 100_000 + b"\n", "not the header of a trace"),
    (gzip.compress(b"", mtime=0), "is empty"),
]


@pytest.mark.parametrize(("data", "why"), BAD)
def test_what_is_no_trace_is_one_clear_line(
    tmp_path: Path, data: bytes, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t").write_bytes(data)
    assert replay(tmp_path / "t") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(rf"interlock: .*{re.escape(why)}.*\n", said.err)


WRONG: list[tuple[Callable[[Path], list[str | Path]], str]] = [
    (lambda path: [path / "none"], "No such file"),
    (lambda path: [path, "--session", "sess_none"], "no session 'sess_none'; the trace has sess_"),
    (lambda path: [path, "--json", "--chart"], "both say what is printed"),
    (lambda path: ["-", "-"], "can be read once"),
    (lambda path: [path, "--svg", path / "no/folder.svg"], "cannot be written"),
    (lambda path: [path, "--state-map", path / "none.toml"], "cannot be read as a state map"),
    (lambda path: [path, "--machines", path / "none"], "no such file or folder"),
    (lambda path: [Path("/dev/null")], "is empty"),
    (lambda path: [Path("/dev/zero")], "is no trace"),
]


@pytest.mark.parametrize(("arguments", "why"), WRONG)
def test_what_cannot_be_done_is_one_clear_line(
    trace: Path, arguments: Callable[[Path], list[str | Path]], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(*arguments(trace)) == 2
    assert re.fullmatch(rf"interlock: .*{re.escape(why)}.*\n", capsys.readouterr().err)


def test_a_folder_without_a_trace_and_a_trace_without_events(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(tmp_path) == 2
    assert "no trace-*.jsonl.gz in this folder" in capsys.readouterr().err
    header = {"trace": FORMAT, "run": "r", "part": 1, "tables": SOURCES, "states": {}}
    nothing = written(tmp_path, [sealed(header), sealed({"end": FORMAT, "lines": 0})])
    assert replay(nothing) == 2
    assert "has no event: nothing was judged" in capsys.readouterr().err


def test_a_long_replay_says_how_far_it_is(
    trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(telling, "PATIENCE_S", -1.0)
    lines = plain(trace)
    one = lines[1:-1]
    begun = {"trace": FORMAT, "part": 1, "tables": SOURCES, "states": {}}
    runs = [line for number in range(10) for line in (sealed(begun | {"run": str(number)}), *one, lines[-1])]
    assert replay(written(trace, runs)) == 0
    assert re.match(r"replay: [\d,]+ events, \d+%, [\d,]+ a second\n", capsys.readouterr().err)


def test_the_commands_of_the_page_work(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/replay.md is run: each line of its console blocks that begins with `$ interlock replay`."""
    root = Path(__file__).parents[2]
    page = (root / "docs/replay.md").read_text()
    commands = re.findall(r"^\$ (?:zcat \S+ \| )?interlock (replay .*)$", page, flags=re.MULTILINE)
    assert len(commands) >= 6
    name = json.loads(plain(trace)[1])["session"]
    (trace / "out").mkdir()
    for path in list(trace.glob("*.gz")):
        path.rename(trace / "out" / path.name)
    (trace / "moved.toml").write_text('response.SPEAKING = "DRAINING"\n')
    (trace / "machines").symlink_to(root / "machines")
    monkeypatch.chdir(trace)
    for command in commands:
        data = (trace / "out/trace-0001.jsonl.gz").read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert main(command.replace("sess_1", name).split()) == 0, command


def test_every_key_of_the_format_is_on_the_page() -> None:
    from interlock.observe.record import Line
    from interlock.proof.replay_finding import KINDS
    from interlock.proof.replay_input import Header

    page = (Path(__file__).parents[2] / "docs/replay.md").read_text()
    keys = [*Line.__struct_encode_fields__, *Header.__struct_encode_fields__, "crc", "end", "lines", *KINDS]
    assert [key for key in keys if f"`{key}`" not in page] == []
