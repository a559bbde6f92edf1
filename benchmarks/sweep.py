"""How fast a sweep runs cases, beside the loop that one would write by hand: one `trio.run` for each.

Three loops run the same cancels in the same scenario, in turns, in the same minute:

* `by hand`: an instrument of ten lines cancels at the n-th step; nothing is recorded, checked or made deterministic;
* `alone`: the sweep's oracles, and one `trio.run` for each case;
* `sweep`: the sweep's oracles, and cases share a `trio.run`, which is what it does.
"""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import trio
import trio.testing

from interlock.proof import Limits, Phase, Plan, Scenario, Trial, Verdict, run_plan, scenario
from interlock.proof.judge import Case
from interlock.proof.run import Request, run_all

RESULTS = Path(__file__).parent / "results"
ROUNDS = 5
TARGET_RATIO = 1.5
TARGET_STEPS_S = 15_000


async def nap(times: int) -> None:
    for _ in range(times):
        await trio.sleep(0.01)


async def work(naps: int) -> None:
    """Two tasks, a deadline, and a clean-up under a bounded shield."""
    try:
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(nap, naps)
                await nap(naps)
    except BaseException:
        with trio.move_on_after(1, shield=True):
            await nap(2)
        raise


def working(naps: int) -> Scenario:
    @scenario
    async def swept(trial: Trial) -> None:
        await trial.operation(work, naps)

    return swept


class CancelAt(trio.abc.Instrument):
    """What one writes by hand."""

    def __init__(self, phase: Phase, step: int, scope: trio.CancelScope) -> None:
        self.late = phase is Phase.LATE
        self.left = step
        self.scope = scope

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if task.name != "<init>":
            self.left -= 1
            if self.late and self.left == 0:
                self.scope.cancel()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if not self.late and self.left == 0:
            self.scope.cancel()


def by_hand(naps: int, plans: Sequence[Plan]) -> None:
    """Run each plan in a `trio.run` of its own."""
    for ((phase, step),) in [[(each.phase, each.index) for each in plan] for plan in plans]:
        scope = trio.CancelScope()

        async def main(scope: trio.CancelScope = scope) -> None:
            with scope:
                await work(naps)

        clock = trio.testing.MockClock(autojump_threshold=0)
        trio.run(main, clock=clock, instruments=[CancelAt(phase, step, scope)])


def judged(swept: Scenario, plans: Sequence[Plan], limits: Limits) -> int:
    """Run each plan under the sweep's oracles; return how many task steps that took."""
    cases: list[Case] = []
    run_all(swept, iter([Request(plan) for plan in plans]), lambda case, _: cases.append(case), seed=0, limits=limits)
    assert all(case.verdict is Verdict.PASS for case in cases)
    return sum(case.steps for case in cases)


def timed(function: Callable[[], int | None]) -> tuple[float, int]:
    began = time.perf_counter()
    steps = function()
    return time.perf_counter() - began, steps or 0


def measure(naps: int, times: int) -> dict[str, float]:
    """Return cases and task steps a second: medians over rounds in which the three loops take turns."""
    swept = working(naps)
    baseline = run_plan(swept, (), record=True)
    plans = [(site,) for site in baseline.sites if site.target == "op" and site.phase is not Phase.ENTRY] * times
    loops: dict[str, Callable[[], int | None]] = {
        "by hand": lambda: by_hand(naps, plans),
        "alone": lambda: judged(swept, plans, Limits(shared=False)),
        "sweep": lambda: judged(swept, plans, Limits()),
    }
    rates: dict[str, list[float]] = {name: [] for name in [*loops, "task steps"]}
    for _ in range(ROUNDS):
        taken = {name: timed(loop) for name, loop in loops.items()}
        for name, (seconds, _) in taken.items():
            rates[name].append(len(plans) / seconds)
        rates["task steps"].append(taken["sweep"][1] / taken["sweep"][0])
    medians = {name: float(round(statistics.median(values))) for name, values in rates.items()}
    return {"steps": baseline.index, "cases": len(plans), **medians}


COLUMNS = ["steps", "cases", "by hand", "alone", "sweep", "task steps", "to by hand", "to alone"]


def main() -> None:
    rows = {"short": measure(2, 40), "medium": measure(12, 8), "long": measure(55, 1)}
    print(f"{'':8}" + "".join(f"{name:>12}" for name in COLUMNS))
    for name, row in rows.items():
        row["to by hand"] = round(row["sweep"] / row["by hand"], 2)
        row["to alone"] = round(row["sweep"] / row["alone"], 2)
        print(f"{name:8}" + "".join(f"{row[column]:12g}" for column in COLUMNS))
    print("cases a second for each loop, and task steps a second of the sweep")
    short, most = rows["short"], max(row["task steps"] for row in rows.values())
    print(
        f"targets, short cases: {TARGET_RATIO} to alone ({short['to alone']}); {TARGET_STEPS_S} task steps/s ({most:g})"
    )
    RESULTS.mkdir(exist_ok=True)
    where = {"python": platform.python_version(), "trio": trio.__version__, "machine": platform.machine()}
    (RESULTS / "sweep.json").write_text(json.dumps({"where": where, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
