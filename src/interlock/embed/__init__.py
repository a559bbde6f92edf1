"""Interlock inside an asyncio server: FastAPI, Starlette, uvicorn, vLLM. See docs/embed.md.

One object, :class:`Runtime`, is owned by a lifespan; its ASGI app is mounted; :class:`AsyncStage` wraps an engine.
"""

from __future__ import annotations

from interlock.embed.limits import EmbedLimits
from interlock.embed.misuse import Misuse
from interlock.embed.runtime import Runtime
from interlock.embed.session import Session
from interlock.embed.stage import AsyncStage

__all__ = ["AsyncStage", "EmbedLimits", "Misuse", "Runtime", "Session"]
