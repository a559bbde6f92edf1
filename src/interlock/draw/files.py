"""Drawings on the disk: text compared byte for byte, and an ``.svg`` that says which ``.dot`` it was made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from interlock.draw import svg
from interlock.draw.ink import MARK
from interlock.spec.finding import Unusable
from interlock.spec.generated import differences, left_over, text_of, write

SUFFIXES = {"dot": ".dot", "svg": ".svg", "mermaid": ".mmd", "png": ".png", "pdf": ".pdf"}
"""The forms of a drawing, and how their files end."""

COMMITTED = ("dot", "svg", "mermaid")
"""The forms that can be compared, and so are kept beside the machines."""


class Drawing(NamedTuple):
    """One drawing: the name of its files, and its two texts. Pictures are made from the DOT."""

    name: str
    dot: str
    mermaid: str


def save(
    folder: Path, drawings: Iterable[Drawing], forms: Sequence[str] = COMMITTED, gone: Sequence[Path] = ()
) -> list[str]:
    """Write ``drawings`` into ``folder`` and remove what is ``gone``; return the paths that changed.

    An SVG that was made from the same DOT stays, whichever Graphviz made it. Raises
    :class:`interlock.draw.svg.NoGraphviz` before anything is written where a picture needs the extra ``diagrams``
    and it is missing.
    """
    kept = list(drawings)
    due = [one for one in kept if "svg" in forms and _stale(folder, one)]
    drawn = {f"{one.name}.svg": svg.svg(one.dot) for one in due}
    pictures = {f"{one.name}.{form}": svg.render(one.dot, form) for one in kept for form in forms if form in _PICTURES}
    changed = write(folder, _texts(kept, forms), MARK)
    changed += write(folder, drawn, svg.MARK, gone)
    return changed + [_put(folder / name, picture) for name, picture in pictures.items()]


def outdated(
    folder: Path, drawings: Iterable[Drawing], forms: Sequence[str] = COMMITTED, gone: Sequence[Path] = ()
) -> list[str]:
    """Return one sentence for each drawing in ``folder`` that does not show its machine. Needs no Graphviz."""
    kept = list(drawings)
    stale = [one.name for one in kept if "svg" in forms and _stale(folder, one)]
    return [*differences(folder, _texts(kept, forms), gone), *(_fault(folder / f"{name}.svg") for name in stale)]


def left_over_drawings(folder: Path, drawings: Iterable[Drawing], marks: Iterable[str]) -> list[Path]:
    """Return the drawings of machines that are gone: each text that says so, and the ``.svg`` beside a ``.dot``."""
    names, marks = {one.name for one in drawings}, list(marks)
    dots = left_over(folder, {f"{name}.dot" for name in names}, marks, ".dot")
    pictures = [path.with_suffix(".svg") for path in dots if path.with_suffix(".svg").exists()]
    return sorted([*dots, *pictures, *left_over(folder, {f"{name}.mmd" for name in names}, marks, ".mmd")])


_PICTURES = ("png", "pdf")


def _texts(drawings: Iterable[Drawing], forms: Sequence[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for one in drawings:
        texts |= {f"{one.name}.dot": one.dot} if "dot" in forms else {}
        texts |= {f"{one.name}.mmd": one.mermaid} if "mermaid" in forms else {}
    return texts


def _put(path: Path, picture: bytes) -> str:
    try:
        path.write_bytes(picture)
    except OSError as wrong:
        raise Unusable(f"{path}: cannot be written: {wrong.strerror}") from None
    return str(path)


def _fault(path: Path) -> str:
    what = "is missing" if text_of(path) is None else f"was drawn from another {path.stem}.dot"
    return f"{path}: {what}"


def _stale(folder: Path, drawing: Drawing) -> bool:
    return svg.drawn_from(text_of(folder / f"{drawing.name}.svg") or "") != svg.digest(drawing.dot)
