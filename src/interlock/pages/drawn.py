"""The machines as the pages draw them: states, and rows by the numbers that a trace has, straight from the tables."""

from __future__ import annotations

from typing import Any, Final

from interlock.machine import Cancelled, Row, Table
from interlock.tables import TABLES

SHOWN: Final = ("session", "attachment", "lease", "fence", "response", "request")
"""The machines of a session, in the order in which pages show them."""


def machines() -> list[dict[str, Any]]:
    """Return the machines of a session as plain data. Scripts light the states; nothing here has a layout."""
    return [_machine(TABLES[name]) for name in SHOWN]


def _machine(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "doc": table.doc,
        "per": table.per,
        "created": table.created_by is not None,
        "initial": table.initial,
        "final": table.final,
        "states": [{"name": info.name, "kind": info.kind, "doc": info.doc} for info in table.states],
        "rows": [_row(row) for row in table.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    told = {"from": row.state, "event": row.event.__name__, "to": row.to, "emit": row.emit, "guard": row.guard}
    cancels = {"cancel": True} if row.event is Cancelled else {}
    return {name: value for name, value in told.items() if value} | cancels
