"""A table that is built in memory is the table that is generated."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.machine import Cancelled
from interlock.spec.build import built
from interlock.spec.check import checked
from interlock.tables import TABLES, messages
from tests.spec.house import house

ROOT = Path(__file__).parents[2]


def test_built_and_generated_tables_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert built(checked(["machines"]), messages) == TABLES


def test_messages_that_no_module_has_are_made_with_name_and_address() -> None:
    door = built(house())["door"]
    assert [event.__name__ for event in door.events[:2]] == ["OpenAsked", "ShutAsked"]
    assert {event.machine for event in door.events if event is not Cancelled} == {"door"}
    assert door.rows[0].event is door.events[0]
