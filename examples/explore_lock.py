"""A lock with a lease does not protect a store that does not look: found by `interlock explore`, and mended.

    interlock explore examples/explore_lock.py:UNFENCED     # exit code 1, and a chart of how the older write wins
    interlock explore examples/explore_lock.py:FENCED       # exit code 0: all states, none of them wrong

The fault is Martin Kleppmann's example ("How to do distributed locking", 2016): the holder pauses, its lease runs out,
another one is granted the lock and writes, and then the first wakes up and writes too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from interlock.machine import Cells, Message
from interlock.proof.explore.composed import System, born
from interlock.proof.explore.machines import load
from interlock.proof.explore.model import Property

HERE = Path(__file__).parent / "explore_lock"
WORKERS = (1, 2)


class Lock(NamedTuple):
    """Who was granted the lock last, and how often it was granted."""

    worker: int = 0
    number: int = 0


class Worker(NamedTuple):
    """One worker, and the number of its grant."""

    worker: int
    number: int = 0


class Store(NamedTuple):
    """The grants under which the newest write that was ever taken, and the last one, were made."""

    newest: int = 0
    last: int = 0


def system(name: str, store: str) -> System:
    """Compose lock, workers and one of the two stores."""
    loaded = load([str(HERE / "lock.toml"), str(HERE / "worker.toml"), str(HERE / store)])
    m = loaded.messages
    lock = loaded.machine(
        "lock",
        {
            "grant": lambda data, event: Lock(event.worker, data.number + 1),
            "is_holder": lambda data, event: data.worker == event.worker,
            "LockGranted": lambda data, event: (m.LockGranted(event.worker, data.number + 1),),
        },
        create=lambda _: Lock(),
    )
    worker = loaded.machine(
        "worker",
        {"note": lambda data, event: data._replace(number=event.number)},
        create=lambda event: Worker(event.worker),
    )
    kept = loaded.machine(
        "store",
        {
            "take": lambda data, event: Store(max(data.newest, event.number), event.number),
            "is_old": lambda data, event: event.number < data.newest,
        },
        create=lambda _: Store(),
    )

    def happens(cells: Cells) -> Iterator[Message]:
        """Every worker does the next thing, or is paused; the lease may run out at any time."""
        for number in WORKERS:
            match cells["worker", number].state:
                case "IDLE":
                    yield m.WorkBegun(number)
                case "WRITING":
                    yield m.WriteArrived(number)
                case _:
                    yield m.WorkDone(number)
        if cells["lock", None].state == "HELD":
            yield m.LeaseOver()

    return System(
        name=name,
        machines=(lock, worker, kept),
        cells=dict(
            [
                *(born(worker, number, m.WorkerCame(number)) for number in WORKERS),
                born(lock, None),
                born(kept, None),
            ]
        ),
        happens=happens,
        always={
            "newest wins": (
                "No write is taken after one that was made under a later grant.",
                lambda cells: cells["store", None].data.last == cells["store", None].data.newest,
            )
        },
        goals={"free": lambda cells: cells["lock", None].state == "FREE"},
        about_runs=(
            Property("lock comes back", "From every state, the lock can be free again.", "AG EF", goal="free"),
        ),
        rename=renamed,
        bounds={"workers": len(WORKERS), "grants": "any number: only their order is kept"},
        dead=UNUSED,
    )


def renamed(cells: Cells) -> Cells:
    """Grants are counted without end, and only compared: give those that are still referred to their ranks."""
    numbers = {0}
    for cell in cells.values():
        numbers |= {getattr(cell.data, name) for name in ("number", "newest", "last") if hasattr(cell.data, name)}
    rank = {number: place for place, number in enumerate(sorted(numbers))}
    return {address: cell._replace(data=_ranked(address[0], cell, rank)) for address, cell in cells.items()}


def _ranked(machine: str, cell: Any, rank: dict[int, int]) -> Any:
    data = cell.data
    if machine == "store":
        return Store(rank[data.newest], rank[data.last])
    if machine == "worker" and cell.state == "IDLE":
        return data._replace(number=0)  # its grant is history
    return data._replace(number=rank[data.number])


ENDS = [
    ("lock", "FREE", "ServiceStopped"),
    ("lock", "HELD", "ServiceStopped"),
    ("store", "OPEN", "StoreClosed"),
    ("worker", "IDLE", "WorkerLeft"),
    ("worker", "", "WorkerCame"),
]
UNUSED = dict.fromkeys(ENDS, "how services and workers come and go is not what is looked at here")

UNFENCED = system("a lock without fencing tokens", "store.toml")
FENCED = system("a lock with fencing tokens", "fenced.toml")
