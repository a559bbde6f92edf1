"""The client machine's data and bindings: what one client knows."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlock.machine import Machine
from interlock.proof.explore.machines import Loaded


class Client(NamedTuple):
    """What it received: tokens (those that died are forgotten) and the position up to which it has everything.

    ``superseded`` is what nobody tells it: that a successor has proved a token which this one does not know.
    """

    client: int
    tokens: tuple[str, ...] = ()
    position: int = 0
    link: int = 0
    superseded: bool = False


def learn(data: Client, event: Any) -> Client:
    """Take a token on: the one that arrived, or all that somebody shares, with the position that goes with it."""
    told = getattr(event, "tokens", None) or (event.token,)
    known = tuple(dict.fromkeys((*data.tokens, *(token for token in told if token))))
    return data._replace(tokens=known, position=max(data.position, getattr(event, "position", 0)))


def machine(world: Loaded) -> Machine[Client]:
    """Bind it."""
    m = world.messages
    return world.machine(
        "client",
        {
            "learn": learn,
            "advance": lambda data, event: data._replace(position=event.position),
            "go_on": lambda data, event: data._replace(position=max(data.position, event.position)),
            "connect": lambda data, event: data._replace(link=event.generation),
            "disconnect": lambda data, _: data._replace(link=0),
            "LinkRead": lambda data, _: (m.LinkRead(data.link),),
            "LinkLeft": lambda data, _: (m.LinkLeft(data.link),) if data.link else (),
        },
        create=lambda event: Client(event.client),
    )
