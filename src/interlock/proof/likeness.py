"""When two cases are one: the same steps, in the same batches, with the same state, and the same scopes cancelled.

A cancel that meets nobody who can be torn changes a flag, and so whole rows of plans come to one and the same
execution. Extending one of them by later injections extends them all. A scenario that says what its state is
(``trial.reveal``) lets the sweep see that; without it no two cases are taken for one, since steps at equal lines may
have had unequal data. Beside the state that is revealed, two such cases can differ in nothing but code that asks a
scope whether it was cancelled, without waiting.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import trio

from interlock.proof import trio_internals


@dataclass(slots=True)
class Cut:
    """A scope that was cancelled: in which task it was entered, how deep, and at which step it was left.

    That identifies it from run to run: scopes of one task at one depth follow each other.
    """

    scope: trio.CancelScope
    owner: int
    depth: int
    left_at: int = 0

    def look(self, index: int) -> None:
        """Note the step at which the scope was left."""
        if not self.left_at and trio_internals.is_left(self.scope):
            self.left_at = index

    @property
    def identity(self) -> Hashable:
        """What is the same in every run."""
        return self.owner, self.depth, self.left_at


def cut(scope: trio.CancelScope, ours: Mapping[trio.lowlevel.Task, int]) -> Cut:
    """Identify a scope that is cancelled now. The oldest task in it is the one that entered it."""
    inside = [(number, task) for task, number in ours.items() if scope in trio_internals.scopes(task)]
    if not inside:
        return Cut(scope, -1, 0)
    owner, task = min(inside, key=lambda pair: pair[0])
    outward = list(trio_internals.scopes(task))
    return Cut(scope, owner, len(outward) - outward.index(scope))
