"""The books as an operator reads them: what is owed, to whom, and how near each limit is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.runtime.driver import Driver
    from interlock.runtime.host import Host

OWING = frozenset({"ABORTING", "OWED"})
"""States of a request whose clean-up is still to be confirmed."""


def owed_by(driver: Driver) -> Iterator[dict[str, Any]]:
    """Yield what one session owes, or is owed: each with its kind, its id and its state."""
    value, session = driver.value, driver.session_id
    for generation in value.closing:
        yield {"session": session, "kind": "transport", "id": generation, "state": "closing"}
    ending = value.state("session") in {"CLOSING", "QUARANTINED", "CLOSED"}
    for (machine, key), cell in value.cells.items():
        if machine == "request" and (ending or cell.state in OWING):
            yield {
                "session": session,
                "kind": "request",
                "id": key,
                "state": cell.state,
                "stage": cell.data.stage,
                "incarnation": cell.data.incarnation,
                "retries": cell.data.retries,
                "rests": cell.state == "OWED" and cell.data.rests,
            }


def used_by(driver: Driver) -> dict[str, int]:
    """Return what one session uses of each limit that is per session."""
    machines = [name for name, _ in driver.value.cells]
    return {
        "max_requests": machines.count("request"),
        "max_responses": machines.count("response"),
        "max_fences": machines.count("fence"),
        "max_evicting": sum(delivery.mode == "evicted" for delivery in driver.deliveries.values()),
        "max_turns": driver.value.turns,
        "max_retries": max(
            (c.data.retries for (name, _), c in driver.value.cells.items() if name == "request"), default=0
        ),
        "max_items": len(driver.conversation),
        "conversation_bytes": driver.conversation.size,
        "max_calls": max((len(speech.calls) for speech in driver.speeches.values()), default=0),
        "speech_bytes": max((speech.said_bytes for speech in driver.speeches.values()), default=0),
        "max_notices": max((d.notices for d in driver.deliveries.values()), default=0),
        "journal_bytes": driver.frames.size,
        "input_bytes": driver.value.input_bytes,
    }


def note(host: Host, driver: Driver) -> None:
    """Raise the high-water marks to what a session uses."""
    for name, now in used_by(driver).items():
        host.mark(name, now)


def limits_of(host: Host) -> dict[str, dict[str, int]]:
    """Return each limit, what is used of it now, and its high-water mark. Per-session limits show the fullest."""
    now: dict[str, int] = {"max_sessions": host.slots, "max_tombstones": len(host.tombs)}
    for driver in host.drivers.values():
        now |= {name: max(used, now.get(name, 0)) for name, used in used_by(driver).items()}
    names = [*now, *(name for name in host.high_water if name not in now)]
    return {
        name: {
            "limit": int(getattr(host.settings, name)),
            "now": now.get(name, 0),
            "high_water": max(now.get(name, 0), host.high_water.get(name, 0)),
        }
        for name in names
    }


def books_of(host: Host) -> dict[str, Any]:
    """Return everything that is held, in one mapping: owed, limits, slots, journal and input bytes, requests."""
    drivers = list(host.drivers.values())
    return {
        "owed": host.owed(),
        "limits": host.limits(),
        "slots": host.slots,
        "sessions": len(drivers),
        "requests": sum(_count(d, "request") for d in drivers),
        "journal_bytes": sum(d.frames.size for d in drivers),
        "input_bytes": sum(d.value.input_bytes for d in drivers),
        "stale": host.stale + sum(d.value.stale for d in drivers),
        "timers": len(host.deadlines),
        "defects": list(host.defects),
    }


def look_at(driver: Driver) -> dict[str, Any]:
    """Return where one session stands: each machine's state, its positions, and how far its writer has come."""
    value = driver.value
    states = {name if key is None else f"{name} {key}": cell.state for (name, key), cell in value.cells.items()}
    return {
        "session": driver.session_id,
        "states": states,
        "generation": value.generation,
        "epoch": value.epoch,
        "journal": {**value.journal._asdict(), "bytes": driver.frames.size},
        "writer_cursor": driver.delivery.cursor if driver.delivery is not None else None,
        "owed": list(owed_by(driver)),
        "stale": value.stale,
        "refused": value.refused,
    }


def _count(driver: Driver, machine: str) -> int:
    return sum(name == machine for name, _ in driver.value.cells)
