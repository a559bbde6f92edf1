"""Model-based fuzzing: what a target is, the schedules that Hypothesis draws for it, and what a campaign reports.

A *target* says which acts there are and runs a schedule. For the runtime ``decide`` is the model, in two ways: the
oracle looks at each of its decisions, and asks at rest whether what the runtime did is what they say.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from interlock.proof.fuzz_acts import ACTS
from interlock.proof.fuzz_run import run
from interlock.proof.fuzz_schedule import MAX_EVENTS, Event, Found, Kind, Schedule, Unusable
from interlock.proof.fuzz_world import World

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

INSTALL: Final = "fuzzing needs Hypothesis: pip install 'interlock[proof]'"

Point: TypeAlias = tuple[str, ...]
"""Something that a schedule reached: a row of a machine that fired, say."""


class Ran(NamedTuple):
    """What came of one schedule: what it broke, and which points it reached."""

    broken: tuple[str, ...]
    reached: frozenset[Point]


@dataclass(frozen=True)
class Target:
    """What is fuzzed: the acts that schedules are made of, and what runs one. It travels between processes."""

    kind: Kind
    acts: tuple[str, ...]
    run: Callable[[Schedule], Ran]
    first: str = ""
    """The act that nearly every schedule begins with."""
    often: tuple[tuple[str, int], ...] = ()
    """Acts that are drawn so many times as often as the others, in every swarm."""
    rarely: tuple[str, ...] = ()
    """Acts after which little can happen: most swarms are without them."""
    machines: tuple[str, ...] = ()
    title: str = ""
    """What a report calls it, where that is not its kind."""


def run_flat(schedule: Schedule) -> Ran:
    """Run a schedule on the real runtime, in memory."""
    world = run(World(schedule), ACTS)
    return Ran(tuple(world.broken), frozenset(world.ledger.rows))


TWICE: Final = ("open", "ack", "tear", "detach", "give_up", "resume_wrong", "second", "ten_seconds")
OFTEN: Final = {"speak": 6, "resume": 4, "barge_in": 3, "tick": 3, **dict.fromkeys(TWICE, 2)}

FLAT: Final = Target(
    "flat",
    tuple(ACTS),
    run_flat,
    first="open",
    often=tuple(OFTEN.items()),
    rarely=("stop_host", "cancel_host", "close", "refuse_sessions", "leap"),
)


@dataclass
class Report:
    """What a campaign, or a part of one, has done and found."""

    target: Target
    seed: int
    examples: int = 0
    events: int = 0
    seconds: float = 0.0
    reached: set[Point] = field(default_factory=set)
    kept: list[Schedule] = field(default_factory=list)
    """Schedules that reached something which none before them had: the corpus."""
    failures: list[Found] = field(default_factory=list)
    """One of each kind, made short."""
    repeated: int = 0
    """Failures of a kind that was told already."""

    @property
    def rate(self) -> float:
        """Examples a second, drawing and shrinking included."""
        return self.examples / self.seconds if self.seconds else 0.0


HASTES: Final = (0, 0, 0, 0, 0, 1, 2, 3)
SWARMS: Final = 256
HEAD: Final = 4


def schedules(target: Target = FLAT, max_events: int = MAX_EVENTS) -> SearchStrategy[Schedule]:
    """Return a Hypothesis strategy of a target's schedules, for a ``@given`` of your own.

    Raises :class:`Unusable` where Hypothesis is missing.
    """
    st = hypothesis_of().strategies
    sizes = st.integers(HEAD, HEAD + 3 * max_events).map(lambda size: size - (size - HEAD) % 3)
    drawn = sizes.flatmap(lambda size: st.binary(min_size=size, max_size=size))
    strategy: SearchStrategy[Schedule] = drawn.map(lambda data: decoded(data, target))
    return strategy


def hypothesis_of() -> ModuleType:
    """Import Hypothesis, for those who have it. Raises :class:`Unusable`."""
    try:
        import hypothesis
    except ImportError as error:
        raise Unusable(INSTALL) from error
    return hypothesis


def decoded(data: bytes, target: Target) -> Schedule:
    """Make a schedule of bytes; any four or more are one. The third says which acts take part (swarm testing)."""
    order, variant, swarm, opening, *rest = data
    chosen = _swarm(target, swarm)
    events = [Event(target.first, opening // 8)] if target.first and opening % 8 else []
    for act, pick, haste in zip(*[iter(rest)] * 3, strict=False):
        events.append(Event(chosen[act % len(chosen)], pick if pick >= 64 else 0, HASTES[haste % len(HASTES)]))
    return Schedule(tuple(events), order, variant % 4)


@functools.lru_cache(maxsize=4 * SWARMS)
def _swarm(target: Target, swarm: int) -> tuple[str, ...]:
    """Return the acts of one swarm, each as often as it is to be drawn: all of them, or a third, less the rare ones."""
    draw = random.Random(swarm)
    some = target.acts if swarm % 4 == 0 else draw.sample(target.acts, max(len(target.acts) // 3, 1))
    some = [name for name in some if name not in target.rarely or draw.random() < 0.3]
    some += itertools.chain.from_iterable([name] * times for name, times in target.often)
    draw.shuffle(some)  # Hypothesis likes zeros: they should not be the same act in every swarm
    return tuple(some) or target.acts
