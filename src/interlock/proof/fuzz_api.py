"""The public API as a state machine of Hypothesis: rules are calls, invariants are the promises.

``TestApi = Api.TestCase``, of :mod:`interlock.proof.fuzz_rules`, is a test that Hypothesis shrinks; here is a campaign.
Flat schedules are drawn faster. Here each rule sees what the ones before it came to, so that a call is made where it
means something. Whatever is found is a schedule like any other, and is made short in the same way.
"""

from __future__ import annotations

import contextlib
import io
import time
from typing import Final

from interlock.proof.fuzz import Report, Target, hypothesis_of, run_flat
from interlock.proof.fuzz_acts import ACTS
from interlock.proof.fuzz_campaign import Progress
from interlock.proof.fuzz_schedule import MAX_EVENTS, Found
from interlock.proof.fuzz_shrink import SHRINK_S, shrink

ROUND: Final = 100
"""Programs of one round."""


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

    from interlock.proof.fuzz_rules import COUNTED, EVENTS, Api, Broken

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
    machine = hypothesis.seed(seed)(type("Api", (Api,), {}))
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            run_state_machine_as_test(machine, settings=settings)
    except Broken as broken:
        return broken.found
    finally:
        report.examples += len(COUNTED)
        report.events += sum(EVENTS)
        report.reached.update(*(ran.reached for ran in COUNTED))
        COUNTED.clear()
        EVENTS.clear()
    return None


API: Final = Target("flat", tuple(ACTS), run_flat, title="api")
