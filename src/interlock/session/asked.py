"""What a client may ask for in its configuration, whatever the pipeline: how much of it, and how long an idle time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from interlock.errors import ClientError
from interlock.session.settings import Settings
from interlock.wire.outbound import encode


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
