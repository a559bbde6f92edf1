"""What a client asked for when it connected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Opening:
    """The target of the request. ``query`` has the last value of each name, ``headers`` have small letters."""

    path: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    subprotocol: str | None = None


NOWHERE: Final = Opening()
