"""The link machine's data and bindings: what a writer handed over, and who may still read it."""

from __future__ import annotations

from typing import NamedTuple

from interlock.machine import Machine
from interlock.proof.explore.machines import Loaded


class Link(NamedTuple):
    """One transport. ``client`` is 0 once nobody listens; ``token`` is in the activation frame, until that is read."""

    generation: int
    client: int
    token: str
    cursor: int
    greeted: bool = False


def machine(world: Loaded) -> Machine[Link]:
    """Bind it."""
    return world.machine(
        "link",
        {
            "greet": lambda data, _: data._replace(greeted=True),
            "read": lambda data, _: data._replace(token=""),
            "write": lambda data, event: data._replace(cursor=event.through),
            "leave": lambda data, _: data._replace(client=0),
            "is_heard": lambda data, _: data.client != 0,
        },
        create=lambda event: Link(event.generation, event.client, event.token, event.cursor),
    )
