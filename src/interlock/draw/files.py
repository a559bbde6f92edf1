"""Drawings on the disk: a ``.dot`` compared byte for byte, and an ``.svg`` that says which one it was made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from interlock.draw import dot, svg
from interlock.machine import Table
from interlock.spec.generated import differences, left_over, text_of, write


def save(folder: Path, tables: Mapping[str, Table], gone: Sequence[Path] = ()) -> list[str]:
    """Draw ``tables`` into ``folder`` and remove what is ``gone``; return the paths that changed.

    An SVG that was made from the same DOT stays, whichever Graphviz made it. Raises
    :class:`interlock.draw.svg.NoGraphviz` where the extra ``diagrams`` is missing.
    """
    dots = _dots(tables)
    drawn = {_svg(name): svg.svg(text) for name, text in dots.items() if _stale(folder, name, text)}
    changed = write(folder, dots, dot.MARK)
    return [*changed, *write(folder, drawn, svg.MARK, gone)]


def outdated(folder: Path, tables: Mapping[str, Table], gone: Sequence[Path] = ()) -> list[str]:
    """Return one sentence for each drawing in ``folder`` that does not show its table. Needs no Graphviz."""
    dots = _dots(tables)
    stale = [f"{folder / _svg(name)}: {_fault(folder, name)}" for name in dots if _stale(folder, name, dots[name])]
    return [*differences(folder, dots, gone), *stale]


def left_over_drawings(folder: Path, tables: Mapping[str, Table], marks: Iterable[str]) -> list[Path]:
    """Return the drawings of machines that are gone: each ``.dot`` that says so, and the ``.svg`` beside it."""
    dots = left_over(folder, _dots(tables), marks, ".dot")
    return [path for name in dots for path in (name, name.with_suffix(".svg")) if path.exists()]


def _fault(folder: Path, name: str) -> str:
    return "is missing" if text_of(folder / _svg(name)) is None else f"was drawn from another {name}"


def _dots(tables: Mapping[str, Table]) -> dict[str, str]:
    return {f"{name}.dot": dot.dot(table) for name, table in tables.items()}


def _svg(name: str) -> str:
    return f"{name.removesuffix('.dot')}.svg"


def _stale(folder: Path, name: str, text: str) -> bool:
    return svg.drawn_from(text_of(folder / _svg(name)) or "") != svg.digest(text)
