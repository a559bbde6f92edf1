"""What a client asked for when it connected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple


class Page(NamedTuple):
    """The answer to a plain request: status, content type, body, and further headers."""

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """The target of the request. ``query`` has the last value of each name, ``headers`` have small letters.

    Both may hold secrets, a key or a resume token, so neither shows in a ``repr``. ``peer`` is the address that the
    socket came from; ``caller`` is the name of the key that it brought, where keys are asked for.
    """

    path: str = ""
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    subprotocol: str | None = None
    peer: str = ""
    caller: str = ""

    def of(self, caller: str) -> Opening:
        """Return the same request, of somebody who is known by now."""
        return replace(self, caller=caller)


NOWHERE: Final = Opening()

REALTIME: Final = "realtime"
"""The subprotocol that is taken where a client offers it; most offer nothing."""
