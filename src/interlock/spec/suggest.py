"""Remedies for names: the one that was probably meant, or those that there are."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def meant(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return ``did you mean `...`?``, or ``otherwise`` when nothing is close."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f"did you mean `{close[0]}`?" if close else otherwise


def listed(names: Iterable[str]) -> str:
    """Return names as prose reads them."""
    return ", ".join(f"`{name}`" for name in names)
