"""A certificate for localhost, from an authority that lives as long as the test."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import NamedTuple

import trustme


class Certificate(NamedTuple):
    """Files for a server, and what a client needs to believe them."""

    cert: Path
    key: Path
    authority: Path
    trusting: ssl.SSLContext


def certificate(folder: Path) -> Certificate:
    """Issue one for localhost and 127.0.0.1."""
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    cert, key, root = (folder / name for name in ("cert.pem", "key.pem", "authority.pem"))
    issued.cert_chain_pems[0].write_to_path(cert)
    issued.private_key_pem.write_to_path(key)
    authority.cert_pem.write_to_path(root)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    return Certificate(cert, key, root, trusting)
