"""The files of the pages: package data, served as they are, under a policy that allows nothing from anywhere else.

There is no build step. A page loads modules from ``/pages/``; a self-contained one has them inside
(:mod:`interlock.pages.bundle`).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Final, NamedTuple

import msgspec

from interlock.pages.drawn import machines

TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing but this server's own files, and no frame around them."""

HEADERS: Final = (
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Permissions-Policy", "microphone=(self), camera=(), geolocation=()"),
    ("Cache-Control", "no-cache"),
)

MACHINES: Final = "machines.json"
"""The one file that is made and not read: the machines that this server runs."""


class Asset(NamedTuple):
    """One file of a page."""

    content_type: str
    body: bytes


def asset(name: str) -> Asset | None:
    """Return the file of that name; ``None`` where there is none."""
    return _assets().get(name)


@cache
def _assets() -> dict[str, Asset]:
    """Read all files, once: whatever a client asks for is looked up, and never a path."""
    found = {MACHINES: Asset(TYPES[".json"], msgspec.json.encode(machines()))}
    for file in (files("interlock.pages") / "static").iterdir():
        if kind := TYPES.get(PurePosixPath(file.name).suffix):
            found[file.name] = Asset(kind, file.read_bytes())
    return found


def text(name: str) -> str:
    """Return a file that belongs to us, as text."""
    return _assets()[name].body.decode()
