"""The instrument: trio tells it of every step, and it hands trio on to the course of the case that runs."""

from __future__ import annotations

import trio

from interlock.proof.course import Course


class Watch(trio.abc.Instrument):
    """Installed once for each ``trio.run``. While it follows a case, its hooks *are* that course's methods.

    Trio looks a hook up on the instrument each time, twice a step; one call less there is a tenth of a sweep.
    """

    def follow(self, course: Course) -> None:
        """Tell this course from here on."""
        vars(self).update(
            task_spawned=course.spawned_by_ours,
            task_exited=course.exited,
            before_task_step=course.before,
            after_task_step=course.after,
            after_io_wait=course.polled,
        )

    def rest(self) -> None:
        """Tell nobody."""
        vars(self).clear()

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        """Between two cases, what trio does is its own affair; so below."""

    def task_exited(self, task: trio.lowlevel.Task) -> None:
        """See ``task_spawned``."""

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """See ``task_spawned``."""

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """See ``task_spawned``."""

    def after_io_wait(self, timeout: float) -> None:
        """See ``task_spawned``."""
