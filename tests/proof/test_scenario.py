"""A scenario is a function or a class; what is neither is refused where it is written."""

from __future__ import annotations

import pytest
import trio

from interlock.proof import Misused, Outcome, Scenario, Trial, Verdict, run_plan, scenario, sweep


@scenario(depth=2, scopes=("nap",))
class Napping:
    """Written as a class, with a plain function among its three."""

    naps = 0

    async def setup(self, trial: Trial) -> None:
        await trio.lowlevel.checkpoint()
        self.scope = trial.expose("nap", trio.CancelScope())

    async def run(self) -> str:
        with self.scope:
            await trio.sleep(1)
            self.naps += 1
        return "rested"

    def check(self, outcome: Outcome) -> None:
        assert self.naps <= 1
        assert not outcome.cancelled or self.naps == 0


@scenario
class Bare:
    async def run(self) -> None:
        await trio.lowlevel.checkpoint()


def test_a_class_is_a_scenario() -> None:
    made: object = Napping
    assert isinstance(made, Scenario)
    assert (made.name, made.depth) == ("Napping", 2)
    report = sweep(Napping)
    assert report.verdict is Verdict.PASS, str(report)
    assert report.scopes["nap"].sites == 2
    assert sweep(Bare).verdict is Verdict.PASS


def test_what_is_no_scenario_is_refused() -> None:
    with pytest.raises(Misused, match="has no `run`"):
        scenario(type("Empty", (), {}))
    with pytest.raises(Misused, match="is an `async def` of one argument, or a class"):
        scenario(len)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["op", "timer", "timer3", "not a name"])
def test_a_name_that_a_plan_could_not_spell_is_refused(name: str) -> None:
    async def body(trial: Trial) -> None:
        trial.expose(name, trio.CancelScope())

    case = run_plan(scenario(body), ())
    assert case.verdict is Verdict.UNRESOLVED
    assert "cannot name a scope" in case.findings[0]


def test_two_scopes_of_one_name_are_refused() -> None:
    async def body(trial: Trial) -> None:
        trial.expose("host", trio.CancelScope())
        trial.expose("host", trio.CancelScope())

    assert "two scopes are called 'host'" in run_plan(scenario(body), ()).findings[0]


def test_a_second_operation_is_a_failure_of_the_scenario() -> None:
    async def body(trial: Trial) -> None:
        await trial.operation(trio.sleep, 1)
        await trial.operation(trio.sleep, 1)

    assert "a scenario has one operation" in run_plan(scenario(body), ()).findings[0]


def test_to_settle_comes_after_the_operation() -> None:
    async def body(trial: Trial) -> None:
        await trial.settle(trio.sleep, 1)

    assert "trial.settle follows trial.operation" in run_plan(scenario(body), ()).findings[0]
