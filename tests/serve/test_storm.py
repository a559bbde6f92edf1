"""The storm of benchmarks/storm.py, small: real processes, real resets, and every event once and in order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout_s(120)
def test_sessions_that_drop_and_resume_at_random_read_every_event_once_and_in_order() -> None:
    command = [sys.executable, "benchmarks/storm.py", "--sessions", "100", "--seconds", "10", "--every", "4"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "benchmarks")])}
    done = subprocess.run(
        [*command, "--only", "storm", "--try"], cwd=ROOT, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout[done.stdout.index("{") :])
    assert (told["opened"], told["terminals"]) == (100, 100)
    assert told["drops"] > 50
    assert told["resumed"] == told["drops"]
    assert told["frames"] > 1000
    assert (told["lost"], told["repeated_or_late"], told["errors"], told["hung_up_on"]) == (0, 0, 0, 0)
    held = {"owed": [], "slots": 0, "sessions": 0, "requests": 0, "journal_bytes": 0, "input_bytes": 0, "defects": []}
    assert told["books_after"] == held
    assert (told["exit_code"], told["owed_at_exit"]) == (0, [])
