"""Other orders of the same steps: which of the tasks that are due in one pass of the loop goes first.

Trio runs every task that is runnable once in each pass, in any order. A *preemption* pulls one of them ahead of those
that the seed put before it; it is an injection like a cancel (``first@12:task3``), so plans mix both and replay both.
A sweep with ``preemptions=2`` runs all schedules that two of them make, times every cancel of its depth: most races
need no more (Musuvathi and Qadeer, PLDI 2007). Every one of these schedules is one that trio may choose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from interlock.proof.places import waiting
from interlock.proof.plan import Phase, Plan, injection
from interlock.proof.verdict import Landing

if TYPE_CHECKING:
    from interlock.proof.course import Course


class Schedule:
    """Orders the batches of one case: carries out what its plan preempts, and notes what else could be."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._batch: list[trio.lowlevel.Task] = []
        self._may_note = preemptions(course.plan) < course.limits.preemptions

    def order(self, batch: list[trio.lowlevel.Task]) -> None:
        """Take a batch, whose last task runs first. Trio takes its tasks out of this very list."""
        self._batch = batch
        self.look()

    def look(self) -> None:
        """Order what is left of the batch, before its next step."""
        course, batch = self._course, self._batch
        if not course.open or len(batch) < 2:
            return
        due = course.due
        if due is not None and due.phase is Phase.FIRST and due.index == course.index + 1:
            for task in [task for task in batch[:-1] if self._name(task) == due.target]:
                batch.remove(task)
                batch.append(task)
                course.landed(Landing(due, task.name, waiting(task)))
        elif due is None and course.record and self._may_note:
            names = [self._name(task) for task in batch[:-1] if task in course.ours]
            course.sites += [injection(Phase.FIRST, course.index + 1, name) for name in names]

    def _name(self, task: trio.lowlevel.Task) -> str:
        return f"task{self._course.ours.get(task, -1)}"


def preemptions(plan: Plan) -> int:
    """Count the preemptions of a plan."""
    return sum(each.phase is Phase.FIRST for each in plan)
