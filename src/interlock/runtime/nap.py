"""What a writer does while nothing is due: one task sleeps, and anybody wakes it.

An event that is new each time, as ``trio.Event`` has to be, costs three times as much, and a writer sleeps once for
each frame. There is nothing to remember here: whoever sleeps has looked, in the same step, at all there is to do.
"""

from __future__ import annotations

import trio


class Nap:
    """Slept in by at most one task at a time. Waking nobody is nothing, and is not remembered."""

    __slots__ = ("_task",)

    def __init__(self) -> None:
        self._task: trio.lowlevel.Task | None = None

    @property
    def is_slept_in(self) -> bool:
        """Whether somebody sleeps here, and was not woken yet."""
        return self._task is not None

    async def sleep(self) -> None:
        """Sleep until :meth:`wake`. Cancelled, the sleep is over."""
        self._task = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(self._abort)

    def wake(self) -> None:
        """Wake whoever sleeps; synchronous, from the same thread."""
        if self._task is not None:
            task, self._task = self._task, None
            trio.lowlevel.reschedule(task)

    def _abort(self, _: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
        self._task = None
        return trio.lowlevel.Abort.SUCCEEDED
