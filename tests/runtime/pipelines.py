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


class Spoken:
    """The echo agent, of which nobody has said that it can answer in writing."""

    listen = EchoPipeline.listen
    answer = EchoPipeline.answer

    def check(self, config: Mapping[str, Any]) -> None:
        """Take what the echo agent takes."""
        EchoPipeline().check(config)

    async def prepare(self, config: Mapping[str, Any]) -> None:
        """Be ready."""

    def params(self, stage: str, config: Mapping[str, Any], text: str) -> Mapping[str, Any]:
        """Return what the echo agent submits."""
        return EchoPipeline().params(stage, config, text)
