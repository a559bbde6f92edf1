"""The recorder: what it never writes, what survives a crash, and how its files come and go."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import re
import zlib
from dataclasses import fields
from pathlib import Path
from typing import Any, cast, get_type_hints

import pytest
import trio
import trio.testing

from interlock.cli import main
from interlock.machine import Message
from interlock.observe import files
from interlock.observe.reading import Unpacker, records_of
from interlock.observe.record import FORMAT, is_sealed, shown
from interlock.observe.trace import Trace
from interlock.proof.replay_events import KINDS
from interlock.session.books import Sequenced
from interlock.session.credential import digest_of
from interlock.session.decide import decide, new_value
from interlock.session.settings import Settings
from interlock.session.value import Value
from interlock.tables import SOURCES
from interlock.tables import messages as m
from tests.proof.replay_story import recorded
from tests.runtime.stage_play import LOUD, play

SETTINGS = Settings()


def opened(name: str = "sess_1") -> Value:
    return decide(new_value(name, SETTINGS), m.Prepared(1, b"secret" * 5)).value


def sequence(trace: Trace, value: Value, count: int = 1) -> Value:
    """Let ``count`` events happen."""
    for _ in range(count):
        event = Sequenced()
        decision = decide(value, event)
        trace.decided(1.0, value, event, decision)
        value = decision.value
    return value


def lines_in(path: Path) -> list[bytes]:
    """Return the lines of a file that may not be whole."""
    return Unpacker().feed(path.read_bytes())


# --------------------------------------------------------------------------------------------- what it never writes


def test_no_secret_no_audio_and_no_text_is_in_a_trace() -> None:
    """The whole story, with known tokens, audio and words: none of them is in its bytes, however written."""
    (file,), told = recorded()
    text = gzip.decompress(file)
    assert len(told.tokens) >= 4
    secrets = [form for token in told.tokens for form in forms(token.encode()) + forms(digest_of(token))]
    assert [secret for secret in secrets if secret in text] == []
    audio = [json.loads(frame)["delta"] for frame in told.sent if b"output_audio.delta" in frame]
    assert len(audio) >= 10
    for pcm in [LOUD, *map(base64.b64decode, audio)]:
        assert [form for form in forms(pcm[:32]) if form in text] == []
    for words in (b"hello", b"You said"):
        assert any(words in frame for frame in told.sent)
        assert words not in text


def forms(secret: bytes) -> list[bytes]:
    """Return how bytes could come to be written."""
    written = [secret, secret.hex().encode(), base64.b64encode(secret), base64.urlsafe_b64encode(secret)]
    return [*written, repr(secret)[2:-1].encode(), json.dumps(secret.decode("latin-1"))[1:-1].encode()]


@pytest.mark.parametrize("leak", ["known-token", digest_of("known-token"), digest_of("known-token").hex()])
def test_the_search_finds_what_it_looks_for(leak: str | bytes) -> None:
    text = repr(leak).encode()
    assert any(form in text for form in forms(b"known-token") + forms(digest_of("known-token")))


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)
def test_every_secret_field_is_left_out_and_bytes_are_secret(kind: type[Message]) -> None:
    types = get_type_hints(kind)
    names = [field.name for field in fields(cast(Any, kind))]
    assert [name for name in names if "bytes" in str(types[name]) and name not in kind.secrets] == []
    made = kind(**dict.fromkeys(names, "known"))
    assert shown(made).__struct_fields__ == tuple(name for name in names if name not in kind.secrets)


def test_what_json_does_not_have_is_not_written_by_its_repr() -> None:
    with pytest.raises(TypeError, match="no way to show object"):
        Trace().refused(0.0, opened(), m.PrepareFailed(cast(Any, object())), "no")


# --------------------------------------------------------------------------------------------------------- records


def test_records_are_numbered_by_session_after_its_value() -> None:
    trace = Trace()
    one, other = sequence(trace, opened()), sequence(trace, opened("sess_2"))
    sequence(trace, one)
    trace.voided(2.0, "sess_2", 1, [4], [])
    sequence(trace, other)
    told = [(record["session"][-1], record["n"], "value" in record) for record in map(json.loads, trace.lines)]
    assert told == [
        ("1", 0, True),
        ("1", 1, False),
        ("2", 0, True),
        ("2", 1, False),
        ("1", 2, False),
        ("2", 2, False),
        ("2", 3, False),
    ]
    assert all(map(is_sealed, trace.lines))
    assert [record["n"] for record in trace.records] == [1, 1, 2, 2, 3]


def test_numbers_in_memory_are_not_kept_for_ever() -> None:
    trace = Trace(keep=10)
    for number in range(100):
        sequence(trace, opened(f"sess_{number}"))
    assert len(trace.lines) == 10
    assert len(trace._numbers) <= 10


# ----------------------------------------------------------------------------------------------------------- files


def test_a_file_begins_with_what_it_was_recorded_under_and_ends_with_its_length(tmp_path: Path) -> None:
    trace = Trace(tmp_path)
    sequence(trace, opened(), 5)
    trace.close()
    (path,) = tmp_path.iterdir()
    head, *records, end = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    assert path.name == "trace-0001.jsonl.gz"
    assert (head["trace"], head["part"], head["tables"]) == (FORMAT, 1, SOURCES)
    assert "HELD" in head["states"]["lease"]
    assert (end["end"], end["lines"]) == (FORMAT, len(records)) == (FORMAT, 6)


async def test_what_was_flushed_is_there_after_a_crash(tmp_path: Path, nursery: trio.Nursery) -> None:
    trace = Trace(tmp_path)
    nursery.start_soon(trace.run, 0.2)
    value = sequence(trace, opened(), 3)
    await trio.sleep(0.3)
    sequence(trace, value, 3)  # and here the process dies
    lines = lines_in(tmp_path / "trace-0001.jsonl.gz")
    assert [json.loads(line).get("n") for line in lines] == [None, 0, 1, 2, 3]
    assert len(list(records_of(tmp_path))) == 3
    trace.close()


def test_files_are_rotated_by_their_size_and_the_oldest_go(tmp_path: Path) -> None:
    trace = Trace(tmp_path, file_bytes=600, files=3)
    value = opened()
    for _ in range(40):
        value = sequence(trace, value, 5)
        trace.flush()
    trace.close()
    paths = sorted(tmp_path.iterdir())
    assert len(paths) == 3
    assert paths[0].name > "trace-0004"
    assert all(path.stat().st_size < 1500 for path in paths)
    for path in paths:
        head, first, second, *_ = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
        assert (f"trace-{head['part']:04}.jsonl.gz", first["n"], second["n"]) == (path.name, 0, 1)


def test_a_restart_goes_on_and_keeps_what_the_crash_left(tmp_path: Path) -> None:
    crashed = Trace(tmp_path)
    sequence(crashed, opened())
    crashed.flush()
    trace = Trace(tmp_path, files=2)
    sequence(trace, opened())
    trace.close()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["trace-0001.jsonl.gz", "trace-0002.jsonl.gz"]
    runs = [json.loads(lines_in(path)[0]) for path in sorted(tmp_path.iterdir())]
    assert runs[0]["run"] != runs[1]["run"]
    assert [run["part"] for run in runs] == [1, 1]
    crashed.close()


def test_a_disk_that_is_full_ends_the_files_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    trace = Trace(tmp_path)
    value = sequence(trace, opened())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.Files, "_put", full)
    with caplog.at_level(logging.ERROR):
        trace.flush()
    sequence(trace, value, 3)
    trace.flush()
    trace.close()
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert re.search("cannot be written: .*No space left", caplog.text)
    assert len(trace.records) == 4


# --------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("step", [1, 7, 4096])
def test_lines_come_as_soon_as_they_are_whole(step: int) -> None:
    text = b'{"n":1}\n{"n":2}\n{"n"'
    two = gzip.compress(text[:9]) + gzip.compress(text[9:])
    for data in (text, gzip.compress(text), two):
        unpacker = Unpacker()
        pieces = [data[place : place + step] for place in range(0, len(data), step)]
        assert [line for piece in pieces for line in unpacker.feed(piece)] == [b'{"n":1}\n', b'{"n":2}\n']
        assert not unpacker.is_whole
    assert Unpacker().is_whole


def test_what_comes_before_damage_is_returned() -> None:
    packer = zlib.compressobj(wbits=31)
    good = packer.compress(b'{"n":1}\n') + packer.flush(zlib.Z_SYNC_FLUSH)
    unpacker = Unpacker()
    assert unpacker.feed(good + b"\xff" * 20) == [b'{"n":1}\n']
    assert unpacker.damage
    assert unpacker.feed(b"more\n") == []


async def test_a_defect_is_in_the_trace_and_a_replay_meets_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = Trace(tmp_path)
    async with play(record=trace, defects=1) as scene:
        session, _ = await scene.open()
        scene.driver(session).dispatch(m.Prepared(99, b"never"))
        await trio.testing.wait_all_tasks_blocked()
    trace.close()
    (met,) = [record for record in trace.records if record.get("refused") == "internal_error"]
    assert met["event"] == {"type": "Prepared", "claim": 99}
    after = trace.records[trace.records.index(met) + 1]
    assert (after["event"]["type"], after["event"]["reason"]) == ("EndRequested", "internal_error")
    assert main(["replay", str(tmp_path)]) == 1
    assert "OPEN does not list Prepared" in capsys.readouterr().out
