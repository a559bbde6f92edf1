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


@pytest.mark.demo
@pytest.mark.speech
@pytest.mark.slow
@pytest.mark.timeout_s(150)
@pytest.mark.skipif(bool(hearing.missing()), reason="the extra `speech` is not installed")
def test_the_demo_verifies_itself(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "interlock", "demo", "--out", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert len(PROMISED) == len(CHECKS)
    for sentence in PROMISED:
        assert re.search(rf"^ok    {sentence}", ran.stdout, re.M), f"no line for: {sentence}\n{ran.stdout}"
    assert "all is well" in ran.stdout
    assert (tmp_path / "timeline.svg").read_text().endswith("</svg>\n")
    assert next((tmp_path / "trace").glob("*.jsonl.gz")).stat().st_size > 5_000
    assert replay(["replay", str(tmp_path / "trace")]) == 0
    for number in range(1, 5):
        with wave.open(str(tmp_path / f"reply-{number}.wav")) as wav:
            assert (wav.getframerate(), wav.getnchannels()) == (24_000, 1)


def test_a_missing_extra_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hearing, "NEEDED", ("json", "no_such_module"))
    assert demo.main(argparse.Namespace(out=tmp_path, audio=None)) == 2
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
