"""How fast a sweep *covers* cases in pairs of injections, beside the loop that one would write by hand.

A set of cases is covered when the verdict of each is known. Three loops cover the same set, every pair of injections in
a scenario of our own runtime, in turns, in the same minute:

* `by hand`: runs each case in a `trio.run` of its own, with an instrument that counts steps and cancels; no oracle of
  the sweep, no report, and the list of cases is given to it;
* `one core`: `sweep(...)` as it is: with its oracles, it finds the cases itself, and does not run those that come to
  the same as one that it ran, state by state; they are covered, and the report counts them;
* `shipped`: the same with a process for each core, as `interlock sweep` does.

Cases run and cases spared are together exactly those that the loop by hand runs: that is checked, before anything is
timed, against the sweep that spares none. Each loop's rate is the number of all those cases by its seconds; task steps
a second are those that the sweep ran on one core.
"""

from __future__ import annotations

import json
import logging
import math
import platform
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import trio
import trio.testing

from interlock.proof import Limits, Phase, Plan, Scenario, Trial, Verdict, sweep, trio_internals
from interlock.proof.plan import ENTRY, OP, TIMER
from interlock.proof.ports import Faulty
from interlock.proof.scenarios import SCENARIOS
from interlock.proof.spread import cores
from interlock.proof.sweep import Sweep
from interlock.proof.verdict import Outcome

RESULTS = Path(__file__).parent / "results"
CASES = {"short": ("open", 3), "medium": ("grace_hangs", 2), "long": ("shutdown_late", 2)}
"""A scenario, and how many rounds are worth its time."""
DEPTH = 2
TARGET_RATIO = 1.5
TARGET_STEPS_S = 15_000


class ByHand(trio.abc.Instrument):
    """What one writes by hand for these scenarios: it stands in for the trial, and cancels where the plan says."""

    def __init__(self, plan: Plan, root: trio.CancelScope) -> None:
        self.due = list(plan)
        self.done: list[str] = []
        self.root, self.op = root, trio.CancelScope()
        self.names = {self.op: OP}
        self.outside: set[trio.CancelScope] = set()
        self.ours: set[trio.lowlevel.Task] = set()
        self.calls: dict[str, int] = {}
        self.steps = self.polled_at = 0
        self.open = self.hung = False

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        nursery = task.parent_nursery
        if nursery is not None and (nursery.parent_task in self.ours or _running() in self.ours):
            self.ours.add(task)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if self.open and task in self.ours:
            self.steps += 1
            self._cancel(Phase.LATE, task)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if self.open and task in self.ours:
            self._cancel(Phase.EARLY, task)

    def after_io_wait(self, timeout: float) -> None:
        """Lose patience with a call that hangs, when nothing else can happen."""
        is_stuck = self.hung and self.open and self.steps == self.polled_at
        if is_stuck and trio.lowlevel.current_statistics().seconds_to_next_deadline == math.inf:
            self.op.cancel()
        self.polled_at = self.steps

    def _cancel(self, phase: Phase, task: trio.lowlevel.Task) -> None:
        while self.due and self.due[0].phase is phase and self.due[0].index == self.steps:
            self._scope(self.due[0].target, task).cancel()
            self._fired()

    def _fired(self) -> None:
        self.done.append(self.due.pop(0).family)

    def _scope(self, target: str, task: trio.lowlevel.Task) -> trio.CancelScope:
        for scope, name in self.names.items():
            if name == target:
                return scope
        around = trio_internals.scopes(task)
        timed = [s for s in around if s.deadline != math.inf and s not in self.outside and s not in self.names]
        return timed[int(target.removeprefix(TIMER)) - 1]

    # what a scenario asks of its trial

    @property
    def injected(self) -> tuple[str, ...]:
        return tuple(self.done)

    def expose(self, name: str, scope: trio.CancelScope) -> trio.CancelScope:
        self.names[scope] = name
        return scope

    def reveal(self, state: Callable[[], object]) -> None:
        """Nobody compares states by hand."""

    def port(self, port: Any, name: str, *, error: Callable[[], Exception]) -> Any:
        return Faulty(port, name, cast("Any", self), error=error, faults=())

    def call(self, label: str) -> Phase | None:
        if not self.open or trio.lowlevel.current_task() not in self.ours:
            return None
        number = self.calls[label] = self.calls.get(label, 0) + 1
        if not self.due or (self.due[0].index, self.due[0].target) != (number, label):
            return None
        phase = self.due[0].phase
        self.hung = self.hung or phase is Phase.HANG
        self._fired()
        return phase

    def may_fail(self, label: str, phases: Sequence[Phase]) -> None:
        """Nobody looks for more cases by hand."""

    async def operation(self, function: Callable[..., Awaitable[object]], *arguments: Any) -> Outcome:
        self.open = True
        self.outside.update(trio_internals.scopes(trio.lowlevel.current_task()))
        if self.due and self.due[0] == ENTRY:
            self.op.cancel()
            self._fired()
        trial = Trial(cast("Any", self))  # for the way in which it puts an outcome
        value, left = None, None
        try:
            with self.op:
                value = await trial._capture(function, *arguments)
        except Exception as error:
            left = error
        finally:
            self.open = False
        return trial._told(value, left, 0.0)

    async def settle(self, function: Callable[..., Awaitable[object]], *arguments: Any) -> object:
        self.open = True
        try:
            return await function(*arguments)
        finally:
            self.open = False


def _running() -> trio.lowlevel.Task | None:
    try:
        return trio.lowlevel.current_task()
    except RuntimeError:
        return None


def by_hand(swept: Scenario, plans: Sequence[Plan]) -> None:
    """Run each plan in a `trio.run` of its own; all of it must have been injected."""

    async def scene(hand: ByHand) -> None:
        hand.ours.add(trio.lowlevel.current_task())
        with hand.root:
            await swept.body(cast("Trial", hand))

    async def main(hand: ByHand, clock: trio.testing.MockClock) -> None:
        trio_internals.restart(clock, seed=0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(scene, hand)

    with trio_internals.deterministic():
        for plan in plans:
            hand, clock = ByHand(plan, trio.CancelScope()), trio.testing.MockClock(autojump_threshold=0)
            trio.run(main, hand, clock, clock=clock, instruments=[hand])
            assert not hand.due, f"{plan} did not fire"


class Listed(Sweep):
    """A sweep that spares nothing, and keeps the list of what it ran."""

    def listed(self) -> list[Plan]:
        self.plans: list[Plan] = []
        assert self.run().verdict is Verdict.PASS
        return self.plans

    def _longer(self, length: int) -> Iterator[Any]:
        for request in super()._longer(length):
            self.plans.append(request.plan)
            yield request


def measure(name: str, rounds: int) -> dict[str, float]:
    """Return cases a second: medians over rounds in which the loops take turns."""
    swept = SCENARIOS[name]
    plans = Listed(swept, DEPTH, 0, Limits(merge=False), None).listed()
    ours = sweep(swept, DEPTH)
    assert ours.plans + ours.merged == len(plans), "another set of cases"
    rates: dict[str, list[float]] = {"by hand": [], "one core": [], "shipped": [], "task steps": []}
    for _ in range(rounds):
        seconds = timed(lambda: by_hand(swept, plans))
        rates["by hand"].append(len(plans) / seconds)
        for loop, jobs in (("one core", 1), ("shipped", 0)):
            seconds = timed(lambda jobs=jobs: sweep(swept, DEPTH, jobs=jobs))  # type: ignore[misc]
            rates[loop].append(len(plans) / seconds)
            if jobs == 1:
                rates["task steps"].append(ours.steps / seconds)
    medians = {loop: float(round(statistics.median(values))) for loop, values in rates.items()}
    return {"steps": ours.baseline_steps, "cases": len(plans), "run by the sweep": ours.plans, **medians}


def timed(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


RATIOS = {"one core/hand": "one core", "shipped/hand": "shipped"}


def main() -> None:
    logging.disable(logging.CRITICAL)  # in every loop: what fails here is meant to
    rows = {}
    for size, (name, rounds) in CASES.items():
        row = rows[f"{size}, {name}"] = measure(name, rounds)
        row |= {ratio: round(row[loop] / row["by hand"], 2) for ratio, loop in RATIOS.items()}
        print(f"{size}, {name}: " + ", ".join(f"{column} {value:g}" for column, value in row.items()), flush=True)
    slowest = min(row["shipped/hand"] for row in rows.values())
    steps = min(row["task steps"] for row in rows.values())
    print(f"targets: {TARGET_RATIO} as shipped to by hand ({slowest:g}); {TARGET_STEPS_S} task steps/s ({steps:g})")
    where = {
        "cores": cores(),
        "python": platform.python_version(),
        "trio": trio.__version__,
        "machine": platform.machine(),
    }
    RESULTS.mkdir(exist_ok=True)
    told = {"where": where, "plot": "shipped/hand", "rows": rows}
    (RESULTS / "sweep_cover.json").write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
