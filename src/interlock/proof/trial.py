"""What a scenario is handed: the operation that is swept, the scopes and ports that it shows to the sweep.

A scenario is set-up, one operation, and checks::

    @scenario
    async def transfer(trial: Trial) -> None:
        bank = Bank(a=10, b=0)                                    # set-up: not swept
        outcome = await trial.operation(bank.transfer, "a", "b")  # swept
        assert bank.total == 10                                   # checks: not swept
        assert outcome.returned == (bank.b == 10)

It is run from its first line for every plan, so everything that it uses must be made in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar, TypeVarTuple, Unpack

import trio

from interlock.proof.course import Course
from interlock.proof.plan import OP, Phase, is_timer_name
from interlock.proof.ports import Faulty
from interlock.proof.verdict import Outcome, is_cancelled, leaves

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Misused(RuntimeError):
    """The scenario has not kept to its form: one operation, names that are free."""


class Trial:
    """One run of a scenario. ``outcome`` is there once the operation has ended, however it ended."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self.outcome: Outcome | None = None
        self.escaped: BaseException | None = None

    async def operation(self, function: Callable[[Unpack[Ts]], Awaitable[object]], *arguments: *Ts) -> Outcome:
        """Run the operation that is swept, in a scope of its own, and return how it ended.

        Only what is not ours to keep is raised: ``Cancelled`` of a scope that encloses the call, and what ends the
        program.
        """
        if self._course.opened:
            raise Misused("a scenario has one operation; what follows it is trial.settle")
        began = trio.current_time()
        self._course.begin(trio.lowlevel.current_task())
        value, left = None, None
        try:
            self._course.enter()
            with self._course.op:
                value = await self._capture(function, *arguments)
        except BaseException as error:  # this is the harness's capture of the outcome; what is not ours is raised below
            left = error
        finally:
            self._course.end()
        self.outcome = self._told(value, left, trio.current_time() - began)
        if left is not None and not isinstance(left, Exception):
            raise left
        return self.outcome

    async def settle(self, function: Callable[[Unpack[Ts]], Awaitable[T]], *arguments: *Ts) -> T:
        """Sweep what follows the operation too: waiting for what it left to others. Its own scope is over by now."""
        if self.outcome is None:
            raise Misused("trial.settle follows trial.operation")
        self._course.begin(trio.lowlevel.current_task())
        try:
            return await function(*arguments)
        finally:
            self._course.end()

    def expose(self, name: str, scope: trio.CancelScope) -> trio.CancelScope:
        """Make a scope a target, under this name, and return it: somebody else may cancel it at any time."""
        if name == OP or is_timer_name(name) or not name.isidentifier():
            raise Misused(
                f"{name!r} cannot name a scope: `{OP}` and `timer` are taken, and a plan spells an identifier"
            )
        if name in self._course.names.values():
            raise Misused(f"two scopes are called {name!r}; name them apart")
        self._course.names[scope] = name
        return scope

    @property
    def injected(self) -> tuple[str, ...]:
        """What was injected so far, by target: for a check that holds only while clocks are honest."""
        return tuple(landing.injection.family for landing in self._course.landings)

    def reveal(self, state: Callable[[], Hashable]) -> None:
        """Say what the scenario's state is, apart from where its tasks wait; the sweep asks before each step.

        Two cases with the same steps and the same states are then one, and only one of them is extended by later
        injections. What ``state`` returns must be all that later steps depend on, and may hold nothing that differs
        from run to run, such as a random token.
        """
        self._course.reveal = state

    def port(
        self,
        port: T,
        name: str,
        *,
        error: Callable[[], Exception] = OSError,
        faults: tuple[Phase, ...] = (Phase.RAISE, Phase.HANG, Phase.CANCEL),
    ) -> T:
        """Wrap a way to the world, so that each await of each of its methods can fail. See :class:`Faulty`."""
        faulty: T = Faulty(port, name, self._course, error=error, faults=faults)  # type: ignore[assignment]
        return faulty  # it has every attribute of the port, by delegation, which no type can say

    async def _capture(self, function: Callable[[Unpack[Ts]], Awaitable[object]], *arguments: *Ts) -> object:
        try:
            return await function(*arguments)
        except BaseException as error:
            self.escaped = error
            raise

    def _told(self, value: object, left: BaseException | None, seconds: float) -> Outcome:
        escaped = self.escaped
        if escaped is None:
            return Outcome("returned", value, seconds=seconds)
        cancelled = is_cancelled(escaped)
        if all(isinstance(leaf, trio.Cancelled) for leaf in leaves(escaped)):
            return Outcome("cancelled", was_cancelled=True, seconds=seconds)
        return Outcome("raised", error=left or escaped, was_cancelled=cancelled, seconds=seconds)
