"""A world in parts, and a world of parts. Taking it apart and putting it together again changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from interlock.machine import Address, Cell
from interlock.proof.world.place import World
from interlock.session.credential import Credential
from interlock.session.value import Playback, Value

SOMEBODY = 99
"""A client that listens to a transport, and is not the one that is looked at."""

FRONT = frozenset({"attachment", "lease"})
OUTSIDE = frozenset({"link", "caller", "pipeline"})
LISTENING = frozenset({"EXPECTING", "DEAF", "HEARING"})

Cells = tuple[tuple[Address, Cell], ...]


class Front(NamedTuple):
    """Who may carry the session, and who does. The state of the session itself is in both halves."""

    session: Cell
    inside: Cells
    credential: Credential
    closing: tuple[int, ...]
    outside: Cells


class Back(NamedTuple):
    """What the stages hold, and what is answered."""

    session: Cell
    inside: Cells
    epoch: int
    playback: tuple[Playback, ...]
    deltas: frozenset[int]
    outside: Cells


class Parts(NamedTuple):
    """A whole world. Clients are without their numbers, and in any order."""

    front: Front
    back: Back
    clients: tuple[Cell, ...]


def apart(world: World) -> Parts:
    """Take a canonical world without positions apart."""
    value = world.value
    session = value.cells["session", None]
    front = Front(
        session,
        tuple((address, cell) for address, cell in value.cells.items() if address[0] in FRONT),
        value.credential,
        value.closing,
        tuple((address, _heard(cell)) for address, cell in world.cells.items() if address[0] in OUTSIDE),
    )
    back = Back(
        session,
        tuple((address, cell) for address, cell in value.cells.items() if address[0] not in FRONT | {"session"}),
        value.epoch,
        value.playback,
        world.deltas,
        tuple((address, cell) for address, cell in world.cells.items() if address[0] not in OUTSIDE | {"client"}),
    )
    return Parts(front, back, tuple(anonymous(cell) for cell in world.of("client")))


def together(front: Front, back: Back, clients: Iterable[Cell], blank: Value) -> World:
    """Put a world together, with clients numbered from 1. Transports that none of them listens to keep a listener."""
    numbered = [Cell(cell.state, cell.data._replace(client=n)) for n, cell in enumerate(clients, 1)]
    listeners = {cell.data.link: cell.data.client for cell in numbered if cell.state in LISTENING}
    cells: dict[Address, Cell] = {("client", cell.data.client): cell for cell in numbered}
    for address, cell in front.outside:
        cells[address] = _listened(cell, listeners) if address[0] == "link" else cell
    cells |= dict(back.outside)
    value = blank._replace(
        cells={("session", None): front.session, **dict(front.inside), **dict(back.inside)},
        epoch=back.epoch,
        credential=front.credential,
        playback=back.playback,
        closing=front.closing,
    )
    ordered = dict(sorted(cells.items(), key=lambda item: (item[0][0], str(item[0][1]))))
    return World(value, ordered, back.deltas)


def anonymous(cell: Cell) -> Cell:
    """Return a client without its number."""
    return Cell(cell.state, cell.data._replace(client=0))


def _heard(cell: Cell) -> Cell:
    """Keep of a transport only whether somebody listens: who it is, the client knows."""
    data: Any = cell.data
    return cell if not hasattr(data, "cursor") else Cell(cell.state, data._replace(client=min(data.client, 1)))


def _listened(cell: Cell, listeners: dict[int, int]) -> Cell:
    data = cell.data
    found = listeners.get(data.generation, SOMEBODY) if data.client else 0
    return Cell(cell.state, data._replace(client=found))
