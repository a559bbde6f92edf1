"""What the server says of itself to a plain GET."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, Final

from interlock.observe.exposition import CONTENT_TYPE, Exposition
from interlock.observe.stall import Stall
from interlock.runtime.host import Host
from interlock.runtime.ledger import books_of, look_at
from interlock.serve.router import Guard, Router
from interlock.transport.opening import Opening, Page
from interlock.workers.echo import EchoPipeline
from interlock.workers.fleet import StageFleet

SESSIONS: Final = "/debug/sessions/"


STAGES: Final = (EchoPipeline.listen, *EchoPipeline.answer)
"""What has to have a worker before a session can be answered."""


def show_health(router: Router, host: Host) -> None:
    """Answer GET /healthz, whether the process lives, and GET /readyz, whether a new session would be answered."""

    def healthz(_: Opening) -> Page:
        return plain({"status": "stopping" if host.is_stopping else "ok", "slots": host.slots})

    def readyz(_: Opening) -> Page:
        reasons = unready(host)
        status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
        return plain({"status": "not ready" if reasons else "ready", "reasons": reasons}, status)

    router.page("/healthz", healthz)
    router.page("/readyz", readyz)


def unready(host: Host) -> list[str]:
    """Say why this server is of no use to a new session; nothing, where it is.

    That it is full is no reason: it would cut off those who come back to the sessions that fill it.
    """
    reasons = ["the server is stopping"] if host.is_stopping else []
    reasons += [f"no worker of stage {stage} is ready" for stage in STAGES if host.fleet.link(stage) is None]
    held = sum(driver.value.state("session") == "QUARANTINED" for driver in host.drivers.values())
    if held >= host.settings.max_sessions:
        reasons.append(f"every slot is held by a session that has ended and is owed a clean-up: {held}")
    return reasons


def show_metrics(router: Router, exposition: Exposition, *guards: Guard) -> None:
    """Answer GET /metrics."""

    def metrics(_: Opening) -> Page:
        return Page(HTTPStatus.OK, CONTENT_TYPE, exposition.text())

    router.page("/metrics", metrics, *guards)


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
