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
from typing import Any, NamedTuple, TypeAlias

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


class Renaming(NamedTuple):
    """What everything is called from now on."""

    epochs: Rank
    generations: Rank
    requests: Ids
    responses: Ids
    incarnations: Mapping[tuple[str, int], int]
    tokens: Ids
    place: Callable[[int], int]
    opening: bool

    def client(self, cell: Cell) -> Cell:
        """Rename what one client knows; tokens that open nothing are forgotten."""
        data = cell.data
        known = tuple(sorted(self.tokens[token] for token in data.tokens if token in self.tokens))
        position = self.place(data.position) if self.opening or cell.state != "STRANGER" else 0
        link = self.generations.get(data.link, 0)
        return Cell(cell.state, data._replace(tokens=known, position=position, link=link))


def renaming(world: World, bounds: Bounds) -> Renaming:
    """Find the canonical names for what ``world`` refers to."""
    value = world.value
    return Renaming(
        epochs=_ranks(_epochs(world), 1),
        generations=_generations(world),
        requests={str(key): f"q{rank}" for rank, key in enumerate(_keys(value, "request"), 1)},
        responses={str(key): f"r{rank}" for rank, key in enumerate(_keys(value, "response"), 1)},
        incarnations=_incarnations(world),
        tokens=_tokens(value),
        place=_positions(world) if bounds.positions else _nowhere,
        opening=_is_opening(world),
    )


def canonical(world: World, bounds: Bounds) -> World:
    """Return the canonical form of ``world``."""
    return renamed(world, bounds, renaming(world, bounds))


def renamed(world: World, bounds: Bounds, names: Renaming) -> World:
    """Return ``world`` under other names."""
    value, place = world.value, names.place
    journal, credential = value.journal, value.credential
    after = value._replace(
        cells=_session_cells(value, names),
        epoch=names.epochs[value.epoch],
        credential=credential._replace(
            current=b"C" if credential.current else b"",
            presented=b"P" if credential.presented is not None else None,
            claim_head=place(credential.claim_head) if credential.presented is not None else BASE,
        ),
        journal=Journal(place(journal.head), max(place(journal.handed), BASE), BASE),
        playback=_playback(value, names.responses) if bounds.remembers else (),
        closing=tuple(sorted(names.generations.get(held, 0) for held in value.closing)),
        answered=0,
        listened=0,
        stale=0,
        refused=0,
    )
    return World(after, _world_cells(world, names), frozenset(names.epochs[epoch] for epoch in world.deltas))


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
    opening = _is_opening(world)
    used.update(cell.data.position for cell in world.of("client") if opening or cell.state != "STRANGER")
    used.update(cell.data.position for cell in world.of("caller") if _is_opening(world))
    used.update(cell.data.cursor for cell in world.of("link") if _has_cursor(cell))
    kept = _ranks((number for number in used if number >= journal.trimmed), BASE)
    return lambda number: kept.get(number, 0)


def _nowhere(_: int) -> int:
    return BASE


def _is_opening(world: World) -> bool:
    return world.value.state("session") == "OPENING"


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


def _session_cells(value: Value, names: Renaming) -> dict[Address, Cell]:
    cells: dict[Address, Cell] = {}
    late: dict[Address, Cell] = {}
    for (name, key), cell in value.cells.items():
        data = cell.data
        match name:
            case "attachment":
                number = names.generations.get(data.generation, 0)
                cells[name, None] = Cell(cell.state, data._replace(generation=number, claim=number))
            case "session":
                cells[name, None] = Cell(cell.state, data._replace(reason=_reason(cell)))
            case "fence":
                epoch = names.epochs[data.epoch]
                ids = tuple(names.requests.get(held, GONE) for held in data.ids)
                late[name, epoch] = Cell(cell.state, data._replace(epoch=epoch, ids=ids))
            case "request":
                late[name, names.requests[data.request_id]] = Cell(cell.state, _request(data, names))
            case "response":
                late[name, names.responses[data.response_id]] = Cell(cell.state, _response(data, names))
            case _:
                cells[name, key] = cell
    ordered = sorted(late.items(), key=lambda item: item[0][0])  # stable: by age within a machine
    return cells | dict(ordered)


def _request(data: Any, names: Renaming) -> Any:
    return data._replace(
        request_id=names.requests[data.request_id],
        epoch=names.epochs[data.epoch],
        response_id=names.responses.get(data.response_id, GONE) if data.response_id else "",
        incarnation=names.incarnations.get((data.stage, data.incarnation), 0),
        retries=min(data.retries, data.max_retries),
    )


def _response(data: Any, names: Renaming) -> Any:
    chain = {held: names.requests.get(held, f"{GONE}{number}") for number, held in enumerate(data.chain)}
    return data._replace(
        response_id=names.responses[data.response_id],
        epoch=names.epochs[data.epoch],
        chain=tuple(chain.values()),
        open=tuple(chain[held] for held in data.open),
    )


def _reason(cell: Cell) -> str:
    """Return one reason of all that are as strong, and are told in the same way; once all is told, it is forgotten."""
    reason: str = cell.data.reason
    if cell.state != "CLOSING":
        return ""
    return "idle_ttl_expired" if reason in EXPIRED else STRONGEST[strength(reason)]


def _world_cells(world: World, names: Renaming) -> dict[Address, Cell]:
    cells: dict[Address, Cell] = {}
    for (name, key), cell in world.cells.items():
        match name:
            case "client":
                cells[name, key] = names.client(cell)
            case "link":
                data = _link(cell, names)
                cells[name, data.generation] = Cell(cell.state, data)
            case "caller":
                if cell.state == "WAITING" or cell.data.claim >= world.value.generation:
                    data = _caller(world, cell.data, names)
                    cells[name, data.claim] = Cell(cell.state, data)
            case "stage":
                request_id = names.requests.get(cell.data.request_id, GONE)
                cells[name, request_id] = Cell(cell.state, cell.data._replace(request_id=request_id))
            case "process":
                number = names.incarnations[cell.data.stage, cell.data.incarnation]
                cells[name, key] = Cell(cell.state, cell.data._replace(incarnation=number))
            case _:
                cells[name, key] = cell
    return dict(sorted(cells.items(), key=lambda item: (item[0][0], str(item[0][1]))))


def _caller(world: World, data: Any, names: Renaming) -> Any:
    """Name the call by its claim. Who made it matters until the claim is judged: of all calls, only an open waits."""
    number = names.generations.get(data.claim, names.generations[world.value.generation] + 1)
    if _is_opening(world):
        return data._replace(claim=number, position=names.place(data.position))
    return data._replace(claim=number, position=0, client=0)


def _link(cell: Cell, names: Renaming) -> Any:
    """Leave out what nobody can read any more."""
    data = cell.data
    return data._replace(
        generation=names.generations[data.generation],
        token=names.tokens.get(data.token, "") if data.client else "",
        cursor=names.place(data.cursor) if _has_cursor(cell) else 0,
        greeted=data.greeted and _has_cursor(cell),
    )
