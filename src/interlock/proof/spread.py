"""Cases of one scenario in several processes: what makes a sweep faster than any loop on one core can be.

Sharing a ``trio.run`` saves its start, which matters little where cases are long; the rest of a case is the program
itself, and only another core makes that faster. Processes are forked, so that a scenario need not be found again, and
two cases that come to the same have the same hash in all of them. Cases come back in the order of the requests.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from typing import NamedTuple

from interlock.errors import WorldError
from interlock.proof.course import Traced
from interlock.proof.judge import Case
from interlock.proof.run import Request, run_all
from interlock.proof.scenario import Scenario
from interlock.proof.verdict import Limits, Verdict

FEW = 100
"""So many cases are over before another process has begun."""
CHUNK, SHARES = 64, 8
"""A process is handed at most so many cases at once, and no more than a part of its share."""


class Tried(NamedTuple):
    """A case; and one that failed a second time, with more told of where everybody waited."""

    case: Case
    again: Case | None = None


def cores(jobs: int = 0) -> int:
    """Return how many processes are meant: 0 is one for each core; never more than one where none can be forked."""
    can_fork = "fork" in multiprocessing.get_all_start_methods()
    return (jobs or os.cpu_count() or 1) if can_fork else 1


def run_spread(
    scenario: Scenario, requests: Sequence[Request], *, seed: int, limits: Limits, jobs: int = 1
) -> Iterator[Tried]:
    """Yield what came of each request, in order; a few of them are not worth another process.

    Raises :class:`WorldError` when a process was ended from outside, beside what :func:`run_all` raises.
    """
    size = min(CHUNK, max(1, len(requests) // (jobs * SHARES)))
    chunks = [requests[start : start + size] for start in range(0, len(requests), size)]
    if jobs == 1 or len(requests) < FEW:
        yield from chain.from_iterable(tried(scenario, chunk, seed, limits) for chunk in chunks)
        return
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, context, _begun, (scenario, seed, limits)) as pool:
        try:
            yield from chain.from_iterable(pool.map(_chunk, chunks))
        except BrokenProcessPool:
            raise WorldError(
                f"a process of the sweep of {scenario.name} was ended from outside; run it again"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def tried(scenario: Scenario, requests: Sequence[Request], seed: int, limits: Limits) -> list[Tried]:
    """Run requests in this process; each that fails is run again at once."""
    found: list[Tried] = []

    def take(case: Case, _: list[Traced] | None) -> None:
        if found and _is_suspect(found[-1]):
            found[-1] = found[-1]._replace(again=case)
        else:
            found.append(Tried(case))

    def asked() -> Iterator[Request]:
        for request in requests:
            yield request
            if _is_suspect(found[-1]):
                yield Request(request.plan, trace=True, steps=request.steps)

    run_all(scenario, asked(), take, seed=seed, limits=limits)
    return found


def _is_suspect(one: Tried) -> bool:
    return one.case.verdict is Verdict.FAIL and one.again is None


_given: list[tuple[Scenario, int, Limits]] = []


def _begun(scenario: Scenario, seed: int, limits: Limits) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever presses it means the parent, which ends its children
    _given.append((scenario, seed, limits))


def _chunk(requests: Sequence[Request]) -> list[Tried]:
    scenario, seed, limits = _given[-1]
    return tried(scenario, requests, seed, limits)
