"""Without torch no file of this folder is collected, and the summary says so."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

MISSING = [name for name in ("torch",) if not find_spec(name)]

collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MISSING:
        terminalreporter.write_line("SKIPPED tests/workers/torch: no torch; install interlock[torch]")
