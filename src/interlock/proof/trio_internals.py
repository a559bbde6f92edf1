"""The private names of trio that the sweep needs, each of them in this file and nowhere else.

Trio has no public way to schedule deterministically (its own entry point for Hypothesis sets the same flag that is set
here), to see in which cancel scopes a task is, or to set a clock back. ``missing`` says which name a new trio has
renamed, and ``tests/proof/test_trio_internals.py`` shows for each what it is needed for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, MutableSequence
from contextlib import contextmanager
from typing import Any, Never, TypeAlias, cast

import outcome
import trio
import trio.testing
from trio._core import _run

from interlock.errors import WorldError

FLAG = "_ALLOW_DETERMINISTIC_SCHEDULING"
DRAWS = "_r"

STATUS_NAMES = ("_scope", "_parent")
SCOPE_NAMES = ("_cancel_status", "_cancel_called", "_shield")
TASK_NAMES = ("_cancel_status", "_next_send", "_next_send_fn", "_abort_func")
CLOCK_NAMES = ("_virtual_base",)


class TrioChanged(WorldError):
    """The installed trio lacks a private name that the sweep stands on. We adapt this file."""


class Felled(BaseException):
    """Ends a task that neither a cancel nor the lifting of its shields could end. Only a spoilt run sees it."""


def missing() -> list[str]:
    """Name what this trio no longer has, outside a run; empty when all is well."""
    lost = [f"trio._core._run.{name}" for name in (FLAG, DRAWS, "GLOBAL_RUN_CONTEXT") if not hasattr(_run, name)]
    for kind, names in (("CancelStatus", STATUS_NAMES), ("CancelScope", SCOPE_NAMES), ("Task", TASK_NAMES)):
        fields = _fields(getattr(_run, kind, object))
        lost += [f"trio._core._run.{kind}.{name}" for name in names if name not in fields]
    clock = trio.testing.MockClock()
    return lost + [f"trio.testing.MockClock.{name}" for name in CLOCK_NAMES if not hasattr(clock, name)]


def require() -> None:
    """Raise :class:`TrioChanged`, with every name that is gone, unless all are there."""
    if lost := missing():
        raise TrioChanged(f"trio {trio.__version__} no longer has {', '.join(lost)}: adapt {__name__}")


def _fields(kind: Any) -> set[str]:
    return {field.name for field in getattr(kind, "__attrs_attrs__", ())}


# ---------------------------------------------------------------------------------------------------------- the loop


Order: TypeAlias = Callable[[list[trio.lowlevel.Task]], None]


class Draws(random.Random):
    """Shuffles as trio's own would, and then lets ``order`` have its way with a batch, whose last task runs first."""

    order: Order | None = None

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Order one batch."""
        super().shuffle(x)
        if self.order is not None:
            self.order(cast("list[trio.lowlevel.Task]", x))


@contextmanager
def deterministic() -> Iterator[Draws]:
    """Let trio sort each batch of runnable tasks by age before it shuffles them; put everything back afterwards."""
    flag, drawn, draws = getattr(_run, FLAG), getattr(_run, DRAWS), Draws()
    setattr(_run, FLAG, True)
    setattr(_run, DRAWS, draws)
    try:
        yield draws
    finally:
        setattr(_run, FLAG, flag)
        setattr(_run, DRAWS, drawn)


def restart(clock: trio.testing.MockClock, seed: int) -> None:
    """Make the next case start as the first did: at time 0, with the scheduler's draws from the start."""
    clock._virtual_base = 0.0
    getattr(_run, DRAWS).seed(seed)


def is_installed(instrument: trio.abc.Instrument) -> bool:
    """Tell whether trio still calls the instrument. It logs and drops one that raises, and the run goes on blind."""
    return instrument in _run.GLOBAL_RUN_CONTEXT.runner.instruments.data["_all"]


# ------------------------------------------------------------------------------------------------------------ scopes


def scopes(task: trio.lowlevel.Task) -> Iterator[trio.CancelScope]:
    """Walk the cancel scopes that a task is in, from the inside out; none once it has ended."""
    status: _run.CancelStatus | None = task._cancel_status
    while status is not None:
        yield status._scope
        status = status._parent


def is_live(scope: trio.CancelScope) -> bool:
    """Tell whether the scope has been entered and not left, and nobody has cancelled it yet."""
    return scope._cancel_status is not None and not scope._cancel_called


def is_left(scope: trio.CancelScope) -> bool:
    """Tell whether the scope, which was entered once, has been left."""
    return scope._cancel_status is None


def starts_with_an_error(task: trio.lowlevel.Task) -> bool:
    """Tell, fast, whether the task's next step starts with an error."""
    return task._next_send.__class__ is outcome.Error


def delivered(task: trio.lowlevel.Task) -> trio.Cancelled | None:
    """Return the ``Cancelled`` that the task's next step starts with, if any."""
    sent = task._next_send
    if isinstance(sent, outcome.Error) and isinstance(sent.error, trio.Cancelled):
        return sent.error
    return None


def homes(task: trio.lowlevel.Task, root: trio.CancelScope) -> list[trio.CancelScope]:
    """Return the outermost cancelled scope that the task sees, where its ``Cancelled`` has to go, and all further out.

    Those may be cancelled before it gets there, and then it goes on to them. Empty where no scope inside of ``root``
    is cancelled.
    """
    found: list[trio.CancelScope] = []
    is_visible = True
    status: _run.CancelStatus | None = task._cancel_status
    while status is not None and status._scope is not root:
        scope = status._scope
        if is_visible and scope._cancel_called:
            found.clear()
            found.append(scope)
        elif found:
            found.append(scope)
        is_visible = is_visible and not scope._shield
        status = status._parent
    return found


def fell(task: trio.lowlevel.Task) -> None:
    """Make the task's next step its last, whatever it catches. Its coroutines are kept: they would not be closed."""
    if task._next_send_fn is None:
        trio.lowlevel.reschedule(task)
    if getattr(task.coro, "cr_await", None) is None:
        task.coro.close()  # it has not begun
    GRAVES.append(task.coro)
    task._next_send_fn = _last_step


GRAVES: list[Any] = []
"""What is left of felled tasks. A coroutine that swallows every error swallows its own end too, and says so loudly."""


def _last_step(_: object) -> Never:
    raise Felled
