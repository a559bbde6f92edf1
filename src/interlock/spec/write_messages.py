"""Writes ``messages.py``: one frozen, slotted dataclass for each message of all machines."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.spec.kinds import annotation, zero
from interlock.spec.plan import Blueprint, Declared
from interlock.spec.quote import docstring, quoted, strings


def messages_text(blueprint: Blueprint, header: str) -> str:
    """Return the text of the module."""
    parts = [header, _imports(blueprint)]
    for plan in blueprint.plans:
        parts.append(f"\n# --- {plan.source.label}\n")
        parts += [_message(blueprint.messages[name]) for name in plan.form.message]
    return "".join(parts)


def _imports(blueprint: Blueprint) -> str:
    kinds = [kind for declared in blueprint.messages.values() for kind in _kinds(declared)]
    typing = ["ClassVar", "Literal"] if any(isinstance(kind, list) for kind in kinds) else ["ClassVar"]
    dataclasses = ["dataclass", "field"] if "secret" in kinds else ["dataclass"]
    return (
        "from __future__ import annotations\n\n"
        f"from dataclasses import {', '.join(dataclasses)}\n"
        f"from typing import {', '.join(typing)}\n\n"
        "from interlock.machine import Message\n"
    )


def _kinds(declared: Declared) -> Iterator[str | list[str]]:
    yield from declared.form.fields.values()
    yield from declared.form.facts.values()


def _message(declared: Declared) -> str:
    lines = [f"class {declared.name}(Message):", f"    {docstring(declared.form.doc)}", ""]
    lines += [f"    {line}" for line in _class_vars(declared)]
    lines += [f"    {name}: {annotation(kind)}{_shown(kind)}" for name, kind in declared.form.fields.items()]
    lines += [f"    {name}: {annotation(kind)} = {zero(kind)}" for name, kind in declared.form.facts.items()]
    return "\n\n@dataclass(frozen=True, slots=True)\n" + "\n".join(lines) + "\n"


def _shown(kind: str | list[str]) -> str:
    """Keep secrets out of every ``repr``, and so out of every error text."""
    return " = field(repr=False)" if kind == "secret" else ""


def _class_vars(declared: Declared) -> Iterator[str]:
    form = declared.form
    yield f"machine: ClassVar[str] = {quoted(declared.machine)}"
    if declared.key:
        yield f"key: ClassVar[str] = {quoted(declared.key)}"
    if form.within is not None:
        yield f"within: ClassVar[str] = {quoted(form.within)}"
    if form.ends is not None:
        yield f"ends: ClassVar[str] = {quoted(form.ends)}"
    secrets = tuple(name for name, kind in {**form.fields, **form.facts}.items() if kind == "secret")
    for name, value in (("stamps", declared.stamps), ("facts", tuple(form.facts)), ("secrets", secrets)):
        if value:
            yield f"{name}: ClassVar[tuple[str, ...]] = {strings(value)}"
