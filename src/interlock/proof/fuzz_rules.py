"""The rules: what a program may call, and when. Importing this needs Hypothesis.

Each rule is one act of a schedule, made where it means something; after each, and at the end, the promises are asked.
"""

from __future__ import annotations

from typing import Final

from hypothesis import stateful
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from interlock.proof.fuzz import Ran
from interlock.proof.fuzz_acts import ACTS
from interlock.proof.fuzz_pump import Pump, SteppedWorld
from interlock.proof.fuzz_schedule import Event, Found, as_text

CALLS: Final = (
    "append",
    "commit",
    "speak",
    "clear_input",
    "barge_in",
    "cancel",
    "create",
    "playback_ack",
    "heartbeat",
    "update",
    "write",
    "answer_call",
    "truncate",
    "delete_item",
    "create_text",
    "create_aside",
    "turns_by_hand",
)
ACKS: Final = ("ack", "ack_position", "ack_less", "ack_lie")
CLAIMS: Final = (
    "resume",
    "resume_presented",
    "resume_old",
    "resume_wrong",
    "resume_from_0",
    "resume_ahead",
    "resume_strict",
    "resume_strict_presented",
)
OPENS: Final = ("open", "open_strict")
LINES: Final = ("tear", "break", "stall", "allow_one", "allow", "detach")
TIMES: Final = ("tick", "second", "ten_seconds", "forty_seconds", "leap")
ENDS: Final = ("close", "stop_host", "cancel_host")
STAGES: Final = tuple(
    name
    for name in ACTS
    if name not in {*CALLS, *ACKS, *CLAIMS, *LINES, *TIMES, *ENDS, *OPENS, "resume_foreign", "give_up"}
)

COUNTED: Final[list[Ran]] = []
EVENTS: Final[list[int]] = []
"""What the examples of a round have come to: Hypothesis makes the machines, and keeps none."""

small = st.integers(0, 31)


class Broken(AssertionError):
    """The promises do not hold. The text has the sentences, and the file of the schedule."""

    def __init__(self, found: Found) -> None:
        super().__init__("\n".join([*found.broken, as_text(found)]))
        self.found = found


class Api(stateful.RuleBasedStateMachine):
    """One host, any number of clients. ``Api.TestCase`` is a test."""

    def __init__(self) -> None:
        super().__init__()
        self.pump: Pump | None = None

    @property
    def world(self) -> SteppedWorld:
        """The world, which begins with the first rule."""
        assert self.pump is not None
        return self.pump.world

    @stateful.initialize(variant=st.integers(0, 3))
    def begin(self, variant: int) -> None:
        """Start a host, and open a session."""
        self.pump = Pump(SteppedWorld(variant))
        self.step("open")

    def step(self, act: str, pick: int = 0) -> None:
        """Let one act happen, and ask the promises."""
        assert self.pump is not None
        self.pump.step(Event(act, pick))
        self.ask()

    def ask(self) -> None:
        """Raise what is broken, with the schedule that broke it."""
        if broken := self.world.broken:
            raise Broken(Found("flat", self.world.schedule_of, tuple(broken[:5])))

    def has_session(self) -> bool:
        """Say whether a caller holds a session."""
        return any(client.sessions for client in self.world.clients)

    def waits(self) -> bool:
        """Say whether somebody waits for an open or a resume."""
        return bool(self.world.calls)

    @rule(act=st.sampled_from(OPENS), pick=small)
    def open(self, act: str, pick: int) -> None:
        """``await host.open(transport)``, in either dialect."""
        self.step(act, pick)

    @precondition(lambda self: any(client.story for client in self.world.clients))
    @rule(act=st.sampled_from(CLAIMS), pick=small)
    def resume(self, act: str, pick: int) -> None:
        """``await host.resume(...)``."""
        self.step(act, pick)

    @precondition(waits)
    @rule(pick=small)
    def give_up(self, pick: int) -> None:
        """Cancel whoever waits."""
        self.step("give_up", pick)

    @precondition(has_session)
    @rule(pick=small)
    def speak(self, pick: int) -> None:
        """``session.append(pcm)`` and ``session.commit()``: a response begins."""
        self.step("speak", pick)

    @precondition(has_session)
    @rule(act=st.sampled_from(CALLS + ACKS), pick=small)
    def call(self, act: str, pick: int) -> None:
        """Say something through a session."""
        self.step(act, pick)

    @precondition(lambda self: bool(self.world.clients))
    @rule(act=st.sampled_from(LINES), pick=small)
    def line(self, act: str, pick: int) -> None:
        """Something happens to a connection."""
        self.step(act, pick)

    @rule(act=st.sampled_from(STAGES), pick=small)
    def stage(self, act: str, pick: int) -> None:
        """A stage does its worst."""
        self.step(act, pick)

    @rule(act=st.sampled_from(TIMES))
    def time_passes(self, act: str) -> None:
        """Time passes."""
        self.step(act)

    @precondition(has_session)
    @rule(act=st.sampled_from(ENDS), pick=small)
    def end(self, act: str, pick: int) -> None:
        """A session, or the host, is ended."""
        self.step(act, pick)

    def teardown(self) -> None:
        """End the host; afterwards nothing may be held."""
        if self.pump is not None:
            self.pump.close()
            COUNTED.append(Ran(tuple(self.world.broken), frozenset(self.world.ledger.rows)))
            EVENTS.append(len(self.world.happened))
            self.ask()
