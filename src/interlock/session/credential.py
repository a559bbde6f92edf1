"""The credential of a session: which token opens it, and how often.

``current`` is the token issued last. ``presented`` is the one whose claim issued it, and stays good until the
holder of ``current`` has *proved* that it read it: the frame that carried it may be lost on the way, and then the
client knows only what it presented. The whole rule:

* resume with ``current``: presented := current, current := fresh;
* resume with ``presented``, attached or not, however often: current := fresh, and the unproved one dies;
* anything else is refused;
* proof: presented := none.

Proof is what nobody can send without having read ``session.resumed``: an ack above the journal's head at the moment
of the claim, a message that carries this claim's generation, or the new token. Whoever is refused for a gap is told
the head, on another connection, and might acknowledge that: from then on it takes an ack above it. Only digests come
here.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import NamedTuple


class Credential(NamedTuple):
    """Digests (SHA-256, 32 bytes), and the journal's head at the last claim, or when a refusal told it since."""

    current: bytes = b""
    presented: bytes | None = None
    claim_head: int = 0


def digest_of(token: str) -> bytes:
    """Return the SHA-256 digest of a token's UTF-8 text: all that the core ever sees of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def opens(credential: Credential, token: bytes) -> bool:
    """Say whether ``token`` (a digest) may claim the session. Takes the same time whatever it is."""
    is_current = hmac.compare_digest(credential.current, token)
    is_presented = hmac.compare_digest(credential.presented or b"", token)
    return bool(token) and (is_current or is_presented)


def rotate(credential: Credential, token: bytes, fresh: bytes, head: int) -> Credential:
    """Return the credential after an accepted claim with ``token`` that issues ``fresh``."""
    if not credential.current:
        return Credential(fresh, None, head)
    if hmac.compare_digest(credential.current, token):
        return Credential(fresh, credential.current, head)
    return Credential(fresh, credential.presented, head)


def prove(credential: Credential) -> Credential:
    """Return the credential once the holder of ``current`` has shown that it read it."""
    return credential if credential.presented is None else credential._replace(presented=None)
