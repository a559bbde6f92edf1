"""What the server says of itself to a plain GET."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, Final

from interlock.observe.stall import Stall
from interlock.runtime.host import Host
from interlock.runtime.ledger import books_of, look_at
from interlock.serve.router import Guard, Router
from interlock.transport.opening import Opening, Page
from interlock.workers.fleet import StageFleet

SESSIONS: Final = "/debug/sessions/"


def show_health(router: Router, host: Host) -> None:
    """Answer GET /healthz: the process is there, and whether it is stopping."""

    def healthz(_: Opening) -> Page:
        return plain({"status": "stopping" if host.is_stopping else "ok", "slots": host.slots})

    router.page("/healthz", healthz)


def show_books(router: Router, host: Host, stall: Stall, *guards: Guard) -> None:
    """Answer GET /debug/books and /debug/sessions/ID. Both show every session, so they are for loopback only."""

    def books(_: Opening) -> Page:
        workers = host.fleet.workers() if isinstance(host.fleet, StageFleet) else ()
        return plain(books_of(host) | {"longest_stall_ms": stall.take_ms(), "workers": workers})

    def session(opening: Opening) -> Page | None:
        driver = host.drivers.get(opening.path.removeprefix(SESSIONS))
        return plain(look_at(driver)) if driver is not None else None

    router.page("/debug/books", books, *guards)
    router.folder(SESSIONS, session, *guards)


def plain(value: dict[str, Any], status: int = HTTPStatus.OK) -> Page:
    """Return a page of JSON."""
    return Page(status, "application/json", json.dumps(value).encode())
