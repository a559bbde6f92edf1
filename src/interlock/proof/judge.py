"""The oracles that every case is held to, whatever its scenario checks, and the verdict that they come to.

A ``Cancelled`` is swallowed without a trace: its scope says ``cancelled_caught`` is False, as if nothing had been
delivered. So the instrument keeps every ``Cancelled`` that trio hands to a task, and the scope where it belongs, and
each must be found in what came out of the operation, in a group there, or as what an error there has replaced.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import trio

from interlock.proof.course import Course
from interlock.proof.places import Place
from interlock.proof.plan import OP, Injection, Plan, text
from interlock.proof.scenario import Scenario
from interlock.proof.trial import Trial
from interlock.proof.verdict import Landing, Verdict, called, history

SHOWN = 4
"""In how many places a failure says that ``Cancelled`` was raised."""


@dataclass(slots=True)
class Case:
    """One run of a scenario under one plan: what was found, and what else could have been injected on its path."""

    plan: Plan
    verdict: Verdict
    findings: list[str]
    landings: list[Landing]
    sites: list[Injection]
    steps: int
    index: int
    names: tuple[str, ...] = ()
    raised_at: list[tuple[str, Place]] = field(default_factory=list, compare=False)
    likeness: int | None = field(default=None, compare=False)
    landed_at: tuple[int, bool] = field(default=(0, False), compare=False)
    spoilt: bool = field(default=False, compare=False)

    @property
    def bulk(self) -> tuple[int, int, int, bool]:
        """How much there is to understand: less injected, less raised, raised where it landed, and no timer."""
        raised = {place for _, place in self.raised_at}
        elsewhere = sum(landing.place not in raised for landing in self.landings)
        return len(self.plan), len(raised), elsewhere, any(injection.target != OP for injection in self.plan)

    def __str__(self) -> str:
        lines = [f"{self.verdict}  plan {text(self.plan) or '(nothing injected)'}"]
        for landing in self.landings:
            lines.append(f"  {landing}")
            lines += [f"    and {called(task)} waited at {place.quoted}" for task, place in landing.others]
        for task, place in self.raised_at[:SHOWN]:
            lines.append(f"  Cancelled was raised in {called(task)} at {place.quoted}")
        lines += ["  found: " + finding.replace("\n", "\n         ") for finding in self.findings]
        return "\n".join(lines)


def judge(scenario: Scenario, course: Course, trial: Trial, error: BaseException | None, installed: bool) -> Case:
    """Come to a verdict over one case that has ended."""
    unknown = _unknown(course, error, installed)
    wrong = [] if unknown and not course.opened else _wrong(scenario, course, trial, error)
    verdict = Verdict.UNRESOLVED if unknown else Verdict.FAIL if wrong else Verdict.PASS
    return Case(
        plan=course.plan,
        verdict=verdict,
        findings=unknown + wrong,
        landings=course.landings,
        sites=course.sites,
        steps=course.steps,
        index=course.index,
        names=tuple(course.names.values()),
        raised_at=course.raised_at,
        likeness=hash(course.likeness) if course.likeness is not None else None,
        landed_at=course.landed_at,
    )


def _unknown(course: Course, error: BaseException | None, installed: bool) -> list[str]:
    """Say why the case shows nothing, if it does not."""
    if not installed:
        return ["trio has disabled the sweep's instrument, which raised an error: see the log; nothing was observed"]
    if not course.opened and course.stopped:
        return [f"the set-up came to {course.stopped}"]
    if not course.opened:
        return ["the set-up failed: " + (told(error) if error else "it never called trial.operation")]
    if course.is_unknown:
        return [course.stopped]
    if course.due is not None and not course.stopped:
        return [f"{course.due} did not fire: that point was not reached, or nothing of that name was live there"]
    return []


def _wrong(scenario: Scenario, course: Course, trial: Trial, error: BaseException | None) -> list[str]:
    """Say what no program should do."""
    if course.stopped:
        return [] if course.is_unknown else [course.stopped]
    found = [f"the scenario ended with {told(error)}"] if error is not None else []
    if trial.outcome is None:
        return [*found, "the operation has not ended"]
    left = [task.name for task in course.ours] + ([] if scenario.leaves_tasks else course.left)
    if left:
        found.append(f"left running: {', '.join(left)} (if that is meant, declare it: leaves_tasks=True)")
    return found + swallowed(course, trial, strict=scenario.strict)


def swallowed(course: Course, trial: Trial, *, strict: bool) -> list[str]:
    """Find each ``Cancelled`` that was raised and has not arrived where it belongs."""
    arrived = history(trial.escaped)
    strays = [homes for raised, homes in course.deliveries if id(raised) not in arrived]
    lost = [homes[0] for homes in strays if not _is_caught(course, homes)]
    found = []
    if lost:
        names = ", ".join(sorted({course.names.get(home, "a scope of its own") for home in lost}))
        found.append(
            f"Cancelled was swallowed: {course.raised} raised, {len(lost)} neither reached its scope ({names})"
            " nor left the operation"
        )
    due = any(homes[0] is course.op for _, homes in course.deliveries)
    if strict and due and trial.outcome is not None and not trial.outcome.was_cancelled and not lost:
        found.append("an error took the place of Cancelled: " + told(trial.outcome.error))
    return found


def _is_caught(course: Course, homes: list[trio.CancelScope]) -> bool:
    """Tell whether the scope caught it, or one further out that was cancelled in the meantime."""
    return any(home.cancelled_caught for home in homes if home is not course.op)


def told(error: BaseException | None) -> str:
    """Describe an error in a line or two, with where it was raised."""
    if error is None:
        return "nothing"
    if isinstance(error, BaseExceptionGroup):
        return f"{type(error).__name__} of " + "; ".join(told(inner) for inner in error.exceptions)
    place, trace = "", error.__traceback__
    while trace is not None:
        place = f" at {trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__}{place}" + (f": {error}" if str(error) else "")
