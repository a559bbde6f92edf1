"""The event path beside the incumbent's design, in units of one ``json.dumps`` of the event, all in one run.

The incumbent's design is an asyncio registry that journals under a lock, encodes once and sends that text through
starlette on uvicorn, on uvloop (event_path_peer.py). Two questions:

* ``core``: what number, journal and take cost without a socket, in CPU time of one process: ours is all of it, from a
  stage's reply to the frames in a transport's hand, base64 and acks included; ``live`` in breaths of ten, as the
  writer takes them, ``alone`` with a turn of the loop and an ack for each. And a replay of 1,000 events.
* ``wire``: frames of 4.3 KB over a loopback socket, the server on one core, the client on another: in a row (each frame
  is made and handed over alone, one after the other), in turns (each in a turn of the loop of its own, so that no
  server can write two at once), and under a backlog (100 frames come at once). ``serve`` is
  ``interlock serve``, metrics and all, without the pages, which keep the first records of each session; ``mounted`` is
  our runtime under uvicorn. Frames a second of the server's own CPU: what its core can
  do, whoever else wants the machine; the unit is timed on the same core in between.

The raw ceiling is what the loops can do with frames that are ready: uvicorn, and trio's ``send_all``, one or 16 frames.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import event_path_core
from event_path_core import Sample
from event_path_wire import SERVER_CORE, Took, servers

RESULTS = Path(__file__).parent / "results"
RUNS: dict[str, tuple[str, str]] = {
    "theirs, in a row": ("theirs", "live"),
    "theirs, in turns": ("theirs", "turns"),
    "theirs, replay": ("theirs", "replay"),
    "serve, in a row": ("single", "live"),
    "serve, in turns": ("turn", "live"),
    "serve, backlog": ("backlog", "live"),
    "serve, replay": ("backlog", "replay"),
    "mounted, in a row": ("mounted single", "live"),
    "mounted, in turns": ("mounted turn", "live"),
    "mounted, backlog": ("mounted 100", "live"),
    "raw uvicorn": ("uvicorn", "live"),
    "raw send_all": ("send_all", "live"),
    "raw send_all of 16": ("gathered", "live"),
}
"""What is run, by name: which server, and what it is asked."""


def core(rounds: int) -> dict[str, dict[str, float]]:
    found = event_path_core.measure(rounds)
    return {name.replace("their", "theirs,").replace(",,", ","): core_row(samples) for name, samples in found.items()}


def core_row(samples: list[Sample]) -> dict[str, float]:
    ratios = [one.ratio for one in samples]
    low, _, high = statistics.quantiles(ratios)
    micros = 1e6 * statistics.median(one.event_s for one in samples)
    return {
        "us": round(micros, 2),
        "units": rounded(statistics.median(ratios)),
        "low": rounded(low),
        "high": rounded(high),
    }


def wire(rounds: int) -> dict[str, dict[str, float]]:
    """Ask each in turns; the unit is timed on the server's core before each round."""
    tooks: dict[str, list[Took]] = {}
    units: dict[str, list[float]] = {}
    with servers() as started:
        for number in range(rounds + 1):
            unit = on_core(SERVER_CORE, event_path_core.unit)
            for name, (server, word) in RUNS.items():
                took = started[server].run(word)
                if number:  # the first round warms up
                    tooks.setdefault(name, []).append(took)
                    units.setdefault(name, []).append(took.cpu_s / took.frames / unit)
            print(f"  round {number} of {rounds}", flush=True)
    return {name: wire_row(tooks[name], units[name]) for name in RUNS}


def on_core(number: int, measure: Callable[[], float]) -> float:
    """Measure on another core."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {number})
    try:
        return measure()
    finally:
        os.sched_setaffinity(0, mine)


def wire_row(tooks: list[Took], units: list[float]) -> dict[str, float]:
    a_second = [took.frames / took.cpu_s for took in tooks]
    low, _, high = statistics.quantiles(a_second)
    return {
        "frames_a_second": round(statistics.median(a_second)),
        "low": round(low),
        "high": round(high),
        "units": rounded(statistics.median(units)),
        "wall_frames_a_second": round(statistics.median(took.frames / took.wall_s for took in tooks)),
    }


def rounded(ratio: float) -> float:
    return float(f"{ratio:.3g}")


def targets(inside: dict[str, Any], outside: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was to be shown, and what was measured."""

    def faster(ours: str, theirs: str) -> float:
        return rounded(outside[ours]["frames_a_second"] / outside[theirs]["frames_a_second"])

    wanted: list[tuple[str, float, float, bool]] = [
        ("number, journal, take: at most 0.4 units", inside["live"]["units"], 0.4, False),
        (
            "replay, no socket: at least 3 times as fast",
            rounded(inside["theirs, replay"]["units"] / inside["replay"]["units"]),
            3,
            True,
        ),
        ("replay, over the socket: at least 3 times as fast", faster("serve, replay", "theirs, replay"), 3, True),
        ("serve, each frame alone, in a row: at least as many", faster("serve, in a row", "theirs, in a row"), 1, True),
        ("serve, each frame alone, in turns: at least as many", faster("serve, in turns", "theirs, in turns"), 1, True),
        ("serve, backlog: at least 3 times as many", faster("serve, backlog", "theirs, in a row"), 3, True),
        ("mounted, backlog: at least 2 times as many", faster("mounted, backlog", "theirs, in a row"), 2, True),
    ]
    return [
        {"target": text, "measured": value, "kept": "yes" if (value >= limit if is_least else value <= limit) else "NO"}
        for text, value, limit, is_least in wanted
    ]


def shares(outside: dict[str, Any]) -> dict[str, float]:
    """Return how much of the raw ceiling each reaches: of ``send_all``, by one or by 16, and of uvicorn."""
    of = {"serve, in turns": "raw send_all", "serve, in a row": "raw send_all", "serve, backlog": "raw send_all of 16"}
    of |= {name: "raw uvicorn" for name in outside if name.startswith(("mounted", "theirs")) and "replay" not in name}
    rate = {name: row["frames_a_second"] for name, row in outside.items()}
    return {f"{name} / {ceiling}": rounded(rate[name] / rate[ceiling]) for name, ceiling in of.items()}


def plot(outside: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    names = list(outside)[::-1]
    colours = {"theirs": "#d08040", "serve": "#4878a8", "mounted": "#68a0c8", "raw": "#a0a0a0"}
    figure, axes = pyplot.subplots(figsize=(8, 4.8), layout="constrained")
    rates = [outside[name]["frames_a_second"] / 1000 for name in names]
    bars = axes.barh(names, rates, color=[colours[name.replace(",", "").split()[0]] for name in names])
    axes.bar_label(bars, fmt="%.0f", padding=3, fontsize=8)
    axes.set_xscale("log")
    axes.set_xlabel("thousand frames of 4.3 KB a second of one server core (more is better)")
    axes.margins(x=0.12)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description="The event path beside the incumbent's design.")
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    inside, outside = core(rounds), wire(rounds)
    kept, ceiling = targets(inside, outside), shares(outside)
    for rows in (inside, outside):
        for name, row in rows.items():
            print(f"{name:22}" + "".join(f"{key:>22} {value:<9,}" for key, value in row.items()))
    for row in kept:
        print(f"{row['target']:56}{row['measured']:8} {row['kept']}")
    for name, share in ceiling.items():
        print(f"{name:46}{share:8}")
    where = {"python": platform.python_version(), "machine": platform.machine()}
    where |= {name: version(name) for name in ("trio", "uvicorn", "uvloop", "starlette", "websockets")}
    RESULTS.mkdir(exist_ok=True)
    plot(outside, RESULTS / "event_path.svg")
    whole = {"where": where, "targets": kept, "core": inside, "wire": outside, "share_of_the_ceiling": ceiling}
    (RESULTS / "event_path.json").write_text(json.dumps(whole, indent=2) + "\n")


if __name__ == "__main__":
    main()
