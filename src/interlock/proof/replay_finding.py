"""What a replay finds: one kind for each way in which a trace can fail, and where, down to the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from interlock.errors import WorldError

Kind: TypeAlias = Literal["parts", "missing", "changed", "damaged", "truncated"]

KINDS: Final[Mapping[Kind, str]] = {
    "parts": "the tables say something else than the trace",
    "missing": "a record, or a file, is not there",
    "changed": "a line is not as it was written: its check sum is wrong",
    "damaged": "compressed bytes were changed; what follows cannot be read",
    "truncated": "a file has no end: it was cut, its writer was killed, or it still writes",
}
"""Each kind of finding, and what it means."""

UNUSABLE: Final = frozenset({"damaged", "truncated"})
"""Findings that say nothing about the session: the rest of the trace is simply not there to be judged."""


class Place(NamedTuple):
    """Where a line is."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Difference(NamedTuple):
    """Where two records part. ``row`` counts the deliveries of the event, or its effects, from 1; 0 is neither."""

    part: Literal["row", "effect", "record"]
    row: int
    who: str
    field: str
    trace: Any
    tables: Any
    by: str = ""

    def __str__(self) -> str:
        by = f" ({self.by})" if self.by else ""
        return f"{self.where}: the trace has {self.trace}, the tables say {self.tables}{by}"

    @property
    def where(self) -> str:
        """Say which row or effect, and which field of it."""
        place = f"{self.part} {self.row}" if self.row else "record"
        who = f" ({self.who})" if self.who else ""
        return f"{place}{who}, `{self.field}`" if self.field else f"{place}{who}"


class Finding(NamedTuple):
    """One fault of a trace. ``event`` counts the events of the whole trace from 1, ``n`` the records of the session."""

    kind: Kind
    place: Place
    what: str
    event: int = 0
    session: str = ""
    n: int = 0
    name: str = ""
    difference: Difference | None = None
    before: tuple[str, ...] = ()
    """The session's last events before."""

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain = {"kind": self.kind, "file": self.place.file, "line": self.place.line, "what": self.what}
        if self.session:
            plain |= {"event": self.event, "session": self.session, "n": self.n, "name": self.name}
        if self.difference is not None:
            plain |= {key: value for key, value in self.difference._asdict().items() if key != "part"}
            plain["in"] = self.difference.part
        return plain | ({"before": list(self.before)} if self.before else {})


class Unusable(WorldError):
    """A trace, or an option, with which nothing can be done. The message says why, and what would help."""
