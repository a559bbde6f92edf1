"""The bindings of the other machines: callers, the pipeline, processes, and what a stage really holds."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlock.machine import Machine
from interlock.proof.explore.machines import Loaded


class Caller(NamedTuple):
    """A call that waits for ``claim``, made for a client with the position that it has."""

    claim: int
    client: int
    position: int


class Stage(NamedTuple):
    """One request at one stage. ``abort`` says that an order to clean up is on its way."""

    request_id: str
    stage: str
    abort: bool = False


class Process(NamedTuple):
    """One stage's worker process; ``incarnation`` counts them."""

    stage: str
    incarnation: int = 1


def caller(world: Loaded) -> Machine[Caller]:
    """Bind the caller."""
    return world.machine("caller", {}, create=lambda event: Caller(event.claim, event.client, event.position))


def pipeline(world: Loaded) -> Machine[None]:
    """Bind the pipeline."""
    return world.machine("pipeline", {}, create=lambda _: None)


def process(world: Loaded) -> Machine[Process]:
    """Bind the process."""
    freed = world.messages.MemoryFreed
    return world.machine(
        "process",
        {
            "count": lambda data, _: data._replace(incarnation=data.incarnation + 1),
            "MemoryFreed": lambda _, event: tuple(freed(request_id) for request_id in event.request_ids),
        },
        create=lambda event: Process(event.stage),
    )


def stage(world: Loaded) -> Machine[Stage]:
    """Bind the stage."""
    return world.machine(
        "stage",
        {
            "is_up": lambda _, event: event.worker == "up",
            "is_silent": lambda _, event: event.worker == "silent",
            "is_refusal": lambda _, event: event.how == "refused",
            "note_abort": lambda data, _: data._replace(abort=True),
            "drop_abort": lambda data, _: data._replace(abort=False),
        },
        create=_sought,
    )


def _sought(event: Any) -> Stage:
    return Stage(event.request_id, event.stage)
