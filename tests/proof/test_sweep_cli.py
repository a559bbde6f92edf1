"""`interlock sweep`: exit codes, JSON, replay, progress; bad input is one line and never a traceback."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from interlock.errors import WorldError
from interlock.proof import errands, sweep_cli
from interlock.proof.plan import BadPlan
from interlock.proof.sweep import Progress
from interlock.proof.sweep_cli import _in_full
from interlock.proof.verdict import Limits

POOL = str(Path(__file__).parents[2] / "examples" / "sweep_a_pool.py")

QUIET = """
import trio
from interlock.proof import scenario

@scenario
async def quiet(trial):
    trial.expose("host", trio.CancelScope())
    await trial.operation(trio.lowlevel.checkpoint)
"""


def run(words: Sequence[str]) -> int:
    """Run the command as the command line does."""
    parser = argparse.ArgumentParser()
    sweep_cli.arguments(parser)
    return sweep_cli.main(parser.parse_args(words))


def test_a_pool_that_leaks_is_found_and_a_mended_one_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([f"{POOL}:leaky", "--depth", "1"]) == 1
    told = capsys.readouterr().out
    assert told.startswith("FAIL  leaky  (depth 1, seed 0)\n")
    assert "the pool of 1 has 0 left" in told
    assert "await trio.sleep(0.05)" in told
    assert run([f"{POOL}:mended"]) == 0


def test_a_failure_is_replayed_by_its_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([POOL, "--scenario", "leaky", "--json", "--depth", "1"]) == 1
    (report,) = json.loads(capsys.readouterr().out)
    plan = report["failures"][0]["plan"]
    assert run([POOL, "--scenario", "leaky", "--replay", plan]) == 1
    assert plan in capsys.readouterr().out
    assert run([POOL, "--scenario", "mended", "--replay", plan]) == 0


def test_the_json_has_the_counts(capsys: pytest.CaptureFixture[str]) -> None:
    run([POOL, "--json", "--depth", "1"])
    leaky, mended = json.loads(capsys.readouterr().out)
    assert (leaky["verdict"], mended["verdict"]) == ("FAIL", "PASS")
    assert mended["cases"] == {"PASS": mended["plans"] + 1, "FAIL": 0, "UNRESOLVED": 0}
    assert set(mended["scopes"]) == {"op", "timer"}
    assert mended["format"] == 1
    landing = leaky["failures"][0]["landings"][0]
    assert landing["file"] == POOL
    assert landing["await"] == Path(POOL).read_text().splitlines()[landing["line"] - 1].strip()


def test_what_is_not_known_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "quiet.py"
    file.write_text(QUIET)
    assert run([str(file)]) == 2
    assert "scope host had no site at all" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nosuch.py"], "there is no file nosuch.py"),
        (["no.such.module"], "no.such.module cannot be imported: ModuleNotFoundError"),
        (["a-b"], "neither a .py file nor the dotted name of a module"),
        ([f"{POOL}:nobody"], "no scenario called 'nobody'; it has leaky, mended"),
        ([POOL, "--scenario", "nobody"], "no scenario is called nobody; there are leaky, mended"),
        ([POOL, "--replay", "early@1:op"], "name it with --scenario, one of leaky, mended"),
        (["interlock.proof.plan"], "interlock.proof.plan has no scenario"),
    ],
)
def test_bad_input_is_told_in_one_line(words: list[str], why: str) -> None:
    with pytest.raises(WorldError) as refused:
        run(words)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "1 / 0", "def f(:", "import nosuchmodule"])
def test_a_file_that_cannot_be_imported_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text)
    with pytest.raises(WorldError, match="cannot be imported"):
        run([str(file)])


def test_a_bad_plan_and_a_bad_number_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadPlan, match="is no injection"):
        run([f"{POOL}:leaky", "--replay", "sometime"])
    with pytest.raises(SystemExit) as ended:
        run([POOL, "--depth", "-1"])
    assert ended.value.code == 2
    assert "is not a number of 0 or more" in capsys.readouterr().err


def test_progress_is_told_after_two_seconds_with_an_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    told = errands.Sweeping("pool")
    for progress in [Progress(10, 100, 1.9), Progress(20, 100, 2.1), Progress(21, 100, 2.2), Progress(50, 100, 18.0)]:
        told(progress)
    told.done()
    assert capsys.readouterr().err.splitlines() == [
        "pool: 20 of 100 plans, about 8 s for those known so far",
        "pool: 50 of 100 plans, about 18 s for those known so far",
    ]


def test_without_a_target_our_own_scenarios_are_swept(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--scenario", "detach", "--scenario", "append"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("PASS  append  (depth 1, seed 0)\n")
    assert "\nPASS  detach  (depth 1, seed 0)\n" in told


def test_in_full_a_plain_operation_is_swept_in_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--full", "--scenario", "ack"]) == 0
    assert capsys.readouterr().out.startswith("PASS  ack  (depth 2, seed 0)\n")
    depths = [_in_full(name, 0, Limits()).depth for name in ("takeover", "takeover_dies", "race_death_close")]
    assert depths == [3, 2, 1]
    assert _in_full("race_death_close", 0, Limits()).limits.preemptions == 2


@pytest.mark.parametrize("words", [["--full", "--depth", "1"], ["--full", POOL]])
def test_full_says_itself_how_deep(words: Sequence[str]) -> None:
    with pytest.raises(WorldError, match="--full says itself what is swept, and how deep"):
        run(words)


def test_every_plan_is_run_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    spared = []
    for words in (["--json"], ["--json", "--every"]):
        run(["--scenario", "ack", "--depth", "2", *words])
        (report,) = json.loads(capsys.readouterr().out)
        spared.append((report["plans"] + report["plans_alike"], report["plans_alike"] > 0))
    assert spared == [(spared[0][0], True), (spared[0][0], False)]


def test_processes_come_to_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for jobs in ("1", "2"):
        run([POOL, "--json", "--depth", "1", "--jobs", jobs])
        told.append([{**report, "seconds": 0} for report in json.loads(capsys.readouterr().out)])
    assert told[0] == told[1]


def test_many_reports_are_a_line_each_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["append", "commit", "ack", "playback_ack", "detach", "detach_late", "barge_in", "idle", "grace"]
    file = tmp_path / "page.md"
    assert run([*(word for name in names for word in ("--scenario", name)), "--page", str(file)]) == 0
    lines, page = capsys.readouterr().out.splitlines(), file.read_text()
    assert len(lines) == len(names) + 3
    assert lines[-1].startswith("9 scenarios, ")
    assert "0 FAIL, 0 UNRESOLVED" in lines[-1]
    assert lines[-1] in page
    assert page.startswith("# A sweep of our own runtime\n\nWritten by `interlock sweep` on ")
    assert "| detach_late | 1 | 0 | 3 | 12 |" in page


def test_a_page_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="cannot be written: Is a directory"):
        run([POOL, "--depth", "0", "--page", str(tmp_path)])
