"""Which web pages may speak to this server, and by which name it may be called.

A browser tells the origin of the page that connects, and lets any page connect to any WebSocket, also to one on the
user's own machine (RFC 6455, section 10.2). Who is no browser sends no origin, and is none of this rule's business. A
page whose own name resolves to our address ("DNS rebinding") is of our origin as the browser sees it; the name that it
calls us by gives it away.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from interlock.transport.opening import Opening


def is_origin_allowed(opening: Opening, allowed: Collection[str]) -> bool:
    """Say whether the page may connect: one of our own, one that is allowed, or no page at all."""
    origin = opening.headers.get("origin")
    if origin is None or "*" in allowed or origin in allowed:
        return True
    return _authority(origin) == opening.headers.get("host", "").lower() != ""


def is_host_known(opening: Opening, hosts: Collection[str]) -> bool:
    """Say whether the request calls us by a name of ``hosts``, or by one of this machine's own."""
    host = opening.headers.get("host", "")
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name in hosts or host in hosts or is_loopback(name)


def is_loopback(host: str) -> bool:
    """Say whether an address, or the name ``localhost``, is reachable from this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _authority(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
