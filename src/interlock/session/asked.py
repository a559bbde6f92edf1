"""What a client may ask for in its configuration, whatever the pipeline: how much of it, and how long an idle time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from interlock.errors import ClientError
from interlock.session.settings import Settings
from interlock.wire.items import GivenItem, Item, given_item
from interlock.wire.outbound import encode
from interlock.wire.session_object import merged, modalities

MAX_METADATA: Final = 16
MAX_KEY, MAX_VALUE = 64, 512
"""Of the metadata of a response: pairs, and characters."""


class Wish(NamedTuple):
    """What one response is to have otherwise than its session, by ``response.create``."""

    changes: Mapping[str, Any] = {}
    metadata: Mapping[str, str] | None = None
    in_band: bool = True
    """Whether it becomes part of the conversation (``conversation: "none"`` says that it does not)."""

    def applied(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the configuration of the session with these wishes."""
        return merged(config, self.changes)


def wish_of(response: Mapping[str, Any], settings: Settings) -> Wish:
    """Read the ``response`` of a ``response.create``. Raises :class:`ClientError` that names the field."""
    check_config(response, settings)
    metadata, conversation = response.get("metadata"), response.get("conversation", "auto")
    if metadata is not None and not _is_metadata(metadata):
        text = f"metadata is at most {MAX_METADATA} strings of {MAX_VALUE} characters by names of {MAX_KEY}"
        raise ClientError("bad_event", text, param="response.metadata")
    if conversation not in ("auto", "none"):
        raise ClientError("bad_event", "conversation is auto or none", param="response.conversation")
    changes = {name: value for name, value in response.items() if name not in ("metadata", "conversation")}
    if "output_modalities" in changes:
        changes["modalities"] = changes.pop("output_modalities")
    if "input" in changes:
        changes["input"] = _items(changes["input"])
    check_modalities(changes)
    return Wish(changes, metadata, conversation == "auto")


def check_kind(config: Mapping[str, Any]) -> None:
    """Refuse a session of another kind: only those that answer are served, and none that only transcribes."""
    if config.get("type") not in (None, "realtime"):
        raise ClientError("invalid_session_config", "type is realtime", param="session.type")


def check_modalities(config: Mapping[str, Any]) -> None:
    """Refuse what is no way to answer: it is audio, with its transcript, or text alone."""
    wanted = config.get("modalities")
    if wanted is not None and not (isinstance(wanted, list) and wanted and all(w in ("audio", "text") for w in wanted)):
        raise ClientError("invalid_session_config", "output is audio, or text", param="output_modalities")


def writes(config: Mapping[str, Any]) -> bool:
    """Whether an answer is to be text alone."""
    return modalities(config) == ["text"]


def _items(given: Any) -> tuple[Item, ...]:
    """Read the items that a response is to answer instead of the conversation."""
    try:
        items = msgspec.convert(given, list[GivenItem])
    except (msgspec.ValidationError, RecursionError) as error:
        raise ClientError("bad_event", str(error), param="response.input") from None
    return tuple(given_item(item, item.id or f"input_{number}") for number, item in enumerate(items, 1))


def _is_metadata(metadata: Any) -> bool:
    if not isinstance(metadata, Mapping) or len(metadata) > MAX_METADATA:
        return False
    pairs = metadata.items()
    return all(isinstance(v, str) and len(k) <= MAX_KEY and len(v) <= MAX_VALUE for k, v in pairs)


def check_config(config: Mapping[str, Any], settings: Settings) -> None:
    """Refuse a configuration that is too large to carry, or no JSON. It goes out whole with every attachment.

    Raises :class:`ClientError` (``invalid_session_config``), here and in :func:`idle_time`.
    """
    try:
        size = len(encode(config))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ClientError("invalid_session_config", f"the configuration is no JSON: {error}") from error
    if size > settings.config_bytes:
        text = f"the configuration is {size} bytes, over config_bytes = {settings.config_bytes}: send less"
        raise ClientError("invalid_session_config", text)


def idle_time(config: Mapping[str, Any], settings: Settings) -> float:
    """Return after how many idle seconds the session ends: what the client asks for, or the host's own time."""
    wanted = config.get("idle_timeout_s")
    if wanted is None:
        return settings.idle_s
    if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not 0 < wanted < math.inf:
        text = "idle_timeout_s is a number of seconds over 0, or null"
        raise ClientError("invalid_session_config", text, param="idle_timeout_s")
    if wanted > settings.idle_max_s:
        text = f"idle_timeout_s = {wanted} is over idle_max_s = {settings.idle_max_s}: ask for less"
        raise ClientError("invalid_session_config", text, param="idle_timeout_s")
    return float(wanted)
