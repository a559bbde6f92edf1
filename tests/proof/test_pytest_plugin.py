"""The plugin sweeps marked tests, beside a conftest that runs async tests itself, as ours does."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = "interlock.proof.pytest_plugin"

HEAD = """
import pytest, trio

@pytest.fixture
def nap():
    return 0.1

class Door:
    is_open = False
"""

GOOD = """
@pytest.mark.cancel_sweep(depth=2)
async def test_good(trial, nap):
    door = Door()
    async def enter():
        door.is_open = True
        try:
            await trio.sleep(nap)
        finally:
            door.is_open = False
    await trial.operation(enter)
    assert not door.is_open
"""

BAD = """
@pytest.mark.cancel_sweep
async def test_bad(trial, nap):
    door = Door()
    async def enter():
        door.is_open = True
        await trio.sleep(nap)
        door.is_open = False
    await trial.operation(enter)
    assert not door.is_open, "the door is open"

async def test_neighbour():
    await trio.sleep(1000)
"""


def pytest_run(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest over one file, with our conftest and the plugin."""
    shutil.copy(ROOT / "tests" / "conftest.py", folder / "conftest.py")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    timeout_s(n)\n    real_clock\n")
    (folder / "test_it.py").write_text(HEAD + text)
    installed = any(entry.value == PLUGIN for entry in importlib.metadata.entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", PLUGIN]
    command = [sys.executable, "-m", "pytest", *plugin, "-q", "--strict-markers", "-W", "error", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_marked_test_is_swept_and_counted(tmp_path: Path) -> None:
    result = pytest_run(tmp_path, GOOD)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 passed" in result.stdout
    assert "sweep: 1 scenarios, " in result.stdout
    assert " 0 plans" not in result.stdout


def test_a_failure_shows_the_shortest_plan_and_the_place_and_replays(tmp_path: Path) -> None:
    result = pytest_run(tmp_path, BAD)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "1 failed, 1 passed" in result.stdout
    assert "early@0:op" in result.stdout
    assert "the door is open" in result.stdout
    assert "`await trio.sleep(nap)`" in result.stdout
    assert "again: pytest 'test_it.py::test_bad' --sweep-replay 'entry@0:op'" in result.stdout
    replayed = pytest_run(tmp_path, BAD, "--sweep-replay", "late@1:op", "-k", "bad")
    assert replayed.returncode == 1
    assert "had been woken at" in replayed.stdout


def test_the_depth_of_the_command_line_wins(tmp_path: Path) -> None:
    shallow = pytest_run(tmp_path, GOOD, "--sweep-depth", "0")
    assert "sweep: 1 scenarios, 0 plans" in shallow.stdout


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("@pytest.mark.cancel_sweep\ndef test_plain(trial): ...", "is an `async def` that takes `trial`"),
        ("@pytest.mark.cancel_sweep\nasync def test_alone(): ...", "is an `async def` that takes `trial`"),
        ("@pytest.mark.cancel_sweep(deep=2)\nasync def test_deep(trial): ...", "takes depth, seed, limits"),
    ],
)
def test_a_mark_that_is_wrong_is_told(tmp_path: Path, text: str, why: str) -> None:
    result = pytest_run(tmp_path, text)
    assert result.returncode != 0
    assert why in result.stdout + result.stderr
    assert "Traceback" not in result.stderr
