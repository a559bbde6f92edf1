"""A logger that says nothing: the one of ``websockets`` writes whole requests down, with their keys and tokens."""

from __future__ import annotations

import logging
from typing import Final

QUIET: Final = logging.getLogger("interlock.websockets")
QUIET.setLevel(logging.CRITICAL)
QUIET.propagate = False
QUIET.addHandler(logging.NullHandler())
