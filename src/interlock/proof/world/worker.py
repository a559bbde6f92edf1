"""The host's own machine as something to explore: one stage worker, whose process does what it likes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interlock.machine import Cancelled, Cell, Cells, Message
from interlock.proof.explore.composed import System, born
from interlock.proof.explore.model import Property
from interlock.tables import messages as m
from interlock.workers.core import WorkerSettings, worker_machine

STAGE = "mind"
ADDRESS = ("worker", STAGE)
RESTARTS = 1


def worker_world() -> System:
    """Compose it: any event at any time, of this incarnation or the one before; an exit once, of what runs."""
    machine = worker_machine(WorkerSettings())
    begun = m.WorkerWanted(STAGE, RESTARTS)
    _, first = born(machine, STAGE, begun)
    return System(
        name="worker",
        machines=(machine,),
        cells={ADDRESS: first},
        happens=_happens,
        always={
            "waited for": (
                "A worker that takes requests, or is asked to end, has not exited.",
                lambda cells: ADDRESS not in cells or not (_data(cells).exited and _found(cells) in RUNNING),
            )
        },
        goals={
            "stopped": lambda cells: ADDRESS not in cells,
            "lost": lambda cells: ADDRESS in cells and _found(cells) == "LOST",
            "not lost": lambda cells: ADDRESS not in cells or _found(cells) != "LOST",
        },
        about_runs=(
            Property("can stop", "From every state, the worker can come to STOPPED.", "AG EF", goal="stopped"),
            Property("lost for a while", "A lost worker is started anew, or stopped.", "leads to", "not lost", "lost"),
        ),
        rename=_renamed,
        fairness={"WorkerExited": "a worker that was killed is gone in the end", "RestartDue": "an armed timer fires"},
        bounds={"workers": 1, "restarts in a row": RESTARTS},
        dead={("worker", "", "WorkerWanted"): "the worker is there from the beginning"},
    )


RUNNING = frozenset({"STARTING", "READY", "DRAINING"})


def _found(cells: Cells) -> str:
    return cells[ADDRESS].state


def _data(cells: Cells) -> Any:
    return cells[ADDRESS].data


def _happens(cells: Cells) -> Iterator[Message]:
    if ADDRESS not in cells:
        return
    state, data = cells[ADDRESS]
    for incarnation in (data.incarnation, data.incarnation - 1):
        if state != "READY":  # a worker says so once
            yield m.WorkerReady(STAGE, incarnation)
        yield m.WorkerHeard(STAGE, incarnation)
        yield m.LinkLost(STAGE, incarnation, "eof")
    if not data.exited:
        yield m.WorkerExited(STAGE, data.incarnation)
        if state != "LOST":  # there it is shielded
            yield Cancelled("worker", STAGE, data.incarnation)
    yield m.StopRequested(STAGE)
    yield from TIMERS.get(state, ())


TIMERS: dict[str, tuple[Message, ...]] = {
    "STARTING": (m.StartOverdue(STAGE),),
    "READY": (m.HeartbeatOverdue(STAGE), m.WorkerSteady(STAGE)),
    "DRAINING": (m.StopOverdue(STAGE),),
    "LOST": (m.RestartDue(STAGE),),
}


def _renamed(cells: Cells) -> Cells:
    """Incarnations are only compared with the current one."""
    return {address: Cell(cell.state, cell.data._replace(incarnation=1)) for address, cell in cells.items()}
