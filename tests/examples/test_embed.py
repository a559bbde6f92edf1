"""The embedding example of the README: it is what the README shows, and it runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "embed.py"


@pytest.mark.speech
@pytest.mark.timeout_s(90)
def test_the_example_hears_a_recording_and_answers() -> None:
    pytest.importorskip("pocketsphinx", reason="the extra `speech` is not installed")
    command = [sys.executable, str(EXAMPLE), str(ROOT / "examples" / "audio" / "go-forward.wav")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=80)
    assert (done.returncode, done.stdout) == (0, "You said: go forward ten meters.\n"), done.stderr


def test_the_readme_shows_the_example_as_it_is() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    body = EXAMPLE.read_text().split('"""', 2)[2].strip()
    assert body in [block.strip() for block in blocks]


def test_the_example_is_short() -> None:
    lines = EXAMPLE.read_text().split("async def main", 1)[1].splitlines()
    assert len(lines) <= 25
