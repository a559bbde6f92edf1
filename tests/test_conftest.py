"""The ground that all other tests stand on: clocks, nurseries and limits, tried on a small suite of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

SUITE = """
import threading, time
import pytest, trio
from hypothesis import given, strategies as st

async def test_an_hour_passes_at_once():
    start = time.monotonic()
    await trio.sleep(3600)
    assert time.monotonic() - start < 5

async def test_clock_is_the_running_one(clock):
    await trio.sleep(7)
    assert trio.lowlevel.current_clock() is clock

@pytest.mark.real_clock
async def test_real_clock_is_real():
    start = time.monotonic()
    await trio.sleep(0.05)
    assert time.monotonic() - start >= 0.04

async def test_nursery_ends_with_the_test(nursery):
    nursery.start_soon(trio.sleep_forever)
    await trio.sleep(1)

@given(st.integers())
async def test_hypothesis(number):
    await trio.sleep(1)
    assert isinstance(number, int)

@given(st.integers())
async def test_hypothesis_fails(number):
    await trio.sleep(1)
    assert number < 10

async def test_assertion_fails():
    await trio.sleep(1)
    assert 1 == 2

async def test_skip_skips():
    pytest.skip("as it must")

@pytest.mark.timeout_s(0.3)
async def test_deadlock_fails():
    await trio.sleep_forever()

@pytest.mark.timeout_s(0.3)
async def test_shielded_deadlock_fails():
    with trio.CancelScope(shield=True):
        await trio.Event().wait()

@pytest.mark.timeout_s(0.3)
async def test_swallowed_limit_fails():
    with trio.CancelScope() as scope:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            pass

@pytest.mark.timeout_s(0.3)
async def test_busy_loop_fails():
    while True:
        pass

@pytest.mark.timeout_s(0.3)
def test_plain_hang_fails():
    threading.Event().wait()

async def test_the_next_one_is_unharmed():
    await trio.sleep(1)
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Run the suite in a process of its own, with a short grace."""
    place = tmp_path_factory.mktemp("suite")
    shutil.copy(ROOT / "tests" / "conftest.py", place)
    place.joinpath("test_suite.py").write_text(SUITE + "import conftest\nconftest.GRACE_S = 0.5\n")
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(place)]
    command += ["-rA", "-p", "no:cacheprovider", "--import-mode=prepend", str(place)]
    wide = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, timeout=50, cwd=place, env=wide, check=False).stdout


@pytest.mark.parametrize(
    "line",
    [
        "PASSED test_suite.py::test_an_hour_passes_at_once",
        "PASSED test_suite.py::test_clock_is_the_running_one",
        "PASSED test_suite.py::test_real_clock_is_real",
        "PASSED test_suite.py::test_nursery_ends_with_the_test",
        "PASSED test_suite.py::test_hypothesis",
        "FAILED test_suite.py::test_hypothesis_fails - ",
        "FAILED test_suite.py::test_assertion_fails - assert 1 == 2",
        "SKIPPED [1] test_suite.py:",
        "FAILED test_suite.py::test_deadlock_fails - Failed: still running after 0.3 s",
        "FAILED test_suite.py::test_shielded_deadlock_fails - Failed: still running after 0.3 s",
        "FAILED test_suite.py::test_swallowed_limit_fails - Failed: still running after 0.3 s",
        "FAILED test_suite.py::test_busy_loop_fails - Failed: still running after 0.3 s",
        "FAILED test_suite.py::test_plain_hang_fails - Failed: still running after 0.3 s",
        "PASSED test_suite.py::test_the_next_one_is_unharmed",
        "run_in_trio.<locals>.main waits at ",
    ],
)
def test_outcome(outcome: str, line: str) -> None:
    assert line in outcome


def test_nothing_else_happened(outcome: str) -> None:
    assert " 7 failed, 6 passed, 1 skipped in " in outcome.rstrip().splitlines()[-1]
