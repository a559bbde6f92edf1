"""How many examples a second each kind of fuzzing runs, oracles included, and how soon planted faults are found.

The peer of a flat schedule is the same schedule drawn by a plain ``@given`` over a list of events, as one writes it
first; it runs the same world. `cpu` is examples a second of processor time, which a busy machine leaves alone.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import trio
from hypothesis import strategies as st

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from interlock.proof.fuzz import FLAT, Report  # noqa: E402 (the faults lie beside the tests, not in the package)
from interlock.proof.fuzz_acts import ACTS  # noqa: E402
from interlock.proof.fuzz_api import fuzz_api  # noqa: E402
from interlock.proof.fuzz_campaign import fuzz  # noqa: E402
from interlock.proof.fuzz_machines import machines_target  # noqa: E402
from interlock.proof.fuzz_schedule import Event, Schedule  # noqa: E402
from interlock.proof.fuzz_sockets import SOCKETS  # noqa: E402
from tests.proof.fuzz_faults import FAULTS, planted  # noqa: E402

RESULTS = Path(__file__).parent / "results"
TARGET_PER_S = 200
TARGET_FOUND_S = 60.0
TARGET_EVENTS = 6


def by_hand(examples: int) -> Report:
    """A list of events, each of them drawn on its own."""
    report, began = Report(FLAT, 0), time.monotonic()
    event = st.builds(Event, st.sampled_from(list(ACTS)), st.integers(0, 255), st.integers(0, 3))

    @hypothesis.seed(0)
    @hypothesis.settings(max_examples=examples, database=None, deadline=None, phases=[hypothesis.Phase.generate],
                         suppress_health_check=list(hypothesis.HealthCheck))  # fmt: skip
    @hypothesis.given(st.lists(event, max_size=20))
    def one(events: list[Event]) -> None:
        report.reached |= FLAT.run(Schedule(tuple(events))).reached
        report.examples += 1
        report.events += len(events)

    one()
    report.seconds = time.monotonic() - began
    return report


def measured(name: str, campaign: Callable[[], Report]) -> dict[str, Any]:
    began = time.process_time()
    report = campaign()
    cpu_s = time.process_time() - began
    assert not report.failures, report.failures
    row = {
        "kind": name,
        "examples": report.examples,
        "events": round(report.events / report.examples, 1),
        "per_s": round(report.rate, 1),
        "cpu": round(report.examples / cpu_s, 1),
        "events_per_s": round(report.events / report.seconds),
        "rows": len(report.reached),
    }
    print("".join(f"{row[column]:>14}" for column in row))
    return row


def found(name: str) -> dict[str, Any]:
    with planted(name):
        report = fuzz(FLAT, seed=1, budget_s=TARGET_FOUND_S, enough=1)
    events = len(report.failures[0].schedule.events) if report.failures else None
    row = {"fault": name, "examples": report.examples, "seconds": round(report.seconds, 2), "events": events}
    print("  {fault:28}{examples:8}{seconds:10.2f} s{events:>4}".format(**row | {"events": str(events)}))
    return row


def main() -> None:
    fuzz(FLAT, examples=50)  # imports, caches
    print("".join(f"{name:>14}" for name in ("kind", "examples", "events", "per_s", "cpu", "events_per_s", "rows")))
    machines = machines_target((str(ROOT / "machines" / "worker.toml"),))
    rows = [
        measured("flat", lambda: fuzz(FLAT, examples=2000)),
        measured("by hand", lambda: by_hand(1000)),
        measured("api", lambda: fuzz_api(examples=300)),
        measured("sockets", lambda: fuzz(SOCKETS, examples=60)),
        measured("machines", lambda: fuzz(machines, examples=3000)),
    ]
    print("planted faults: examples and seconds until found and shrunk, and events of the schedule")
    faults = [found(name) for name in FAULTS]
    worst_s, longest = max(row["seconds"] for row in faults), max(row["events"] or 99 for row in faults)
    print(
        f"targets: {TARGET_PER_S} flat examples/s ({rows[0]['per_s']:g}; {rows[0]['cpu']:g} of processor time);",
        end=" ",
    )
    print(f"each fault within {TARGET_FOUND_S:g} s ({worst_s:g}) and {TARGET_EVENTS} events ({longest})")
    where = {
        "python": platform.python_version(),
        "trio": trio.__version__,
        "hypothesis": hypothesis.__version__,
        "machine": platform.machine(),
    }
    RESULTS.mkdir(exist_ok=True)
    result = {"where": where, "rows": rows, "faults": faults}
    (RESULTS / "fuzz.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
