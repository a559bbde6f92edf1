"""DOT text of all machines at once: a box each, and an arrow for what one sends to another.

Inside a box stands what comes from outside, by origin, and what the machine orders of the runtime: drawn as arrows,
these would hide the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.draw.dot import head
from interlock.draw.ink import boxed, joined, lined, markup, page, quoted, wrapped
from interlock.draw.talk import Part, downwards, hears, orders, own, parts, talks
from interlock.spec.plan import Blueprint
from interlock.spec.read import digest

NAME = "overview"
"""The file of the overview; no machine may be called so."""

DOC = "Who sends what to whom. In a box: what comes from outside, by origin; then what it orders of the runtime."
BOX = 'shape=box, style="rounded,filled", fillcolor="#f6f8fa"'


def overview(blueprint: Blueprint) -> str:
    """Return the drawing of how the machines of ``blueprint`` talk to each other."""
    return page(NAME, overview_head(blueprint), DOC, _body(blueprint))


def overview_head(blueprint: Blueprint) -> str:
    """Return what a drawing of all machines says at its top."""
    together = digest("".join(sorted(plan.source.sha256 for plan in blueprint.plans)))
    return head(", ".join(sorted(blueprint.labels)), together)


def _body(blueprint: Blueprint) -> Iterator[str]:
    said = talks(blueprint)
    for part in parts(blueprint):
        yield _box(part, own(part, said))
    yield ""
    order = downwards(said)
    for sender, receiver, messages in said:
        if sender != receiver:
            text = "".join(f"{markup(name)}<BR/>" for name in messages)
            back = order.index(receiver) < order.index(sender)
            yield from joined(sender, receiver, f"{sender} -> {receiver}", text, back=back)


def _box(part: Part, itself: tuple[str, ...]) -> str:
    said = [f"one per {part.per}"] if part.per else []
    texts = (said, hears(part, itself), orders(part))
    box = boxed(part.name, *(lined(line for text in block for line in wrapped(text, 46)) for block in texts))
    return f"{quoted(part.name)} [{BOX}, tooltip={quoted(part.doc)}, label=<{box}>];"
