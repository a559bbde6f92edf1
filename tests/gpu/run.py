"""All that only a GPU can show, in one go of under four minutes: ``make gpu``.

Runs the tests of this folder and those of the stage with their models on ``cuda``, then both benchmarks. Without a GPU
it says so and ends well. It needs torch, and what Interlock itself needs, and pytest; the tree need not be installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ["tests/gpu", "tests/workers/torch/test_faults.py", "tests/workers/torch/test_language.py"]
ALIKE = "not without_a_cache"
"""That one compares with the CPU to the last token; tests/gpu does so within tolerances."""

STEPS = [
    ("tests", [sys.executable, "-m", "pytest", "-q", "-rs", *TESTS, "-k", ALIKE], 120),
    ("stage", [sys.executable, "benchmarks/stage.py", "--device", "cuda"], 50),
    ("barge-in", [sys.executable, "benchmarks/barge_in.py", "--device", "cuda"], 50),
]
"""What runs, and the seconds that it may take: 220 in all."""


def main() -> int:
    """Run everything; return 0 when all went well, or there is no GPU."""
    sys.path.insert(0, str(ROOT))
    from tests.gpu.conftest import why_not

    if reason := why_not():
        say(f"make gpu: skipped, {reason}")
        return 0
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), str(ROOT / "benchmarks")])
    env = os.environ | {"INTERLOCK_TEST_DEVICE": "cuda", "PYTHONPATH": paths}
    return max(run(name, command, limit_s, env) for name, command, limit_s in STEPS)


def run(name: str, command: list[str], limit_s: int, env: dict[str, str]) -> int:
    """Run one thing within its time; return its exit code."""
    began = time.monotonic()
    try:
        code = subprocess.run(command, cwd=ROOT, env=env, timeout=limit_s, check=False).returncode
    except subprocess.TimeoutExpired:
        code = 124
    say(f"make gpu: {name} ended with {code} after {time.monotonic() - began:.0f} of {limit_s} s")
    return code


def say(line: str) -> None:
    """Print a line, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
