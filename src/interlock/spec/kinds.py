"""The types of fields and facts: how the format names them, and what they are in Python."""

from __future__ import annotations

from interlock.spec.form import Kind
from interlock.spec.quote import quoted

KINDS = {
    "int": ("int", "0"),
    "float": ("float", "0.0"),
    "bool": ("bool", "False"),
    "str": ("str", '""'),
    "bytes": ("bytes", 'b""'),
    "secret": ("bytes", 'b""'),
    "strs": ("tuple[str, ...]", "()"),
    "ints": ("tuple[int, ...]", "()"),
}
"""Name in the format: type in Python, and the value that stands for "not filled in yet"."""


def annotation(kind: Kind) -> str:
    """Return the Python type of a field."""
    if isinstance(kind, list):
        return f"Literal[{', '.join(map(quoted, kind))}]"
    return KINDS[kind][0]


def zero(kind: Kind) -> str:
    """Return the default of a fact, as Python text."""
    return quoted(kind[0]) if isinstance(kind, list) else KINDS[kind][1]


def is_known(kind: Kind) -> bool:
    """Say whether the format has this type."""
    return bool(kind) and len(set(kind)) == len(kind) if isinstance(kind, list) else kind in KINDS
