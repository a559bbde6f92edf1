"""API keys: how a client offers one, and whose it is.

Only SHA-256 digests are kept, so that no dump of the process and no ``repr`` shows a key; every key is compared, each
in constant time, so that the time of an answer tells nothing of what would have been right.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from typing import Final

from interlock.transport.opening import Opening

SUBPROTOCOL_PREFIX: Final = "openai-insecure-api-key."
"""How a browser offers its key, which cannot set a header."""
MIN_CHARACTERS: Final = 16


class Keys:
    """Known keys, by the names that logs and metrics may show."""

    def __init__(self, digests: Mapping[str, bytes]) -> None:
        self._digests = dict(digests)

    def __len__(self) -> int:
        return len(self._digests)

    def name_of(self, key: str) -> str | None:
        """Return whose key it is; ``None`` where it is nobody's."""
        digest, found = _digest(key), None
        for name, known in self._digests.items():
            if hmac.compare_digest(known, digest):
                found = name
        return found


def read_keys(lines: Iterable[str]) -> Keys:
    """Read keys, one a line: ``NAME:KEY``, or ``KEY``, which is called by its number. ``#`` begins a remark.

    Raises :class:`ValueError` that tells the number of a line, and never the line.
    """
    digests: dict[str, bytes] = {}
    for number, line in enumerate(lines, 1):
        if not (text := line.strip()) or text.startswith("#"):
            continue
        name, colon, key = text.partition(":")
        if not colon:
            name, key = f"key{number}", text
        if len(key) < MIN_CHARACTERS or not key.isprintable() or any(c.isspace() for c in key):
            raise ValueError(f"line {number}: a key has at least {MIN_CHARACTERS} characters, and no space in it")
        if not name or name in digests:
            raise ValueError(f"line {number}: a key's name is not empty, and not that of another key")
        digests[name] = _digest(key)
    return Keys(digests)


def offered_key(opening: Opening) -> str:
    """Return the key that a client brought, in a header or as a browser does; the empty string for none."""
    scheme, _, key = opening.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return key.strip()
    for word in opening.headers.get("sec-websocket-protocol", "").split(","):
        if word.strip().startswith(SUBPROTOCOL_PREFIX):
            return word.strip().removeprefix(SUBPROTOCOL_PREFIX)
    return ""


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="surrogateescape")).digest()
