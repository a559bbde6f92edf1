"""SVG of a DOT text, and the hash that says which DOT text an SVG was made from.

Two versions of Graphviz draw the same text differently, so nobody compares the bytes of an SVG: it carries the hash
of its DOT, and that is compared.
"""

from __future__ import annotations

import hashlib
import re

from interlock.errors import WorldError

MARK = "<!-- interlock dot sha256: "
"""How an SVG says which DOT text it was made from."""


class NoGraphviz(WorldError):
    """Graphviz is not installed, or could not draw. Install the extra: ``pip install 'interlock[diagrams]'``."""


def svg(dot: str) -> str:
    """Return the SVG of a DOT text. Raises :class:`NoGraphviz` where the extra ``diagrams`` is missing."""
    drawn = render(dot, "svg").decode().replace("\r\n", "\n")
    head, start, rest = drawn.partition("<svg")
    return f"{head}{MARK}{digest(dot)} -->\n{start}{rest}"


def render(dot: str, form: str) -> bytes:
    """Return the picture of a DOT text as ``svg``, ``png`` or ``pdf``. A PNG has room for a sharp print."""
    try:
        import pygraphviz
    except ImportError:
        raise NoGraphviz(
            f"drawing {form} needs Graphviz: pip install 'interlock[diagrams]'; dot and mermaid do not"
        ) from None
    try:
        picture = pygraphviz.AGraph(string=dot).draw(format=form, prog="dot", args="-Gdpi=144" if form == "png" else "")
    except (OSError, ValueError) as wrong:
        raise NoGraphviz(f"Graphviz could not draw: {wrong}") from wrong
    return bytes(picture)


def drawn_from(svg: str) -> str | None:
    """Return the hash of the DOT text that an SVG was made from, if it says so."""
    found = re.search(rf"{re.escape(MARK)}([0-9a-f]{{64}}) -->", svg)
    return found[1] if found else None


def digest(dot: str) -> str:
    """Return the hash of a DOT text."""
    return hashlib.sha256(dot.encode()).hexdigest()
