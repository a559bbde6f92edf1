"""Drawings on the disk: a ``.dot`` compared byte for byte, and an ``.svg`` that says which one it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from interlock.draw import dot, svg
from interlock.machine import Table
from interlock.spec.generated import differences, text_of, write


def save(folder: Path, tables: Mapping[str, Table]) -> list[str]:
    """Draw ``tables`` into ``folder``; return the paths that changed.

    An SVG that was made from the same DOT stays, whichever Graphviz made it. Raises
    :class:`interlock.draw.svg.NoGraphviz` where the extra ``diagrams`` is missing.
    """
    dots = _dots(tables)
    changed = write(folder, dots, dot.MARK, ".dot")
    kept = {_svg(name): text_of(folder / _svg(name)) or "" for name in dots if not _stale(folder, name, dots[name])}
    drawn = {_svg(name): svg.svg(text) for name, text in dots.items() if _svg(name) not in kept}
    return [*changed, *write(folder, {**kept, **drawn}, svg.MARK, ".svg")]


def outdated(folder: Path, tables: Mapping[str, Table]) -> list[str]:
    """Return one sentence for each drawing in ``folder`` that does not show its table. Needs no Graphviz."""
    dots = _dots(tables)
    found = differences(folder, dots, dot.MARK, ".dot")
    for name, text in dots.items():
        path = folder / _svg(name)
        if text_of(path) is None:
            found.append(f"{path}: is missing")
        elif _stale(folder, name, text):
            found.append(f"{path}: was drawn from another {name}")
    kept = {_svg(name): text_of(folder / _svg(name)) or "" for name in dots if text_of(folder / _svg(name)) is not None}
    return found + differences(folder, kept, svg.MARK, ".svg")


def _dots(tables: Mapping[str, Table]) -> dict[str, str]:
    return {f"{name}.dot": dot.dot(table) for name, table in tables.items()}


def _svg(name: str) -> str:
    return f"{name.removesuffix('.dot')}.svg"


def _stale(folder: Path, name: str, text: str) -> bool:
    return svg.drawn_from(text_of(folder / _svg(name)) or "") != svg.digest(text)
