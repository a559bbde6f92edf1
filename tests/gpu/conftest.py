"""Tests of what only a GPU can show. Without one, each skips and says so; no figure here was measured yet."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def why_not() -> str:
    """Say what is missing; nothing where the tests can run."""
    if not find_spec("torch"):
        return "no torch; install interlock[torch]"
    import torch

    return "" if torch.cuda.is_available() else f"no CUDA device (torch {torch.__version__})"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if item.get_closest_marker("gpu")]
    if ours and (reason := why_not()):
        for item in ours:
            item.add_marker(pytest.mark.skip(reason=reason))
