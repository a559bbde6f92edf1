"""The public API as a state machine of Hypothesis: rules are calls, invariants are the promises.

``TestApi = api_machine().TestCase`` in a test file is a test, which Hypothesis shrinks; :func:`fuzz_api` is a campaign.
Flat schedules are drawn faster. Here each rule sees what the ones before it came to, so that a call is made where it
means something. Whatever is found is a schedule like any other, and is made short in the same way.
"""

from __future__ import annotations

import contextlib
import functools
import io
import time
from typing import Any, Final

from interlock.proof.fuzz import Ran, Report, Target, hypothesis_of, run_flat
from interlock.proof.fuzz_acts import ACTS
from interlock.proof.fuzz_campaign import Progress
from interlock.proof.fuzz_pump import Pump, SteppedWorld
from interlock.proof.fuzz_schedule import MAX_EVENTS, Event, Found, as_text
from interlock.proof.fuzz_shrink import SHRINK_S, shrink

CALLS: Final = ("append", "commit", "speak", "clear_input", "barge_in", "cancel", "create", "playback_ack", "heartbeat")
ACKS: Final = ("ack", "ack_position", "ack_less", "ack_lie")
CLAIMS: Final = ("resume", "resume_presented", "resume_old", "resume_wrong", "resume_from_0", "resume_ahead")
LINES: Final = ("tear", "break", "stall", "allow_one", "allow", "detach")
TIMES: Final = ("tick", "second", "ten_seconds", "forty_seconds", "leap")
ENDS: Final = ("close", "stop_host", "cancel_host")
STAGES: Final = tuple(
    name
    for name in ACTS
    if name not in {*CALLS, *ACKS, *CLAIMS, *LINES, *TIMES, *ENDS, "open", "resume_foreign", "give_up"}
)

ROUND: Final = 100
"""Programs of one round."""


class Broken(AssertionError):
    """The promises do not hold. The text has the sentences, and the file of the schedule."""

    def __init__(self, found: Found) -> None:
        super().__init__("\n".join([*found.broken, as_text(found)]))
        self.found = found


@functools.cache
def api_machine() -> Any:
    """Return the ``RuleBasedStateMachine``. Raises :class:`interlock.proof.fuzz_schedule.Unusable`."""
    hypothesis_of()
    from hypothesis import stateful
    from hypothesis import strategies as st

    small, rule, precondition = st.integers(0, 31), stateful.rule, stateful.precondition

    class Api(stateful.RuleBasedStateMachine):  # type: ignore[misc, unused-ignore]
        """One host, any number of clients."""

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

        @rule(pick=small)
        def open(self, pick: int) -> None:
            """``await host.open(transport)``."""
            self.step("open", pick)

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
                _COUNTED.append(Ran(tuple(self.world.broken), frozenset(self.world.ledger.rows)))
                _EVENTS.append(len(self.world.happened))
                self.ask()

    return Api


def fuzz_api(
    *,
    seed: int = 0,
    budget_s: float = 60.0,
    examples: int | None = None,
    steps: int = MAX_EVENTS,
    shrink_s: float = SHRINK_S,
    progress: Progress = lambda report: None,
) -> Report:
    """Run programs until ``budget_s`` seconds or ``examples`` are spent, or one is broken; it is in the report."""
    report, began, number = Report(API, seed), time.monotonic(), seed * 1_000_003
    while report.seconds < budget_s and not report.failures and (examples is None or report.examples < examples):
        found = _round(number, ROUND if examples is None else min(ROUND, examples - report.examples), steps, report)
        if found is not None:
            short, said = shrink(found.schedule, found.broken, lambda shorter: run_flat(shorter).broken, shrink_s)
            about = f"api, round {number}"
            report.failures.append(Found("flat", short, said[:5], about))
        number += 1
        report.seconds = time.monotonic() - began
        progress(report)
    return report


def _round(seed: int, examples: int, steps: int, report: Report) -> Found | None:
    """Run one round; return the program that broke something."""
    hypothesis = hypothesis_of()
    from hypothesis.stateful import run_state_machine_as_test

    settings = hypothesis.settings(
        max_examples=examples,
        stateful_step_count=steps,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    machine = hypothesis.seed(seed)(type("Api", (api_machine(),), {}))
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            run_state_machine_as_test(machine, settings=settings)
    except Broken as broken:
        return broken.found
    finally:
        report.examples += len(_COUNTED)
        report.events += sum(_EVENTS)
        report.reached.update(*(ran.reached for ran in _COUNTED))
        _COUNTED.clear()
        _EVENTS.clear()
    return None


API: Final = Target("flat", tuple(ACTS), run_flat, title="api")

_COUNTED: Final[list[Ran]] = []
_EVENTS: Final[list[int]] = []
"""What the examples of this round have come to: Hypothesis makes the machines, and keeps none."""
