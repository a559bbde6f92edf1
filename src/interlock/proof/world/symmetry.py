"""Clients that are alike are interchangeable: of all ways to number them, one stands for the others."""

from __future__ import annotations

from collections import Counter
from typing import Any

from interlock.machine import Address, Cell
from interlock.proof.world.place import World


def sorted_clients(world: World) -> World:
    """Return the canonical numbering of a canonical world's clients: by what they are and know."""
    ordered = sorted(((_likeness(world, cell), cell) for cell in world.of("client")), key=lambda found: repr(found[0]))
    numbers = {cell.data.client: number for number, (_, cell) in enumerate(ordered, 1)}
    cells: dict[Address, Cell] = {
        address: cell if address[0] not in ("client", "link", "caller") else _renumbered(cell, numbers)
        for address, cell in world.cells.items()
        if address[0] != "client"
    }
    clients: dict[Address, Cell] = {
        ("client", numbers[cell.data.client]): _renumbered(cell, numbers) for _, cell in ordered
    }
    return world._replace(cells={**clients, **cells})


def orbit(world: World) -> tuple[int, ...]:
    """Return how many clients there are of each kind."""
    return tuple(Counter(_likeness(world, cell) for cell in world.of("client")).values())


def _likeness(world: World, cell: Cell) -> Any:
    """Return all that tells one client from another, whatever its number: also the links and calls made for it."""
    number = cell.data.client
    links = tuple(
        (key, other.state, other.data._replace(client=1)) if name == "link" else (key, other.state)
        for (name, key), other in world.cells.items()
        if name in ("link", "caller") and other.data.client == number
    )
    return cell.state, cell.data._replace(client=0), links


def _renumbered(cell: Cell, numbers: dict[int, int]) -> Cell:
    return Cell(cell.state, cell.data._replace(client=numbers.get(cell.data.client, 0)))
