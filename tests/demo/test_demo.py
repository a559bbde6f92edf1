"""The whole demo, as a visitor runs it."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from interlock import demo
from interlock.cli import main as replay
from interlock.demo import hearing
from interlock.demo.checks import CHECKS
from interlock.demo.checks_of_a_kill import CHECKS_OF_A_KILL

PROMISED = [
    r"the audio of 3 uninterrupted replies, recognised, gives back the user's words",
    r"at the barge-in at least 0.5 s of the reply was not yet sequenced",
    r"at the tear at least 0.5 s of the reply was not yet sequenced",
    r"at the takeover at least 0.5 s of the reply was not yet sequenced",
    r"after the cancelled response's response.done not one delta of it arrived",
    r"the trace shows that none was sequenced after the interrupt was accepted",
    r"what arrived is what was sequenced and not voided: in order, each once",
    r"the superseded client was told so and closed",
    r"the session got one terminal event, and nothing followed it",
    r"after session.closed the books hold no request, no slot and no journal byte",
    r"on SIGTERM the server ended with nothing owed",
    r"the longest stall of the server's event loop is under 150 ms: [0-9.]+ ms",
]


OF_A_KILL = [
    r"the audio of 4 uninterrupted replies, recognised, gives back the user's words",
    *PROMISED[1:],
    r"the reply whose worker was killed in mid-reply failed once, and says why",
    r"the session outlived its worker: it stayed open and attached",
    r"another process took the place of the one that was killed: voice: process \d+, then \d+, READY, incarnation 2",
    r"what was said next was answered to the end",
]


def demo_says(promised: list[str], *given: str) -> str:
    command = [sys.executable, "-m", "interlock", "demo", *given]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for sentence in promised:
        assert re.search(rf"^ok    {sentence}", ran.stdout, re.M), f"no line for: {sentence}\n{ran.stdout}"
    assert "all is well" in ran.stdout
    assert len(re.findall("^ok", ran.stdout, re.M)) == len(promised)
    return ran.stdout


@pytest.mark.demo
@pytest.mark.speech
@pytest.mark.slow
@pytest.mark.timeout_s(150)
@pytest.mark.skipif(bool(hearing.missing()), reason="the extra `speech` is not installed")
def test_the_demo_verifies_itself(tmp_path: Path) -> None:
    demo_says(PROMISED, "--out", str(tmp_path))
    assert len(PROMISED) == len(CHECKS)
    assert (tmp_path / "timeline.svg").read_text().endswith("</svg>\n")
    assert next((tmp_path / "trace").glob("*.jsonl.gz")).stat().st_size > 5_000
    assert replay(["replay", str(tmp_path / "trace")]) == 0
    for number in range(1, 5):
        with wave.open(str(tmp_path / f"reply-{number}.wav")) as wav:
            assert (wav.getframerate(), wav.getnchannels()) == (24_000, 1)


@pytest.mark.demo
@pytest.mark.speech
@pytest.mark.slow
@pytest.mark.timeout_s(150)
@pytest.mark.skipif(bool(hearing.missing()), reason="the extra `speech` is not installed")
def test_a_worker_killed_in_mid_reply_fails_that_reply_and_the_next_is_answered(tmp_path: Path) -> None:
    told = demo_says(OF_A_KILL, "--kill-worker", "--out", str(tmp_path))
    assert len(OF_A_KILL) == len(CHECKS) + len(CHECKS_OF_A_KILL)
    assert re.search(r"worker    voice, process \d+, is killed: SIGKILL", told)
    assert "client A  reads response.done (failed, worker_lost)" in told
    assert replay(["replay", str(tmp_path / "trace")]) == 0


def test_a_missing_extra_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hearing, "NEEDED", ("json", "no_such_module"))
    assert demo.main(argparse.Namespace(out=tmp_path, audio=None, kill_worker=False)) == 2
    told = capsys.readouterr().err
    assert told == "interlock demo: not installed: no_such_module; pip install 'interlock[speech,serve]'\n"


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    demo.arguments(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    told = capsys.readouterr().out
    assert "barge-in" in told
    assert "Exit codes: 0 every check holds" in told
