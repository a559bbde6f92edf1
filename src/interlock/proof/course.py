"""The course of one case: its steps are counted, its plan is carried out, and what else could be injected is noted.

Between two steps of its tasks a program is synchronous, so a cancel from outside can arrive nowhere else. The instants
are therefore: after each step, when the task waits (*early*), and before each, when it was woken but does not know yet
(*late*). At each, the targets are the scopes that enclose the stepping task: ``op``, what the scenario exposed by name,
and every deadline. Scopes that enclose the whole operation are its caller's, and a nursery's own scope is never
cancelled by anyone but the nursery, so neither is a target unless the scenario names it. A named scope is also a target
while a task outside of it steps (*beside*), since the world may have moved on while the operation waits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import trio

from interlock.proof import trio_internals
from interlock.proof.likeness import Cut, cut
from interlock.proof.places import Place, calling, waiting
from interlock.proof.plan import ENTRY, FAULTS, OP, TIMER, Injection, Phase, Plan, injection
from interlock.proof.schedule import Schedule, preemptions
from interlock.proof.verdict import Landing, Limits, called

IDLE_PASSES = 20
"""How often trio polls without a step and without a deadline before that is a deadlock. Under a clock that jumps it
would otherwise poll for ever at full speed."""

Traced = tuple[int, str, Place, float, bool, Hashable]
"""A step: the task's number and name, where it waited, the time, whether a batch begins, and the state so far."""

Homes = list[trio.CancelScope]
Target = tuple[str, trio.CancelScope, bool]


class Course:
    """One case while it runs. Everything here is synchronous, and called by the watch or by the trial."""

    def __init__(self, plan: Plan, limits: Limits, *, record: bool = False, trace: bool = False) -> None:
        self.plan = plan
        self.limits, self.budget = limits, limits.steps
        self.record = record
        self.sites: list[Injection] = []
        self.landings: list[Landing] = []
        self.trace: list[Traced] | None = [] if trace else None
        self.reveal: Callable[[], Hashable] | None = None
        self.cuts: list[Cut] = []
        self.landed_at = (0, False)
        self.deliveries: list[tuple[trio.Cancelled, Homes]] = []
        self.arriving: tuple[trio.Cancelled, Homes] | None = None
        self.raised = 0
        self.raised_at: list[tuple[str, Place]] = []
        self.ours: dict[trio.lowlevel.Task, int] = {}
        self.spawned = 0
        self.root = trio.CancelScope()
        self.op = trio.CancelScope()
        self.names: dict[trio.CancelScope, str] = {self.op: OP}
        self.outside: set[trio.CancelScope] = set()
        self.calls: dict[str, int] = {}
        self.steps = self.index = self.idle = self.idle_at = self.first_of_window = 0
        self.open = self.opened = self.hung = False
        self.is_first_of_batch = True
        self.stopped, self.drained_at, self.is_unknown = "", 0, False
        self.left: list[str] = []
        self.ended: trio.lowlevel.Task | None = None
        self.schedule = Schedule(self) if limits.preemptions or preemptions(plan) else None
        self._expect(plan[0] if plan else None)

    # ------------------------------------------------------------------------------------------------- the window

    def begin(self, task: trio.lowlevel.Task) -> None:
        """Count from here on; the scopes that the caller is in stay the caller's."""
        self.open = self.opened = True
        self.first_of_window = self.spawned
        self.outside.update(trio_internals.scopes(task))

    def end(self) -> None:
        """Count no further; what was started in the window and still runs has outlived it."""
        if self.open:
            self.open = False
            self.left += [task.name for task, number in self.ours.items() if number >= self.first_of_window]

    def enter(self) -> None:
        """Take the one chance to cancel the operation before its first line."""
        if self.due == ENTRY:
            self.op.cancel()
            self.landed(Landing(ENTRY, "", calling()))
        elif self.is_noting:
            self.sites.append(ENTRY)

    def adopt(self, task: trio.lowlevel.Task) -> None:
        """Count the steps of a task of the scenario's."""
        self.ours[task] = self.spawned
        self.spawned += 1

    def spawned_by_ours(self, task: trio.lowlevel.Task) -> None:
        """Adopt what one of ours has started; trio's own tasks are not ours."""
        nursery = task.parent_nursery
        if nursery is not None and (nursery.parent_task in self.ours or _running() in self.ours):
            self.adopt(task)

    def exited(self, task: trio.lowlevel.Task) -> None:
        """Remember a task until its last step is over."""
        self.ended = task

    # ------------------------------------------------------------------------------------------------- the instants

    def before(self, task: trio.lowlevel.Task) -> None:
        """Take note of a step that begins: a task was woken, and is about to run."""
        if task not in self.ours:
            return
        self.steps += 1
        if self.steps > self.budget:
            self._over_budget(task)
        elif self.open:
            self.index += 1
            if trio_internals.starts_with_an_error(task):
                self._delivered(task)
            if self.trace is not None:
                self._traced(task, self.trace)
            if self.due_at == self.index or self.is_noting:
                self._instant(Phase.LATE, task)
            self.is_first_of_batch = False

    def _traced(self, task: trio.lowlevel.Task, trace: list[Traced]) -> None:
        for each in self.cuts:
            each.look(self.index)
        state = self.reveal() if self.reveal is not None else None
        now = trio.current_time()
        trace.append((self.ours[task], task.name, waiting(task), now, self.is_first_of_batch, state))

    def _delivered(self, task: trio.lowlevel.Task) -> None:
        """Keep a ``Cancelled``, and the scopes that may catch it: where it belongs, and what is further out."""
        cancelled, homes = trio_internals.delivered(task), trio_internals.homes(task, self.root)
        if cancelled is not None and homes:
            self.raised += 1
            self.arriving = cancelled, homes
            if self.trace is not None:
                self.raised_at.append((task.name, waiting(task)))

    def _settled(self, cancelled: trio.Cancelled, homes: Homes) -> None:
        """Forget a ``Cancelled`` that its own scope has caught in the same step, as it is with every timeout."""
        self.arriving = None
        if not homes[0].cancelled_caught:
            self.deliveries.append((cancelled, homes))
        elif self.raised_at:
            self.raised_at.pop()

    def after(self, task: trio.lowlevel.Task) -> None:
        """Take note of a step that has ended: a task waits again, or is over."""
        if task in self.ours:
            if self.arriving is not None:
                self._settled(*self.arriving)
            if self.open and (self.due_at == self.index or self.is_noting) and not self.stopped:
                self._instant(Phase.EARLY, task)
            if task is self.ended:
                del self.ours[task]
        self.ended = None
        if self.schedule is not None:
            self.schedule.look()

    def call(self, label: str) -> Phase | None:
        """Count the await of a port's method, and say how it is to fail, if it is."""
        if not self.open or trio.lowlevel.current_task() not in self.ours:
            return None
        number = self.calls[label] = self.calls.get(label, 0) + 1
        due = self.due
        if due is not None and due.index == number and due.target == label:
            self.hung = self.hung or due.phase is Phase.HANG
            self.landed(Landing(due, trio.lowlevel.current_task().name, calling()))
            return due.phase
        return None

    def may_fail(self, label: str, phases: tuple[Phase, ...]) -> None:
        """Note how the await that was just counted could have failed."""
        if self.open and self.is_noting:
            live = trio_internals.is_live(self.op)
            possible = [phase for phase in FAULTS if phase in phases and (live or phase is not Phase.CANCEL)]
            self.sites += [injection(phase, self.calls[label], label) for phase in possible]

    def _instant(self, phase: Phase, task: trio.lowlevel.Task) -> None:
        due = self.due
        if due is None:
            self.sites += [injection(phase, self.index, name) for name, _, _ in self._targets(phase, task)]
        elif due.index == self.index and due.phase is phase:
            self._inject(due, task)

    def _inject(self, due: Injection, task: trio.lowlevel.Task) -> None:
        """Cancel what is due; two scopes cancelled at one instant are a plan too, in one order.

        A cancel may land so far that it cancels another scope itself: that one is not to be cancelled again.
        """
        targets = self._targets(due.phase, task)
        for place, (name, scope, beside) in enumerate(targets):
            if name == due.target:
                self.landed(Landing(due, task.name, waiting(task), beside, self._others(scope, task)))
                if self.trace is not None:
                    self.cuts.append(cut(scope, self.ours))
                scope.cancel()
                if self.due is not None:
                    self._instant(due.phase, task)
                elif self.is_noting:
                    later = [name for name, also, _ in targets[place + 1 :] if trio_internals.is_live(also)]
                    self.sites += [injection(due.phase, self.index, name) for name in later]
                return

    def _others(self, scope: trio.CancelScope, stepping: trio.lowlevel.Task) -> tuple[tuple[str, Place], ...]:
        """Say where the scope's other tasks wait, if every step is noted anyway."""
        if self.trace is None:
            return ()
        inside = [task for task in self.ours if task is not stepping and scope in trio_internals.scopes(task)]
        return tuple((task.name, waiting(task)) for task in inside)

    def landed(self, landing: Landing) -> None:
        """Note that an injection has come, and wait for the next."""
        self.landings.append(landing)
        self.landed_at = self.index, landing.injection.phase is not Phase.LATE
        fired = len(self.landings)
        self._expect(self.plan[fired] if fired < len(self.plan) else None)

    def _expect(self, due: Injection | None) -> None:
        self.due = due
        self.due_at = due.index if due is not None else -1
        self.is_noting = self.record and due is None

    def _targets(self, phase: Phase, task: trio.lowlevel.Task) -> list[Target]:
        found: list[Target] = []
        enclosing = set()
        timers = 0
        for scope in trio_internals.scopes(task):
            if scope is self.root:
                break
            name = self.names.get(scope)
            if name is not None:
                enclosing.add(name)
            elif scope.deadline != math.inf and scope not in self.outside:
                timers += 1
                name = f"{TIMER}{timers}"
            if name is not None and trio_internals.is_live(scope):
                found.append((name, scope, False))
        if self.limits.beside and (phase is Phase.EARLY or self.is_first_of_batch):
            for scope, name in self.names.items():
                if name not in enclosing and trio_internals.is_live(scope):
                    found.append((name, scope, True))
        return found

    @property
    def likeness(self) -> Hashable:
        """What this case has in common with every other that came to the same; None, if that is not known."""
        if self.trace is None or self.reveal is None or self.stopped:
            return None
        told = (Phase.EARLY, Phase.LATE, Phase.FIRST)  # the first two by their scopes, the last by the trace
        other = [str(each.injection) for each in self.landings if each.injection.phase not in told]
        cuts = frozenset(each.identity for each in self.cuts)
        return tuple(self.trace), tuple(self.raised_at), cuts, frozenset(other), preemptions(self.plan)

    # ---------------------------------------------------------------------------------------------------- the end

    def polled(self, _timeout: float) -> None:
        """Nothing runs. If nothing did since the last time either, and no deadline is left, nothing ever will."""
        self.is_first_of_batch = True
        if self.steps != self.idle_at:
            self.idle_at, self.idle = self.steps, 0
            return
        self.idle += 1
        if self.idle >= IDLE_PASSES and trio.lowlevel.current_statistics().seconds_to_next_deadline == math.inf:
            self.idle = 0
            self.stuck()

    def stuck(self) -> None:
        """Nothing can wake anybody any more. A caller of a hung port loses patience once; then it is a deadlock."""
        if self.stopped:
            for task in list(self.ours):
                trio_internals.fell(task)
        elif self.hung and self.open and trio_internals.is_live(self.op):
            self.op.cancel()
        elif trio.to_thread.current_default_thread_limiter().borrowed_tokens:
            self.stop("a thread is at work, and threads do not know the clock that jumps: give it a fake", unknown=True)
        else:
            waits = "; ".join(f"{called(task.name)} waits at {waiting(task).quoted}" for task in self.ours)
            self.stop(f"a deadlock: no deadline is left, and {waits}")

    def stop(self, why: str, *, unknown: bool = False) -> None:
        """Break the case off: cancel all of it, and lift its shields. ``unknown``: whose fault it is."""
        self.stopped, self.is_unknown = why, unknown
        self.budget, self.drained_at = 0, self.steps + self.limits.drain
        self.root.cancel()
        for task in list(self.ours):
            self._lift(task)

    def _over_budget(self, task: trio.lowlevel.Task) -> None:
        if not self.stopped:
            self.stop(f"a livelock: not settled after {self.budget} steps", unknown=not self.plan)
        self._lift(task)
        if self.steps > self.drained_at:
            trio_internals.fell(task)

    def _lift(self, task: trio.lowlevel.Task) -> None:
        for scope in trio_internals.scopes(task):
            if scope is self.root:
                break
            scope.shield = False


def _running() -> trio.lowlevel.Task | None:
    try:
        return trio.lowlevel.current_task()
    except RuntimeError:
        return None
