"""Remedies for names: the one that was probably meant, or those that there are."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from itertools import islice

MANY = 50
"""Names that are compared with a wrong one. Comparing each of 10,000 with each would take minutes."""
SHOWN = 12
"""Names that a line lists."""


def meant(name: str, known: Iterable[str], otherwise: str, cutoff: float = 0.7) -> str:
    """Return ``did you mean `...`?``, or ``otherwise`` when nothing is close."""
    alike = (other for other in known if abs(len(other) - len(name)) <= 3)
    close = get_close_matches(name, islice(alike, MANY), n=1, cutoff=cutoff)
    return f"did you mean `{close[0]}`?" if close else otherwise


def listed(names: Collection[str]) -> str:
    """Return names as prose reads them."""
    shown = [f"`{name}`" for name in islice(names, SHOWN)]
    more = [f"{len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return ", ".join(shown + more)
