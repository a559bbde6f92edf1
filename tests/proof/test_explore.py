"""`interlock explore`: what it finds in small worlds, and that it says so when it did not look to the end.

The numbers of states are pinned: whoever changes a machine, the adversary or the canonical form sees it here, and says
in the commit why the number is another one.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from interlock.cli import main
from interlock.proof.explore.chart import svg_chart, text_chart
from interlock.proof.explore.composed import System
from interlock.proof.explore.model import Model, Property
from interlock.proof.explore.replay import Unplayable, replayed
from interlock.proof.explore.search import Limits, search
from interlock.proof.explore.target import models
from interlock.proof.explore.verdict import Exploration, Verdict, judged
from interlock.proof.world.bounds import WORLDS
from interlock.proof.world.model import SessionWorld

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

PINNED = {"overlap": (1_847, 27_015, 18), "opening": (3_463, 50_419, 13)}
"""States, steps, and the length of the longest shortest path."""


def world(name: str) -> SessionWorld:
    return SessionWorld(name, WORLDS[name])


def example(target: str) -> Exploration:
    (model,) = models(str(EXAMPLES / target))
    return judged(search(model))


def verdicts(found: Exploration) -> dict[str, Verdict]:
    return {finding.property.name: finding.verdict for finding in found.findings}


@pytest.mark.slow
@pytest.mark.parametrize("name", PINNED)
def test_all_that_is_promised_holds_in_every_state_of_a_world_of_this_size(name: str) -> None:
    found = judged(search(world(name)))
    assert (found.states, found.steps, found.depth) == PINNED[name]
    assert set(verdicts(found).values()) == {Verdict.HOLDS}, found


def test_what_was_not_looked_at_to_the_end_is_undetermined() -> None:
    found = judged(search(world("claim"), Limits(states=50)))
    assert set(verdicts(found).values()) == {Verdict.UNDETERMINED}
    assert found.incomplete == "over 50 states"


def test_a_lock_without_fencing_tokens_lets_the_older_write_win_in_five_moves() -> None:
    found = example("explore_lock.py:UNFENCED")
    assert (found.states, found.steps) == (85, 206)
    (broken,) = (finding for finding in found.findings if finding.verdict is Verdict.VIOLATED)
    assert broken.property.name == "newest wins"
    assert [label.partition("(")[0] for label in broken.path] == [
        "WorkBegun",
        "LeaseOver",
        "WorkBegun",
        "WriteArrived",
        "WriteArrived",
    ]


def test_with_fencing_tokens_it_does_not() -> None:
    found = example("explore_lock.py:FENCED")
    assert (found.states, found.steps) == (57, 138)
    assert found.verdict is Verdict.HOLDS
    assert found.dead_rows() == []


def test_the_prior_art_is_found_to_do_what_it_was_observed_to_do() -> None:
    found = example("explore_resume.py:THEIRS")
    lengths = {finding.property.name: len(finding.path) for finding in found.findings if finding.path}
    assert lengths == {"not locked out": 4, "a grace runs": 2, "takeover goes on": 2}


def test_a_counterexample_is_replayed_under_the_names_of_a_real_run() -> None:
    (model,) = models(str(EXAMPLES / "explore_lock.py:UNFENCED"))
    broken = next(f for f in judged(search(model)).findings if f.verdict is Verdict.VIOLATED)
    replay = replayed(model, broken.path)
    assert replay.names == ("newest wins",)
    chart = text_chart(replay, model.lifelines)
    assert "LockGranted(worker=2, number=2)" in chart
    assert chart.splitlines()[-1].strip().startswith("=> newest wins")
    assert svg_chart(replay, model.lifelines, "title").startswith("<svg")


def test_a_path_that_is_not_possible_any_more_says_so() -> None:
    (model,) = models(str(EXAMPLES / "explore_lock.py:FENCED"))
    with pytest.raises(Unplayable, match="not possible here"):
        replayed(model, ["WorkDone(worker=1)"])


def test_a_run_that_stays_is_found_and_fairness_rules_it_out() -> None:
    (model,) = models(str(EXAMPLES / "explore_lock.py:FENCED"))
    asked = Property("comes back", "The lock comes back.", "again and again", goal="free")
    stays = judged(search(_asking(model, asked, {})))
    ends = judged(search(_asking(model, asked, {"LeaseOver": "an armed timer fires"})))
    assert verdicts(stays)["comes back"] is Verdict.VIOLATED
    assert verdicts(ends)["comes back"] is Verdict.HOLDS


def _asking(model: Model, asked: Property, fairness: dict[str, str]) -> Model:
    assert isinstance(model, System)
    return replace(model, about_runs=(asked,), fairness=fairness)


def test_the_command_says_what_holds_and_fails_for_what_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", str(EXAMPLES / "explore_lock.py:FENCED")]) == 0
    assert "HOLDS        newest wins" in capsys.readouterr().out
    assert main(["explore", str(EXAMPLES / "explore_lock.py:UNFENCED"), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)["explorations"][0]
    assert (report["verdict"], report["states"], report["complete"]) == ("VIOLATED", 85, True)


def test_counterexamples_are_written_as_text_picture_and_path(tmp_path: Path) -> None:
    main(["explore", str(EXAMPLES / "explore_lock.py:UNFENCED"), "--out", str(tmp_path)])
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"a-lock-without-fencing-tokens-newest-wins.{kind}" for kind in ("json", "svg", "txt")]


@pytest.mark.parametrize("given", [["--states", "-5"], ["--seconds", "0"], ["--jobs", "-1"], ["--states", "many"]])
def test_a_number_that_is_none_is_named(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["explore", *given])
    assert left.value.code == 2
    assert f"argument {given[0]}: {given[1]!r} is not a number" in capsys.readouterr().err


def test_what_is_broken_in_a_file_is_named_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "mutants").mkdir()
    (tmp_path / "mutants" / "broken.toml").write_text('[[mutant]]\nname = "x\n')
    for given, says in [
        ([f"{tmp_path}/broken.py"], "broken.py: cannot be imported: SyntaxError: invalid syntax (broken.py, line 1)"),
        (["--mutants", f"{tmp_path}/mutants"], "broken.toml: Illegal character"),
    ]:
        assert main(["explore", *given]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert says in line


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--world", "nope"], "no world is called nope"),
        (["--machines", "nowhere"], "is not there"),
        (["nowhere.py"], "there is no such file"),
        (["no.such.module"], "cannot be imported"),
        (["interlock.errors"], "has nothing to explore"),
        (["interlock.errors:Defect"], "is no model"),
        (["interlock.errors:nobody"], "has no nobody"),
        (["interlock.errors", "--world", "claim"], "leave it out"),
        (["--mutants", "nowhere"], "there are no mutants"),
        (["--mutants", "--only", "unheard-of"], "no mutant has unheard-of"),
        (["--generate", "--world", "nope"], "no world is called nope"),
        (["--generate", "--record"], "name it with --mutants"),
        (["--out", "/proc/nowhere"], "/proc/nowhere: cannot be written"),
        ([str(EXAMPLES / "explore_lock.py:NOBODY")], "has no NOBODY"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(given: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", *given]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert says in lines[0]
