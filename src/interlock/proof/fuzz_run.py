"""One run of a fuzzed world, and what ends it when it has no end of its own."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final

import trio

from interlock.proof.fuzz_world import Act, World
from interlock.proof.judge import told
from interlock.proof.trio_internals import Felled, deterministic, fell, restart
from interlock.proof.verdict import leaves

STEPS: Final = 40_000
"""Task steps that one run may take; past it the run is a livelock."""


def run(world: World, acts: Mapping[str, Act]) -> World:
    """Run a world to its end; what was found is in ``world.broken``."""
    error: BaseException | None = None
    with Guarded(world) as guarded:
        try:
            trio.run(world.live, acts, clock=world.clock, instruments=[guarded.limit])
        except BaseException as raised:
            error = raised
    guarded.close(error)
    return world


class Guarded:
    """What is set up around a run: deterministic scheduling, a limit of steps, and an ear for what the runtime logs."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.limit = _Limit(STEPS)
        self._loud = _Loud(world.broken)
        self._around = ExitStack()

    def __enter__(self) -> Guarded:
        log = self.world.host.log
        self._around.enter_context(deterministic())
        restart(self.world.clock, self.world.schedule.order)
        propagates, log.propagate = log.propagate, False
        log.addHandler(self._loud)
        self._around.callback(setattr, log, "propagate", propagates)
        self._around.callback(log.removeHandler, self._loud)
        return self

    def __exit__(self, *_: object) -> None:
        self._around.close()

    def close(self, error: BaseException | None) -> None:
        """Judge how the run ended; raise again what is no failure of the runtime."""
        self._around.close()
        failed = [leaf for leaf in leaves(error) if not isinstance(leaf, Felled)] if error is not None else []
        if any(not isinstance(leaf, Exception) for leaf in failed):
            assert error is not None
            raise error
        self.world.broken.extend(f"the runtime has failed: {told(leaf)}" for leaf in failed)
        if self.limit.left < 0:
            self.world.broken[:] = [f"promise 1: over {STEPS} task steps, and no rest"]


class _Limit(trio.abc.Instrument):
    """Ends every task that still steps when there were too many steps."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.left -= 1
        if self.left < 0:
            fell(task)


class _Loud(logging.Handler):
    """Takes what the runtime has logged with a traceback: nothing in this world gives it a reason."""

    def __init__(self, broken: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._broken = broken

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self._broken.append(f"logged: {record.getMessage().partition(': ')[2]}: {told(record.exc_info[1])}")
