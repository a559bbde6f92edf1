"""The session object of ``session.update``: known keys have checked types, unknown keys are kept as they are.

Clients of the GA schema nest the audio settings (``audio.input.format``), earlier ones have them flat
(``input_audio_format``). Both end in the same field; where a client sends both, the flat one counts.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

Shape: TypeAlias = str | dict[str, Any] | None
"""A name, or an object with details: ``"pcm16"``, ``{"type": "audio/pcm", "rate": 24000}``."""

MAX_DEPTH: Final = 64
TOO_DEEP: Final = "the message is nested too deeply"

NESTED: Final = {
    "modalities": ("output_modalities",),
    "turn_detection": ("audio", "input", "turn_detection"),
    "input_audio_format": ("audio", "input", "format"),
    "output_audio_format": ("audio", "output", "format"),
    "voice": ("audio", "output", "voice"),
}
"""Where the GA schema has what we keep flat."""


class SessionConfig(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a client asked for. ``UNSET`` was not sent, ``None`` was sent as null; ``extra`` has all other keys."""

    modalities: list[str] | UnsetType | None = UNSET
    instructions: str | UnsetType | None = UNSET
    voice: Shape | UnsetType = UNSET
    turn_detection: dict[str, Any] | UnsetType | None = UNSET
    input_audio_format: Shape | UnsetType = UNSET
    output_audio_format: Shape | UnsetType = UNSET
    idle_timeout_s: Annotated[float, msgspec.Meta(gt=0)] | UnsetType | None = UNSET
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what could not be encoded again."""
        check_depth([getattr(self, name) for name in self.__struct_fields__])

    def mapping(self) -> dict[str, Any]:
        """Return all that was sent as one flat mapping: the configuration that a pipeline is asked to prepare."""
        known = {name: value for name in KNOWN if (value := getattr(self, name)) is not UNSET}
        return {**self.extra, **known}


KNOWN: Final = tuple(name for name in SessionConfig.__struct_fields__ if name != "extra")


def check_depth(value: Any) -> None:
    """Raise ``ValueError`` where lists and objects are nested more than ``MAX_DEPTH`` deep."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = [child for outer in level for child in (outer.values() if isinstance(outer, dict) else outer)]
        level = [child for child in inner if isinstance(child, dict | list)]
        if not level:
            return
    raise ValueError(TOO_DEEP)


def flatten(session: dict[str, Any]) -> dict[str, Any]:
    """Return what decodes as a :class:`SessionConfig`: GA names brought home, everything unknown under ``extra``."""
    known = {name: found for name, path in NESTED.items() if (found := _find(session, path)) is not UNSET}
    known.update((name, session[name]) for name in KNOWN if name in session)
    return {**known, "extra": {name: value for name, value in session.items() if name not in KNOWN}}


def _find(session: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(session, dict):
            return UNSET
        session = session.get(name, UNSET)
    return session
