"""benchmarks/step.py says what it needs, and does not begin half of its work."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(any(importlib.metadata.distributions(name="sismic")), reason="the extra `bench` is installed")
def test_without_its_peers_the_benchmark_says_what_to_install() -> None:
    command = [sys.executable, "benchmarks/step.py", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("step: ")
    assert done.stderr.endswith("not installed; pip install -e '.[bench]'\n")
