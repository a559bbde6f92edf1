"""The instrument: trio tells it of every step, and it tells the course of the case that runs."""

from __future__ import annotations

import math

import trio

from interlock.proof.course import Course

IDLE_PASSES = 20
"""How often trio polls without a step and without a deadline before that is a deadlock. Under a clock that jumps it
would otherwise poll for ever at full speed."""


class Watch(trio.abc.Instrument):
    """Installed once for each ``trio.run``; ``course`` is the case that runs, if one does."""

    def __init__(self) -> None:
        self.course: Course | None = None
        self.ended: trio.lowlevel.Task | None = None

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        """What one of ours starts is ours; trio's own tasks are not."""
        course, nursery = self.course, task.parent_nursery
        if course is None or nursery is None:
            return
        if nursery.parent_task in course.ours or _running() in course.ours:
            course.adopt(task)

    def task_exited(self, task: trio.lowlevel.Task) -> None:
        """Remember it until its last step is over."""
        self.ended = task

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """A task was woken, and is about to run."""
        course = self.course
        if course is not None and task in course.ours:
            course.before(task)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """A task waits again, or has ended."""
        course = self.course
        if course is not None and task in course.ours:
            course.after(task)
            if task is self.ended:
                del course.ours[task]
        self.ended = None

    def after_io_wait(self, timeout: float) -> None:
        """Nothing runs. If nothing did since the last time either, and no deadline is left, nothing ever will."""
        course = self.course
        if course is None:
            return
        course.is_first_of_batch = True
        if course.steps != course.idle_at:
            course.idle_at, course.idle = course.steps, 0
            return
        course.idle += 1
        if course.idle >= IDLE_PASSES and trio.lowlevel.current_statistics().seconds_to_next_deadline == math.inf:
            course.idle = 0
            course.stuck()


def _running() -> trio.lowlevel.Task | None:
    try:
        return trio.lowlevel.current_task()
    except RuntimeError:
        return None
