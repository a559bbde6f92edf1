"""One session as a replay follows it: its value, and what its runtime is known to hold because of it.

Timers that are armed, frames that an interrupt can free: both follow from the effects, and a trace in which a timer
fires that was never armed, or an interrupt frees other frames than there are, is no trace of this runtime.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from interlock.machine import ArmTimer, DisarmTimer, Key, Message, address_of
from interlock.observe.snapshot import snapshot
from interlock.proof.replay_target import Target
from interlock.session.books import Produced
from interlock.session.decide import Decision, new_value
from interlock.session.journal import Frames
from interlock.session.value import Value
from interlock.tables import messages as m

SLACK_S = 2e-6
"""Times are written to a microsecond."""

REMEMBERED = 4


@dataclass(slots=True)
class Voided:
    """What an interrupt must free: the record of it follows at once."""

    through: int
    unsent: list[int]
    sent: list[int]


@dataclass(slots=True)
class Followed:
    """``lost`` says that a finding has parted us from the session: what follows is not judged, but counted."""

    value: Value
    n: int = 0
    frames: Frames = field(default_factory=Frames)
    timers: dict[tuple[str, Key, str], float] = field(default_factory=dict)
    voids: deque[Voided | None] = field(default_factory=deque)
    """What the records that follow must say is freed; none where that is not known."""
    recent: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    unknown: int = 0
    """Frames up to this number came before what we have seen. They may be there, and they may be voided."""
    lost: bool = False
    unjudged: int = 0

    @property
    def owes(self) -> str:
        """Say which record must come before any other."""
        for due in self.voids:
            if due is not None:
                freed = ", ".join(map(str, [*due.unsent, *due.sent]))
                return f"the record of what the interrupt before it freed (frames {freed}) is missing"
        return ""

    def start(self, target: Target) -> None:
        """Arm what is armed in the states that the session is in; since when is not known."""
        for effect in target.composition.start(self.value.cells):
            if isinstance(effect, ArmTimer):
                self.timers[effect.target, effect.instance, effect.event.__name__] = -math.inf

    def untimely(self, event: Message, at: float, target: Target) -> str:
        """Say what is wrong with an event that a timer sends, and take its timer off."""
        if type(event) not in target.timers:
            return ""
        due = self.timers.pop((*address_of(event), type(event).__name__), None)
        if due is None:
            return "its timer is not armed"
        return f"its timer is due at {due:.6f} s, and not at {at:.6f} s" if at < due - SLACK_S else ""

    def commit(self, event: Message, decision: Decision, at: float) -> None:
        """Take what an event did."""
        before, self.value = self.value.journal, decision.value
        journal = decision.value.journal
        if isinstance(event, Produced) and journal.head > before.head:
            for seq in range(before.head + 1, journal.head + 1):
                self.frames.append(seq, event.epoch, 0.0, b"")
        if journal.trimmed != before.trimmed:
            self.frames.trim(journal.trimmed)
        for effect in decision.effects:
            self._note(effect, at)

    def _note(self, effect: Message, at: float) -> None:
        match effect:
            case ArmTimer():
                after = effect.after if isinstance(effect.after, float) else self._setting(effect.after)
                self.timers[effect.target, effect.instance, effect.event.__name__] = at + after
            case DisarmTimer():
                self.timers.pop((effect.target, effect.instance, effect.event.__name__), None)
            case m.VoidOutput():
                self._void(effect.through)
            case _:
                pass

    def _void(self, through: int) -> None:
        freed, handed = self.frames.void(through), self.value.journal.handed
        if self.value.journal.trimmed < self.unknown:
            self.voids.append(None)
        elif freed:
            self.voids.append(Voided(through, [s for s in freed if s > handed], [s for s in freed if s <= handed]))

    def _setting(self, name: str | float) -> float:
        return float(getattr(self.value.settings, str(name)))


def newborn(value: Value) -> bool:
    """Say whether a session has just been admitted: nothing has happened to it."""
    idle_s = float(value.cells["lease", None].data.idle_s) if ("lease", None) in value.cells else None
    return snapshot(value) == snapshot(new_value(value.session_id, value.settings, idle_s))
