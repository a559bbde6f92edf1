"""A session's configuration, as the clients of the GA schema read it: nested, with all that such a client requires.

What a client sent is kept flat (:mod:`interlock.wire.config`), and whatever is not known is handed back as it came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

PCM_24K: Final = {"type": "audio/pcm", "rate": 24000}
"""The one format of strict clients: PCM16 mono at 24 kHz."""

SERVER_VAD: Final = {"type": "server_vad", "create_response": True, "interrupt_response": True}
"""How turns are taken where the client does not say."""

_OWN: Final = {"id", "session_id", "object", "type", "audio", "modalities", "output_modalities"}
_FLAT: Final = {"input_audio_format", "output_audio_format", "turn_detection", "voice"}


def flat_session(config: Mapping[str, Any], session_id: str) -> dict[str, Any]:
    """Return the session object of the duplex dialect: the configuration as it was sent, with the session's id."""
    return {**config, "object": "realtime.session", "type": "realtime", "id": session_id}


def nested_session(config: Mapping[str, Any], session_id: str) -> dict[str, Any]:
    """Return the session object of the GA schema."""
    rest = {name: value for name, value in config.items() if name not in _OWN | _FLAT}
    head = {"id": session_id, "object": "realtime.session", "type": "realtime"}
    return head | rest | {"output_modalities": modalities(config), "audio": _audio(config)}


def modalities(config: Mapping[str, Any]) -> list[str]:
    """Return ``["text"]`` where only text is asked for, else ``["audio"]``, which brings its transcript."""
    return ["text"] if config.get("modalities") == ["text"] else ["audio"]


def detection(config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return how turns are detected, defaults filled in; ``None`` where the client ends each turn by hand."""
    wanted = config.get("turn_detection", SERVER_VAD)
    return {**SERVER_VAD, **wanted} if isinstance(wanted, Mapping) else None


def merged(config: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration after an update: a key that was sent replaces, and ``audio`` is merged to its leaves."""
    after = {**config, **changes}
    if isinstance(config.get("audio"), Mapping) and isinstance(changes.get("audio"), Mapping):
        after["audio"] = _deep(config["audio"], changes["audio"])
    return after


def _audio(config: Mapping[str, Any]) -> dict[str, Any]:
    given = config.get("audio")
    rest = given if isinstance(given, Mapping) else {}
    heard = {"format": config.get("input_audio_format") or PCM_24K, "turn_detection": detection(config)}
    spoken = {"format": PCM_24K} | ({"voice": config["voice"]} if config.get("voice") else {})
    return {**rest, "input": {**_part(rest, "input"), **heard}, "output": {**_part(rest, "output"), **spoken}}


def _part(audio: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = audio.get(name)
    return part if isinstance(part, Mapping) else {}


def _deep(before: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    after = {**before, **changes}
    for name in before.keys() & changes.keys():
        if isinstance(before[name], Mapping) and isinstance(changes[name], Mapping) and name != "turn_detection":
            after[name] = _deep(before[name], changes[name])
    return after
