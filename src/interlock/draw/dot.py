"""DOT text of a table: the same text for the same table, in the order of the table, whoever runs it.

A state at rest is a rounded box, one that awaits work a box with a double border, a shielded one an octagon, a final
one a double ellipse. A cancel lands along a dashed red arrow, and time passing is blue and says ``after``. A state that
somebody is in now has a thick blue border, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from interlock.draw.ink import FAINT, LINE, MARK, boxed, coloured, joined, lined, markup, page, quoted, wrapped
from interlock.draw.sketch import Arrow, Cause, Group, arrows, words
from interlock.machine import Kind, StateInfo, Table

INK = {"event": "#1f2328", "timer": "#0550ae", "cancel": "#a40e26", "birth": "#1f2328"}
BIRTH = "(birth)"
NOW_INK = "#0550ae"
NOW = f'penwidth=3, color="{NOW_INK}", fillcolor="#b6e3ff"'

SHAPES: dict[Kind, str] = {
    "rest": 'shape=box, style="rounded,filled", fillcolor="#f6f8fa"',
    "awaiting": 'shape=box, peripheries=2, style=filled, fillcolor="#fff8e5"',
    "shielded": 'shape=octagon, peripheries=2, style=filled, fillcolor="#ffebe9"',
    "final": 'shape=ellipse, peripheries=2, style=filled, fillcolor="#eaeef2"',
}


def dot(table: Table, now: Mapping[str, str] | None = None) -> str:
    """Return the drawing of ``table`` as DOT text.

    ``now`` names the states that somebody is in, each with the words that say who.
    """
    return page(table.name, head(table.source, table.sha256), table.doc, _body(table, now or {}))


def head(source: str, sha256: str) -> str:
    """Return what a drawing says at its top: what it was made from, and that nobody edits it."""
    return f"{MARK}{' '.join(source.split())}; never edited.\nsha256: {sha256}"


def birth() -> str:
    """Return the dot at which a machine begins."""
    return f'{quoted(BIRTH)} [shape=point, width=0.14, color="{LINE}", label=""];'


def caused(cause: Cause) -> str:
    """Return the markup of why a row fires, in the colour of its voice."""
    parts = "".join(f"{markup(part)}<BR/>" for part in wrapped(cause.text, 34))
    return coloured(parts, INK[cause.voice])


def emitted(emits: tuple[str, ...]) -> str:
    """Return the markup of what rows emit; nothing where they emit nothing."""
    parts = wrapped(f"/ {', '.join(emits)}", 34) if emits else []
    return "".join(coloured(f"&#160;&#160;{markup(part)}", FAINT) + "<BR/>" for part in parts)


def _body(table: Table, now: Mapping[str, str]) -> Iterator[str]:
    yield birth()
    for info in table.states:
        yield _state(table, info, now.get(info.name))
    yield ""
    for arrow in arrows(table):
        yield from _arrow(table, arrow)


def _state(table: Table, info: StateInfo, now: str | None) -> str:
    said = [part for text in words(table, info) for part in wrapped(text, 46)]
    box = boxed(info.name, lined(wrapped(now, 40), NOW_INK) if now else "", lined(said))
    look = f"{SHAPES[info.kind]}, {NOW}" if now else SHAPES[info.kind]
    return f"{quoted(info.name)} [{look}, tooltip={quoted(info.doc)}, label=<{box}>];"


def _arrow(table: Table, arrow: Arrow) -> Iterator[str]:
    start, end = arrow.start or BIRTH, arrow.end
    if not arrow.groups:
        yield f"{quoted(start)} -> {quoted(end)};"
        return
    look = f'style=dashed, color="{INK["cancel"]}"' if arrow.cancels else ""
    name = f"{start} -> {end}{', cancel' if arrow.cancels else ''}"
    yield from joined(start, end, name, "".join(map(_group, arrow.groups)), look, back=_is_back(table, arrow))


def _is_back(table: Table, arrow: Arrow) -> bool:
    """Say whether an arrow leads up the drawing: the order of the file is the order from top to bottom."""
    order = ["", *(info.name for info in table.states)]
    return order.index(arrow.end) < order.index(arrow.start)


def _group(group: Group) -> str:
    return "".join(map(caused, group.causes)) + emitted(group.emits)


__all__ = ["MARK", "dot", "markup", "quoted"]
