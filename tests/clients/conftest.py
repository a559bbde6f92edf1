"""Asserts outside test files tell what they compared, too."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.clients.clients", "tests.clients.puppet", "tests.clients.talk")
