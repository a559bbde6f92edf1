"""Text as Python text: whatever a machine file says, the generated module stays one that Python reads."""

from __future__ import annotations

import json
from collections.abc import Iterable


def quoted(text: str) -> str:
    """Return ``text`` as a Python string in double quotes."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def docstring(text: str) -> str:
    """Return ``text`` as a docstring of one line."""
    return f'""{quoted(" ".join(text.split()))}""'


def tupled(items: Iterable[str]) -> str:
    """Return Python texts as the text of their tuple."""
    inside = list(items)
    return f"({inside[0]},)" if len(inside) == 1 else f"({', '.join(inside)})"


def strings(items: Iterable[str]) -> str:
    """Return names as the text of a tuple of strings."""
    return tupled(map(quoted, items))
