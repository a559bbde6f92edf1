"""The example says what docs/sweep.md says that it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock.proof import Verdict, sweep
from interlock.proof.load import load
from interlock.proof.plan import text

ROOT = Path(__file__).parents[2]


def test_the_pool_leaks_and_the_mended_one_does_not() -> None:
    found = load(str(ROOT / "examples" / "sweep_a_pool.py"))
    leaky = sweep(found["leaky"], depth=1)
    assert leaky.verdict is Verdict.FAIL
    assert all("the pool of 1 has 0 left" in case.findings[0] for case in leaky.failures)
    assert sweep(found["mended"]).verdict is Verdict.PASS


def test_the_report_in_the_docs_is_what_the_sweep_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    documented = (ROOT / "docs" / "sweep.md").read_text()
    blocks = re.findall(r"```text\n(.*?)```", documented, flags=re.S)
    found = load("examples/sweep_a_pool.py")
    printed = [str(sweep(found["leaky"], depth=1)), str(sweep(found["mended"]))]
    assert [timeless(block) for block in blocks] == [timeless(report) for report in printed]
    shortest = sweep(found["leaky"], depth=1).shortest
    assert shortest is not None
    assert f"--replay {text(shortest)}" in documented


def timeless(report: str) -> str:
    """Leave out how long it took."""
    return re.sub(r"in [0-9.]+ s", "in ... s", report.strip())
