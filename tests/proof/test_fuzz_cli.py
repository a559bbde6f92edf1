"""`interlock fuzz`: exit codes, budget, corpus, JSON, replay; bad input is one line, exit code 2, and no traceback."""

from __future__ import annotations

import argparse
import builtins
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from interlock.cli import main as interlock
from interlock.proof import fuzz_cli
from interlock.proof.fuzz import INSTALL, hypothesis_of
from interlock.proof.fuzz_corpus import Corpus
from interlock.proof.fuzz_schedule import Event, Found, Schedule, Unusable, load
from tests.proof.fuzz_faults import planted

DOOR = """
machine = "door"
doc = "A door."
initial = "SHUT"
final = ["GONE"]
[events]
client = ["Opened", "Removed"]
[message.Opened]
doc = "Somebody opens it."
[message.Removed]
doc = "Somebody takes it away."
[state.SHUT]
doc = "Shut."
on.Opened = { to = "WIDE" }
on.Removed = { to = "GONE" }
[state.WIDE]
doc = "Open."
refuse = { Opened = "is_open" }
on.Removed = { to = "GONE" }
[state.GONE]
doc = "Gone."
"""


def parsed(*words: str) -> argparse.Namespace:
    """Read words as the command line does."""
    parser = argparse.ArgumentParser()
    fuzz_cli.arguments(parser)
    return parser.parse_args(words)


def test_nothing_broken_is_exit_code_0_and_leaves_a_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--examples", "30", "--corpus", str(tmp_path))
    assert fuzz_cli.main(parsed(*words)) == 0
    told = capsys.readouterr().out
    assert told.startswith("flat: 30 examples, ")
    assert told.endswith("nothing was broken\n")
    kept = Corpus(tmp_path).schedules("flat")
    assert kept
    assert fuzz_cli.main(parsed(*words)) == 0
    assert not list((tmp_path / "failures").iterdir())


def test_what_was_broken_is_exit_code_1_and_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with planted("writer_not_woken"):
        assert fuzz_cli.main(parsed("--examples", "40", "--corpus", str(tmp_path))) == 1
    told = capsys.readouterr().out
    assert "BROKEN  promise 3: " in told
    assert "    1  open\n" in told
    (path, *_) = sorted((tmp_path / "failures").glob("*.json"))
    assert f"interlock fuzz --replay {path}" in told
    with planted("writer_not_woken"):
        assert fuzz_cli.main(parsed("--replay", str(path))) == 1
    assert fuzz_cli.main(parsed("--replay", str(path))) == 0


def test_json_has_the_counts_and_the_failures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with planted("writer_not_woken"):
        fuzz_cli.main(parsed("--examples", "40", "--json", "--seed", "3", "--corpus", str(tmp_path)))
    report = json.loads(capsys.readouterr().out)
    assert (report["kind"], report["seed"], report["examples"]) == ("flat", 3, 40)
    assert report["failures"][0]["events"][0][0] == "open"
    assert Path(report["failures"][0]["file"]).is_file()


def test_programs_of_the_api_and_machines_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "door.toml").write_text(DOOR)
    words = ("--examples", "20", "--corpus", str(tmp_path))
    assert fuzz_cli.main(parsed("--kind", "api", *words)) == 0
    assert capsys.readouterr().out.startswith("api: ")
    assert fuzz_cli.main(parsed(str(tmp_path / "door.toml"), *words)) == 0
    assert capsys.readouterr().out.startswith("machines: 20 examples, ")


def test_no_example_at_all_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz_cli.main(parsed("--examples", "0", "--corpus", str(tmp_path))) == 2
    assert "no example ran" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ("--budget", "soon"),
        ("--budget", "0s"),
        ("--budget", "nan"),
        ("--budget", "infh"),
        ("--seed", "x"),
        ("--jobs", "1.5"),
        ("--kind", "serial"),
        ("--examples", "many"),
    ],
)
def test_bad_options_are_told(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parsed(*words)
    assert ended.value.code == 2
    assert words[1] in capsys.readouterr().err


GOOD: dict[str, Any] = {"interlock_fuzz": 1, "kind": "flat", "order": 0, "variant": 0, "events": [["open", 0, 0]]}

BAD_FILES = {
    "": "not JSON",
    "[]": "no schedule",
    "\x00": "not JSON",
    "[" * 100_000: "not JSON",
    json.dumps(GOOD | {"interlock_fuzz": 2}): "no schedule",
    json.dumps(GOOD | {"kind": "round"}): '"kind" is one of',
    json.dumps(GOOD | {"events": {}}): '"events" is a list',
    json.dumps(GOOD | {"events": [["open", -1]]}): "event 1: -1 is not a number",
    json.dumps(GOOD | {"events": [["open", 0, 9]]}): "haste is 0 to 3",
    json.dumps(GOOD | {"events": [["open"], 7]}): "event 2 is not",
    json.dumps(GOOD | {"events": [["sing"]]}): "there is no act 'sing'",
    json.dumps(GOOD | {"order": True}): "order: True is not a number",
    json.dumps(GOOD | {"machines": 3, "kind": "machines"}): '"machines" is a list',
    json.dumps(GOOD | {"machines": ["no.toml"], "kind": "machines"}): "no.toml",
}


@pytest.mark.parametrize(("text", "told"), BAD_FILES.items(), ids=range(len(BAD_FILES)))
def test_a_bad_file_is_one_line(text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert interlock(["fuzz", "--replay", str(path)]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1


def test_what_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "bad.toml").write_text(DOOR.replace('to = "WIDE"', 'to = "AJAR"'))
    for words in (
        ["--replay", str(tmp_path / "nothing.json")],
        [str(tmp_path / "nothing.toml")],
        [str(tmp_path / "bad.toml")],
        ["--examples", "1", "--corpus", str(tmp_path / "file")],
    ):
        assert interlock(["fuzz", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_corpus_with_a_broken_file_names_it(tmp_path: Path) -> None:
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat" / "half.json").write_text('{"interlock_fuzz"')
    with pytest.raises(Unusable, match=r"half\.json: not JSON"):
        fuzz_cli.main(parsed("--examples", "1", "--corpus", str(tmp_path)))


def test_without_hypothesis_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name == "hypothesis":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(Unusable, match=r"pip install 'interlock\[proof\]'"):
        hypothesis_of()
    assert "interlock[proof]" in INSTALL


def test_a_failure_is_written_once(tmp_path: Path) -> None:
    found = Found("flat", Schedule((Event("open", 1, 2),), 3, 1), ("promise 1: so",), "seed 1")
    first = Corpus(tmp_path).keep_failure(found)
    assert Corpus(tmp_path).keep_failure(found._replace(about="seed 2")) == first
    assert load(first) == found


def test_replaying_needs_no_hypothesis() -> None:
    code = "import sys, interlock.proof.fuzz_cli, interlock.proof.fuzz_replay; sys.exit('hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
