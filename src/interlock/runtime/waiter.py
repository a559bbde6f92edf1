"""A one-shot outcome that one task waits for, and where exactly a cancel of that wait lands.

``trio.Event`` would do, but for one thing: between the moment when trio delivers a cancel and the moment when the
cancelled task runs, another task may complete the operation. Then the caller would see ``Cancelled`` for something that
was committed. So the cancel lands *in* its delivery: ``landing`` runs synchronously, and from there on the operation
can no longer complete. If the outcome came first, the cancel is not delivered here at all.

:meth:`Waiter.wait` is for a task of trio. Another loop has its own way to wait, on :meth:`Waiter.tell`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import trio
from outcome import Error, Outcome, Value

T = TypeVar("T")


class Waiter(Generic[T]):
    """Settled once, awaited by at most one task. Settling it again, or after it was given up, changes nothing."""

    __slots__ = ("_over", "_wake", "outcome")

    def __init__(self) -> None:
        self.outcome: Outcome[T] | None = None
        """What came of it; nothing before, and nothing where it was given up."""
        self._wake: Callable[[], object] | None = None
        self._over = False

    @property
    def is_settled(self) -> bool:
        """Whether nothing can change the outcome any more."""
        return self._over

    def succeed(self, result: T) -> None:
        """Give the waiting task its result."""
        self._settle(Value(result))

    def fail(self, error: Exception) -> None:
        """Give the waiting task an error."""
        self._settle(Error(error))

    async def wait(self, landing: Callable[[], None]) -> T:
        """Return the result or raise the error; on a cancel, run ``landing`` in its delivery and propagate it."""
        if self.outcome is None:
            task = trio.lowlevel.current_task()
            self._wake = lambda: trio.lowlevel.reschedule(task)

            def abort(_: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
                self.give_up()
                landing()
                return trio.lowlevel.Abort.SUCCEEDED

            await trio.lowlevel.wait_task_rescheduled(abort)
        assert self.outcome is not None
        return self.outcome.unwrap()

    def tell(self, wake: Callable[[], object]) -> None:
        """Call ``wake`` once there is an outcome, unless it is given up before; at once, where there is one."""
        if self.outcome is None:
            self._wake = wake
        else:
            wake()

    def give_up(self) -> None:
        """Nobody waits any more; no outcome comes from here on."""
        self._over, self._wake = True, None

    def _settle(self, result: Outcome[T]) -> None:
        if self._over:
            return
        self._over, self.outcome = True, result
        if self._wake is not None:
            self._wake()
            self._wake = None
