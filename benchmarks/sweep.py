"""How fast a sweep runs cases, beside the loop that one would write by hand: one `trio.run` for each.

Five loops run the same cancels in the same scenario, in turns, in the same minute. The first four take one core:

* `by hand`: an instrument of ten lines cancels at the n-th step; nothing is recorded, checked or made deterministic;
* `bare`: the same ten lines, and all cases in one `trio.run`: what no sweep on one core can beat;
* `alone`: the sweep's oracles, and one `trio.run` for each case;
* `sweep`: the sweep's oracles, and cases share a `trio.run`, as `sweep(...)` does;
* `shipped`: the same in a process for each core, as `interlock sweep` does.
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
from interlock.proof.spread import cores, run_spread

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
    for (due,) in plans:
        scope = trio.CancelScope()
        clock = trio.testing.MockClock(autojump_threshold=0)
        trio.run(within, scope, naps, clock=clock, instruments=[CancelAt(due.phase, due.index, scope)])


def bare(naps: int, plans: Sequence[Plan]) -> None:
    """Run all plans in one `trio.run`, each in a task of its own."""

    async def main() -> None:
        for (due,) in plans:
            scope = trio.CancelScope()
            instrument = CancelAt(due.phase, due.index, scope)
            trio.lowlevel.add_instrument(instrument)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(within, scope, naps)
            trio.lowlevel.remove_instrument(instrument)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def within(scope: trio.CancelScope, naps: int) -> None:
    with scope:
        await work(naps)


def judged(swept: Scenario, plans: Sequence[Plan], limits: Limits) -> int:
    """Run each plan under the sweep's oracles; return how many task steps that took."""
    cases: list[Case] = []
    run_all(swept, iter([Request(plan) for plan in plans]), lambda case, _: cases.append(case), seed=0, limits=limits)
    assert all(case.verdict is Verdict.PASS for case in cases)
    return sum(case.steps for case in cases)


def shipped(swept: Scenario, plans: Sequence[Plan]) -> None:
    """Run each plan as the command does: in a process for each core."""
    requests = [Request(plan) for plan in plans]
    tried = run_spread(swept, requests, seed=0, limits=Limits(), jobs=cores())
    assert all(case.verdict is Verdict.PASS for case, _ in tried)


def timed(function: Callable[[], int | None]) -> tuple[float, int]:
    began = time.perf_counter()
    steps = function()
    return time.perf_counter() - began, steps or 0


def measure(naps: int, times: int) -> dict[str, float]:
    """Return cases and task steps a second: medians over rounds in which the loops take turns."""
    swept = working(naps)
    baseline = run_plan(swept, (), record=True)
    plans = [(site,) for site in baseline.sites if site.target == "op" and site.phase is not Phase.ENTRY] * times
    loops: dict[str, Callable[[], int | None]] = {
        "by hand": lambda: by_hand(naps, plans),
        "bare": lambda: bare(naps, plans),
        "alone": lambda: judged(swept, plans, Limits(shared=False)),
        "sweep": lambda: judged(swept, plans, Limits()),
        "shipped": lambda: shipped(swept, plans),
    }
    rates: dict[str, list[float]] = {name: [] for name in [*loops, "task steps"]}
    for _ in range(ROUNDS):
        taken = {name: timed(loop) for name, loop in loops.items()}
        for name, (seconds, _) in taken.items():
            rates[name].append(len(plans) / seconds)
        rates["task steps"].append(taken["sweep"][1] / taken["sweep"][0])
    medians = {name: float(round(statistics.median(values))) for name, values in rates.items()}
    return {"steps": baseline.index, "cases": len(plans), **medians}


RATIOS = {
    "sweep/alone": ("sweep", "alone"),
    "sweep/hand": ("sweep", "by hand"),
    "bare/hand": ("bare", "by hand"),
    "shipped/hand": ("shipped", "by hand"),
}
COLUMNS = ["steps", "cases", "by hand", "bare", "alone", "sweep", "shipped", "task steps", *RATIOS]


def main() -> None:
    rows = {"short": measure(2, 100), "medium": measure(12, 20), "long": measure(55, 4)}
    print(f"{'':8}" + "".join(f"{name:>13}" for name in COLUMNS))
    for name, row in rows.items():
        row |= {ratio: round(row[one] / row[other], 2) for ratio, (one, other) in RATIOS.items()}
        print(f"{name:8}" + "".join(f"{row[column]:13g}" for column in COLUMNS))
    print(f"cases a second for each loop, task steps a second of the sweep on one core, ratios; {cores()} cores")
    slowest = min(row["shipped/hand"] for row in rows.values())
    steps = min(row["task steps"] for row in rows.values())
    print(f"targets: {TARGET_RATIO} as shipped to by hand ({slowest:g}); {TARGET_STEPS_S} task steps/s ({steps:g})")
    RESULTS.mkdir(exist_ok=True)
    where = {
        "cores": cores(),
        "python": platform.python_version(),
        "trio": trio.__version__,
        "machine": platform.machine(),
    }
    (RESULTS / "sweep.json").write_text(json.dumps({"where": where, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
