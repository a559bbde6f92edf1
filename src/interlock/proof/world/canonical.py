"""One state for all that differ in names and numbers only, so that a world without end has an end.

What is compared stays comparable, and what is counted only to be unique is named anew:

* generations and epochs become ranks among those still referred to (generation 1 stays 1: a guard asks for it);
* positions become ranks among those still referred to, counted from the trimmed mark; below it all are one;
* request and response ids are named by age, in the order in which the session itself keeps them;
* tokens are named by what they open: ``C`` is the current one, ``P`` the presented one, and the others are forgotten;
* attempts are counted to their limit; statistics, waiting times and the length of outputs are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from interlock.machine import Address, Cell
from interlock.proof.world.bounds import Bounds
from interlock.proof.world.place import LIVE, World
from interlock.session.session import EXPIRED, strength
from interlock.session.value import Journal, Playback, Value

Rank: TypeAlias = Mapping[int, int]
Ids: TypeAlias = Mapping[str, str]

GONE = "gone"

STRONGEST = ("", "client_close", "open_abandoned", "server_shutdown")
"""One reason of each strength."""

BASE = 1
"""The rank of the trimmed mark; what lies below it has rank 0."""


def canonical(world: World, bounds: Bounds) -> World:
    """Return the canonical form of ``world``."""
    value = world.value
    epochs = _ranks(_epochs(world), 1)
    generations = _generations(world)
    requests = {str(key): f"q{rank}" for rank, key in enumerate(_keys(value, "request"), 1)}
    responses = {str(key): f"r{rank}" for rank, key in enumerate(_keys(value, "response"), 1)}
    place = _positions(world) if bounds.positions else _nowhere
    tokens = _tokens(value)
    incarnations = _incarnations(world)
    cells = _session_cells(value, epochs, generations, requests, responses, incarnations)
    journal = value.journal
    credential = value.credential
    renamed = value._replace(
        cells=cells,
        epoch=epochs[value.epoch],
        credential=credential._replace(
            current=b"C" if credential.current else b"",
            presented=b"P" if credential.presented is not None else None,
            claim_head=place(credential.claim_head) if credential.presented is not None else BASE,
        ),
        journal=Journal(place(journal.head), max(place(journal.handed), BASE), BASE),
        playback=_playback(value, responses) if bounds.remembers else (),
        closing=tuple(sorted(generations.get(held, 0) for held in value.closing)),
        answered=0,
        listened=0,
        stale=0,
        refused=0,
    )
    world_cells = _world_cells(world, generations, requests, tokens, incarnations, place)
    return World(renamed, world_cells, frozenset(epochs[epoch] for epoch in world.deltas))


def _keys(value: Value, machine: str) -> list[Any]:
    return [key for name, key in value.cells if name == machine]


def _ranks(numbers: Iterable[int], first: int) -> dict[int, int]:
    return {number: rank for rank, number in enumerate(sorted(set(numbers)), first)}


def _epochs(world: World) -> Iterable[int]:
    yield world.value.epoch
    yield from world.deltas
    for (name, key), cell in world.value.cells.items():
        if name == "fence":
            yield int(key or 0)
        elif name in ("request", "response"):
            yield cell.data.epoch


def _generations(world: World) -> Rank:
    current = world.value.generation
    used = {current, *world.value.closing, *(cell.data.generation for cell in world.of("link"))}
    return _ranks(used - {0}, 1 if current <= 1 else 2) | {0: 0}


def _incarnations(world: World) -> Mapping[tuple[str, int], int]:
    used: dict[str, set[int]] = {}
    for cell in world.of("process"):
        used.setdefault(cell.data.stage, set()).add(cell.data.incarnation)
    for (name, _), cell in world.value.cells.items():
        if name == "request" and cell.data.incarnation:
            used.setdefault(cell.data.stage, set()).add(cell.data.incarnation)
    return {(stage, number): rank for stage, held in used.items() for number, rank in _ranks(held, 1).items()}


def _positions(world: World) -> Callable[[int], int]:
    """Return what each position is called. A writer that no longer writes, and nobody reads, has none."""
    journal, credential = world.value.journal, world.value.credential
    used = {journal.trimmed, journal.handed, journal.head}
    if credential.presented is not None:
        used.add(credential.claim_head)
    used.update(cell.data.position for cell in world.of("client") if _has_position(world, cell))
    used.update(cell.data.position for cell in world.of("caller") if _is_opening(world))
    used.update(cell.data.cursor for cell in world.of("link") if _has_cursor(cell))
    kept = _ranks((number for number in used if number >= journal.trimmed), BASE)
    return lambda number: kept.get(number, 0)


def _nowhere(_: int) -> int:
    return BASE


def _is_opening(world: World) -> bool:
    return world.value.state("session") == "OPENING"


def _has_position(world: World, cell: Cell) -> bool:
    return cell.state != "STRANGER" or _is_opening(world)


def _has_cursor(cell: Cell) -> bool:
    return cell.state in LIVE or cell.state == "FINISHING" or cell.data.client != 0


def _tokens(value: Value) -> Ids:
    credential = value.credential
    named = {credential.current.decode(): "C"} if credential.current else {}
    if credential.presented is not None:
        named[credential.presented.decode()] = "P"
    return named


def _playback(value: Value, responses: Ids) -> tuple[Playback, ...]:
    last = value.playback[-1:]
    return tuple(Playback(responses.get(entry.response_id, "ended"), ended=entry.ended) for entry in last)


def _session_cells(
    value: Value,
    epochs: Rank,
    generations: Rank,
    requests: Ids,
    responses: Ids,
    incarnations: Mapping[tuple[str, int], int],
) -> dict[Address, Cell]:
    cells: dict[Address, Cell] = {}
    late: dict[Address, Cell] = {}
    for (name, key), cell in value.cells.items():
        data = cell.data
        match name:
            case "attachment":
                number = generations.get(data.generation, 0)
                cells[name, None] = Cell(cell.state, data._replace(generation=number, claim=number))
            case "session":
                cells[name, None] = Cell(cell.state, data._replace(reason=_reason(cell)))
            case "fence":
                ids = tuple(requests.get(held, GONE) for held in data.ids)
                late[name, epochs[data.epoch]] = Cell(cell.state, data._replace(epoch=epochs[data.epoch], ids=ids))
            case "request":
                named = data._replace(
                    request_id=requests[data.request_id],
                    epoch=epochs[data.epoch],
                    response_id=responses.get(data.response_id, GONE) if data.response_id else "",
                    incarnation=incarnations.get((data.stage, data.incarnation), 0),
                    retries=min(data.retries, data.max_retries),
                )
                late[name, named.request_id] = Cell(cell.state, named)
            case "response":
                late[name, responses[data.response_id]] = Cell(cell.state, _response(data, epochs, requests, responses))
            case _:
                cells[name, key] = cell
    ordered = sorted(late.items(), key=lambda item: item[0][0])  # stable: by age within a machine
    return cells | dict(ordered)


def _reason(cell: Cell) -> str:
    """Return one reason of all that are as strong, and are told in the same way; once all is told, it is forgotten."""
    reason: str = cell.data.reason
    if cell.state != "CLOSING":
        return ""
    return "idle_ttl_expired" if reason in EXPIRED else STRONGEST[strength(reason)]


def _response(data: Any, epochs: Rank, requests: Ids, responses: Ids) -> Any:
    named = {held: requests.get(held, f"{GONE}{number}") for number, held in enumerate(data.chain)}
    return data._replace(
        response_id=responses[data.response_id],
        epoch=epochs[data.epoch],
        chain=tuple(named.values()),
        open=tuple(named[held] for held in data.open),
    )


def _world_cells(
    world: World,
    generations: Rank,
    requests: Ids,
    tokens: Ids,
    incarnations: Mapping[tuple[str, int], int],
    place: Callable[[int], int],
) -> dict[Address, Cell]:
    cells: dict[Address, Cell] = {}
    for (name, key), (state, data) in world.cells.items():
        match name:
            case "client":
                known = tuple(sorted(tokens[token] for token in data.tokens if token in tokens))
                link = generations.get(data.link, 0)
                position = place(data.position) if _has_position(world, Cell(state, data)) else 0
                cells[name, key] = Cell(state, data._replace(tokens=known, position=position, link=link))
            case "link":
                cell = Cell(state, data)
                number = generations[data.generation]
                cells[name, number] = Cell(state, _link(world, cell, tokens, place)._replace(generation=number))
            case "caller":
                if state == "WAITING" or data.claim >= world.value.generation:
                    named = _caller(world, data, generations, place)
                    cells[name, named.claim] = Cell(state, named)
            case "stage":
                name_of = requests.get(data.request_id, GONE)
                cells[name, name_of] = Cell(state, data._replace(request_id=name_of))
            case "process":
                number = incarnations[data.stage, data.incarnation]
                cells[name, key] = Cell(state, data._replace(incarnation=number))
            case _:
                cells[name, key] = Cell(state, data)
    return dict(sorted(cells.items(), key=lambda item: (item[0][0], str(item[0][1]))))


def _caller(world: World, data: Any, generations: Rank, place: Callable[[int], int]) -> Any:
    """Name the call by its claim. Who made it matters until the claim is judged: of all calls, only an open waits."""
    number = generations.get(data.claim, generations[world.value.generation] + 1)
    if _is_opening(world):
        return data._replace(claim=number, position=place(data.position))
    return data._replace(claim=number, position=0, client=0)


def _link(world: World, cell: Cell, tokens: Ids, place: Callable[[int], int]) -> Any:
    """Leave out what nobody can read any more."""
    data = cell.data
    reader = world.cells.get(("client", data.client))
    unread = reader is not None and reader.state in ("DEAF", "EXPECTING") and reader.data.link == data.generation
    return data._replace(
        token=tokens.get(data.token, "") if unread else "",
        cursor=place(data.cursor) if _has_cursor(cell) else 0,
        greeted=data.greeted and unread,
    )
