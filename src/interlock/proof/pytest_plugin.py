"""The pytest plugin: an async test marked ``cancel_sweep`` is a scenario, and is swept.

::

    @pytest.mark.cancel_sweep(depth=2)
    async def test_a_transfer_is_all_or_nothing(trial: Trial) -> None:
        bank = Bank(a=10, b=0)
        outcome = await trial.operation(bank.transfer, "a", "b")
        assert outcome.returned == (bank.b == 10)

The mark takes what :class:`interlock.proof.Scenario` has, and ``seed`` and ``limits``. Fixtures are made once for the
whole sweep, so only what does not change may come from one. A failure shows the shortest plan; ``pytest --sweep-replay
PLAN`` runs that plan alone. The plugin imports nothing until a test has the mark.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

MARK = "cancel_sweep"
OPTIONS = ("depth", "seed", "limits", "scopes", "strict", "leaves_tasks")

REPORTS = pytest.StashKey[list[Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("sweep", "interlock's cancel sweep")
    group.addoption("--sweep-depth", type=int, metavar="N", help="injections in a plan, whatever the marks say")
    group.addoption("--sweep-replay", metavar="PLAN", help="run only this plan, as a failure printed it: early@7:op")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark, and begin the books."""
    config.addinivalue_line(
        "markers", f"{MARK}(depth=1, ...): run the async test once for each point where it can be cancelled"
    )
    config.stash[REPORTS] = []


@pytest.fixture
def trial() -> None:
    """Stand for the trial of each run; the sweep puts it in the place of this."""
    return


def pytest_itemcollected(item: pytest.Item) -> None:
    """Make a plain test of a marked one, so that whatever else runs async tests here lets it be."""
    mark = item.get_closest_marker(MARK)
    if mark is None or not isinstance(item, pytest.Function):
        return
    if not inspect.iscoroutinefunction(item.obj) or "trial" not in item.fixturenames:
        raise pytest.UsageError(f"{item.nodeid}: a test marked {MARK} is an `async def` that takes `trial`")
    if mark.args or not set(mark.kwargs) <= set(OPTIONS):
        raise pytest.UsageError(f"{item.nodeid}: the mark {MARK} takes {', '.join(OPTIONS)}, by name")
    item.obj = _plain(item, item.obj, dict(mark.kwargs))


def _plain(item: pytest.Item, test: Callable[..., Awaitable[None]], options: dict[str, Any]) -> Callable[..., None]:
    def swept(**fixtures: object) -> None:
        from interlock.proof.scenario import Scenario

        async def body(trial: object) -> None:
            await test(**{**fixtures, "trial": trial})

        settings = {name: value for name, value in options.items() if name in ("seed", "limits")}
        declared = {name: value for name, value in options.items() if name not in settings}
        if item.config.getoption("--sweep-depth") is not None:
            declared["depth"] = item.config.getoption("--sweep-depth")
        _run(item, Scenario(item.name, body, **declared), settings)

    return swept


def _run(item: pytest.Item, scenario: Any, settings: dict[str, Any]) -> None:
    from interlock.proof.plan import parse
    from interlock.proof.run import run_plan
    from interlock.proof.sweep import sweep
    from interlock.proof.verdict import Verdict

    replay = item.config.getoption("--sweep-replay")
    if replay is not None:
        case = run_plan(scenario, parse(replay), **settings)
        if case.verdict is not Verdict.PASS:
            pytest.fail(str(case), pytrace=False)
        return
    report = sweep(scenario, **settings)
    item.config.stash[REPORTS].append(report)
    item.add_report_section("call", "sweep", str(report))
    if report.verdict is not Verdict.PASS:
        pytest.fail(_why(item, report), pytrace=False)


def _why(item: pytest.Item, report: Any) -> str:
    """Say what was found with the fewest injections, and how to see it again."""
    from interlock.proof.plan import text

    head = str(report).split("\n", 1)[0]
    if report.shortest is None:
        return "\n".join([head, *report.unresolved])
    again = f"pytest '{item.nodeid}' --sweep-replay '{text(report.shortest)}'"
    return "\n".join([head, str(report.failures[0]), f"  again: {again}"])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how much was swept, so that an empty sweep shows."""
    reports = config.stash[REPORTS]
    if reports:
        plans, steps = sum(report.plans for report in reports), sum(report.steps for report in reports)
        terminalreporter.write_line(f"sweep: {len(reports)} scenarios, {plans} plans, {steps} task steps")
