"""Mermaid text of a table, and of all machines at once: what GitHub shows where a document has it in a fence.

Mermaid has one shape for all states. So a state that awaits work has a thick border, a shielded one a thick dashed
border, and both say so in words; a final one leads to the end mark. A cancel is a word on its arrow.
Identifiers are made here, because Mermaid has words of its own (``end``, ``state``); what is shown is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from interlock.draw.dot import head
from interlock.draw.ink import one_line
from interlock.draw.overview import DOC, overview_head
from interlock.draw.sketch import Arrow, Group, arrows, words
from interlock.draw.talk import Part, hears, orders, own, parts, talks
from interlock.machine import Kind, StateInfo, Table
from interlock.spec.plan import Blueprint

STYLES = {
    "awaiting": "stroke-width:3px",
    "shielded": "stroke-width:3px,stroke-dasharray:6 3",
    "now": "fill:#b6e3ff,stroke:#0550ae,stroke-width:4px",
}
"""How a state is written that is not at rest, or that somebody is in now."""

_SAFE = " _.,/()[]=+-"


def mermaid(table: Table, now: Mapping[str, str] | None = None) -> str:
    """Return the drawing of ``table`` as a Mermaid state diagram; ``now`` as :func:`interlock.draw.dot.dot` has it."""
    ids = _ids("s", (info.name for info in table.states))
    return _page(head(table.source, table.sha256), "stateDiagram-v2", _states(table, ids, now or {}))


def mermaid_overview(blueprint: Blueprint) -> str:
    """Return how the machines of ``blueprint`` talk to each other as a Mermaid flowchart."""
    return _page(overview_head(blueprint), "flowchart TB", _boxes(blueprint))


def _page(comment: str, kind: str, body: Iterator[str]) -> str:
    comments = [f"%% {_numbered(line, _SAFE + '`:;')}" for line in comment.splitlines()]
    return "\n".join([*comments, kind, *(f"    {line}" for line in body), ""])


def _states(table: Table, ids: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    yield f"accTitle: {shown(table.name)}"
    yield f"accDescr: {shown(table.doc)}"
    yield from (f"classDef {name} {style}" for name, style in STYLES.items())
    for info in table.states:
        yield from _state(table, info, ids[info.name], now.get(info.name))
    yield from (_arrow(start, end, groups, ids) for (start, end), groups in _joined(arrows(table)).items())
    yield from (f"{ids[name]} --> [*]" for name in table.final if name in ids)


def _state(table: Table, info: StateInfo, name: str, now: str | None) -> Iterator[str]:
    yield f"{name} : {shown(info.name)}"
    for text in ([now] if now else []) + list(words(table, info)):
        yield f"{name} : {shown(text)}"
    if look := "now" if now else _look(info.kind):
        yield f"class {name} {look}"


def _look(kind: Kind) -> str:
    return kind if kind in STYLES else ""


def _joined(found: Iterable[Arrow]) -> dict[tuple[str, str], list[Group]]:
    """Join a cancel with the other ways between the same states: Mermaid writes parallel arrows over each other."""
    joined: dict[tuple[str, str], list[Group]] = {}
    for arrow in found:
        joined.setdefault((arrow.start, arrow.end), []).extend(arrow.groups)
    return joined


def _arrow(start: str, end: str, groups: Iterable[Group], ids: Mapping[str, str]) -> str:
    text = "<br/>".join(map(_group, groups))
    return f"{ids[start] if start else '[*]'} --> {ids[end]}{f' : {text}' if text else ''}"


def _group(group: Group) -> str:
    causes = "<br/>".join(shown(cause.text) for cause in group.causes)
    return f"{causes} / {shown(', '.join(group.emits))}" if group.emits else causes


def _boxes(blueprint: Blueprint) -> Iterator[str]:
    yield f"accDescr: {shown(DOC)}"
    ids = _ids("m", (part.name for part in parts(blueprint)))
    said = talks(blueprint)
    yield from (f'{ids[part.name]}["{_card(part, own(part, said))}"]' for part in parts(blueprint))
    for sender, receiver, messages in said:
        if sender != receiver:
            yield f'{ids[sender]} -->|"{"<br/>".join(map(shown, messages))}"| {ids[receiver]}'


def _card(part: Part, itself: tuple[str, ...]) -> str:
    lines = [f"<b>{shown(part.name)}</b>"]
    lines += [f"one per {shown(part.per)}"] if part.per else []
    lines += [shown(text) for text in (*hears(part, itself), *orders(part))]
    return "<br/>".join(lines)


def shown(text: str) -> str:
    """Return ``text`` for Mermaid to show: all that Mermaid, HTML or Markdown would act on becomes a number."""
    return _numbered(text, _SAFE) or "#32;"


def _numbered(text: str, safe: str) -> str:
    return "".join(c if c.isalnum() or c in safe else f"#{ord(c)};" for c in one_line(text))


def _ids(prefix: str, names: Iterable[str]) -> dict[str, str]:
    """Return an identifier for each name that tells it apart, and that another name does not change."""
    found: dict[str, str] = {}
    for name in names:
        word = f"{prefix}_{re.sub('[^A-Za-z0-9]+', '_', name)}"
        while word in found.values():
            word += "_"
        found[name] = word
    return found


__all__ = ["STYLES", "mermaid", "mermaid_overview", "shown"]
