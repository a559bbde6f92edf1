"""Pipelines that do what a test wants while a session is prepared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio

from interlock.workers.echo import EchoPipeline


class Gated(EchoPipeline):
    """Prepares when the gate is opened, and then fails if ``error`` is set. ``preparing`` counts who is inside."""

    def __init__(self, error: Exception | None = None) -> None:
        self.gate = trio.Event()
        self.error = error
        self.preparing = 0
        self.begun = 0

    async def prepare(self, config: Mapping[str, Any]) -> None:
        """Wait at the gate."""
        self.preparing += 1
        self.begun += 1
        try:
            await self.gate.wait()
        finally:
            self.preparing -= 1
        if self.error is not None:
            raise self.error
