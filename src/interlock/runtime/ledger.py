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
            }


def limits_of(host: Host) -> dict[str, dict[str, float]]:
    """Return each limit, what is used of it now, and its high-water mark. Per-session limits show the fullest."""
    settings, drivers = host.settings, list(host.drivers.values())
    used: dict[str, tuple[float, float]] = {
        "max_sessions": (settings.max_sessions, host.slots),
        "max_requests": (settings.max_requests, _most(_count(d, "request") for d in drivers)),
        "max_responses": (settings.max_responses, _most(_count(d, "response") for d in drivers)),
        "max_fences": (settings.max_fences, _most(_count(d, "fence") for d in drivers)),
        "max_evicting": (settings.max_evicting, _most(len(d.value.closing) for d in drivers)),
        "max_turns": (settings.max_turns, _most(d.value.turns for d in drivers)),
        "journal_bytes": (settings.journal_bytes, _most(d.frames.size for d in drivers)),
        "input_bytes": (settings.input_bytes, _most(d.value.input_bytes for d in drivers)),
        "max_tombstones": (settings.max_tombstones, len(host.tombs)),
    }
    return {name: _entry(host, name, limit, now) for name, (limit, now) in used.items()}


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


def _count(driver: Driver, machine: str) -> int:
    return sum(name == machine for name, _ in driver.value.cells)


def _most(counts: Iterator[int]) -> int:
    return max(counts, default=0)


def _entry(host: Host, name: str, limit: float, now: float) -> dict[str, float]:
    high = max(int(now), host.high_water.get(name, 0))
    host.high_water[name] = high
    return {"limit": limit, "now": now, "high_water": high}
