"""How tests run: `async def` tests under trio, and every test under a limit of real time.

An async test gets a `MockClock` with `autojump_threshold=0`: when every task waits, time jumps to the next deadline, so
that a test of a 30 s grace takes no time and never sleeps. Threads, sockets and processes do not know that clock, and a
test with one of them is marked `real_clock`.

A deadlock under autojump does not wait quietly: with no deadline to jump to, trio polls for ever at full speed. So each
test has `timeout_s` (60 s, or its mark) of real time. At the limit its tasks are listed with the line where each waits,
and it is cancelled; 5 s later shields are lifted, and a task that never yields is broken off.
"""

from __future__ import annotations

import functools
import inspect
import signal
from collections.abc import Awaitable, Callable, Iterator
from types import FrameType

import pytest
import trio
import trio.testing
from trio._core._run import CancelStatus

from interlock.proof.spread import cores

LIMIT_S = 60.0
GRACE_S = 5.0


def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are cores: while some tests compute, others wait for real time."""
    return cores() * 3 // 2


class Limit:
    """The alarm over one test, and the scope to cancel when it goes off."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.alarms = 0
        self.report = ""
        self.running: tuple[trio.lowlevel.TrioToken, trio.CancelScope] | None = None

    def ring(self, _signum: int, frame: FrameType | None) -> None:
        """Cancel the test; then lift its shields, or break off a task that never yields; then end the session.

        An exception in the middle of trio's own loop would leave half-dead tasks for later tests to stumble on.
        """
        self.alarms += 1
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "an unknown line"
        self.report = self.report or f"still running after {self.seconds:g} s of real time, at {place}\n{waiting()}"
        if self.running is None or (self.alarms == 2 and in_task()):
            pytest.fail(self.report)
        if self.alarms > 2:
            pytest.exit(f"a test cannot be stopped; it was {self.report}", returncode=1)
        token, scope = self.running
        token.run_sync_soon(scope.cancel if self.alarms == 1 else unshield)
        signal.setitimer(signal.ITIMER_REAL, GRACE_S)


def in_task() -> bool:
    """Tell whether the code that the alarm interrupted is a task's, and not the loop's."""
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


def tasks() -> Iterator[trio.lowlevel.Task]:
    """Walk the tasks of the running trio loop, parents first."""
    found = [trio.lowlevel.current_root_task()] if trio.lowlevel.in_trio_run() else []
    while found:
        task = found.pop()
        if task is not None:
            yield task
            found += [child for nursery in task.child_nurseries for child in nursery.child_tasks]


def unshield() -> None:
    """Lift every shield. Trio has no public way to a task's scopes; when it renames them, `test_conftest` says so."""
    for task in list(tasks()):
        status: CancelStatus | None = task._cancel_status
        while status is not None:
            status._scope.shield = False
            status = status._parent


def waiting() -> str:
    """List the running tasks, one a line, each with the place in our code where it waits."""
    lines = []
    for task in tasks():
        if task.name.startswith("<"):
            continue  # trio's own
        places = [f"{frame.f_code.co_filename}:{line}" for frame, line in task.iter_await_frames()]
        ours = [place for place in places if "/site-packages/" not in place]
        lines.append(f"  {task.name} waits at {(ours or places or ['its start'])[-1]}")
    return "\n".join(lines)


LIMIT = pytest.StashKey[Limit]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Set the alarm over set-up, call and tear-down of one test."""
    mark = item.get_closest_marker("timeout_s")
    limit = item.stash[LIMIT] = Limit(mark.args[0] if mark else LIMIT_S)
    before = signal.signal(signal.SIGALRM, limit.ring)
    signal.setitimer(signal.ITIMER_REAL, limit.seconds)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Make an async test a plain one, and let pytest call it. Under Hypothesis that is its inner function."""
    hypothesis = getattr(pyfuncitem.obj, "hypothesis", None)
    test = hypothesis.inner_test if hypothesis else pyfuncitem.obj
    if inspect.iscoroutinefunction(test):

        @functools.wraps(test)
        def call(**arguments: object) -> None:
            run_in_trio(pyfuncitem, test, arguments)

        if hypothesis:
            hypothesis.inner_test = call
        else:
            pyfuncitem.obj = call


def run_in_trio(item: pytest.Function, test: Callable[..., Awaitable[None]], arguments: dict[str, object]) -> None:
    """Run one test, or one example of it, to its end or to its limit."""
    limit = item.stash[LIMIT]
    clock = item.funcargs.get("clock")
    if not isinstance(clock, trio.abc.Clock):
        clock = None if item.get_closest_marker("real_clock") else trio.testing.MockClock(autojump_threshold=0)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            limit.running = trio.lowlevel.current_trio_token(), nursery.cancel_scope
            if "nursery" in arguments:
                arguments["nursery"] = nursery
            await test(**arguments)
            nursery.cancel_scope.cancel()

    try:
        trio.run(main, clock=clock)
    except BaseException as error:
        if isinstance(error.__cause__, pytest.exit.Exception):
            raise error.__cause__  # noqa: B904 (trio calls whatever ends its loop a defect of its own)
        if not limit.alarms:
            raise alone(error)  # noqa: B904 (the group was ours; the test did not write it)
    finally:
        limit.running = None
    if limit.alarms:
        signal.setitimer(signal.ITIMER_REAL, 0)
        pytest.fail(limit.report, pytrace=False)


def alone(error: BaseException) -> BaseException:
    """Take an error out of the group that our own nursery made of it."""
    return error.exceptions[0] if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1 else error


@pytest.fixture
def clock(request: pytest.FixtureRequest) -> trio.testing.MockClock:
    """Give the clock of the running test, to `jump` by hand or to read `current_time` from outside."""
    if request.node.get_closest_marker("real_clock"):
        pytest.fail("a test marked real_clock has no MockClock")
    return trio.testing.MockClock(autojump_threshold=0)


@pytest.fixture
def nursery() -> object:
    """Give a nursery that is cancelled when the test returns; `run_in_trio` puts it in the place of this one."""
    return None
